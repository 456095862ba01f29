"""Questions and paragraphs from tables of Hugging Face's `datasets`, of the hub or a copy."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from logging import CRITICAL
from pathlib import Path

from ircotlib.data import Paragraph, Question, excerpt
from ircotlib.datasets import QuestionContext
from ircotlib.datasets.own import NAME
from ircotlib.datasets.pooled import digest, make_paragraph
from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.files.checksums import one_line
from ircotlib.files.extras import need
from ircotlib.files.progress import show_progress

# how columns are called on the hub; the first that is there is read
COLUMNS = {
    "id": ("id", "_id", "qid", "question_id"),
    "question": ("question", "query"),
    "answers": ("answers", "answer", "golden_answers"),  # the last: FlashRAG
    "aliases": ("answer_aliases",),  # MuSiQue
    "kind": ("kind", "type"),
    "paragraphs": ("paragraphs", "context", "contexts"),
    "gold": ("supporting_facts",),  # HotpotQA, 2WikiMultihopQA: titles
    "title": ("title",),
    "text": ("text", "contents"),
}
TEXTS = ("text", "paragraph_text", "sentences", "content", "contents")  # of a paragraph
KINDS = {".parquet": "parquet", ".arrow": "arrow", ".csv": "csv", ".json": "json"}
KINDS |= {".jsonl": "json"}
SAVED = ("dataset_dict.json", "state.json")  # in a folder that save_to_disk wrote
COPY = "where there is a network, load_dataset(NAME).save_to_disk(FOLDER); then give the folder"


def open_table(source: str, config: str | None = None, split: str | None = None) -> Iterable[dict]:
    """The rows of a folder that `save_to_disk` wrote, of a file, or of a data set of the hub, which
    is read as a stream.

    `config`: of a data set that has several. `split`: None for the only one, or "validation".
    Raises UserError for what is not there, DataError for what is damaged, Unavailable without the
    library, or if the hub does not give the data set.
    """
    path = Path(source)
    is_saved = any((path / name).is_file() for name in SAVED)
    is_file = path.is_file() and path.suffix in KINDS
    if not (is_saved or is_file or re.fullmatch(r"[\w.-]+/[\w.-]+", source)):
        expected = f"a folder of save_to_disk, a file ({', '.join(KINDS)}) or OWNER/NAME on the hub"
        raise UserError(f"found no {source!r}, expected {expected}")
    need("datasets", "hub")
    from datasets import load_dataset, load_from_disk, logging
    from huggingface_hub import HfApi

    logging.set_verbosity(CRITICAL)  # the errors below say it
    try:
        if is_saved:
            table = load_from_disk(source)
        elif is_file:
            files = {"data_files": source, "streaming": True}
            return load_dataset(KINDS[path.suffix], split="train", **files)
        else:
            HfApi().dataset_info(source, timeout=2.5)  # the library would try for half a minute
            table = load_dataset(source, config, streaming=True)
    except Exception as error:  # the library raises errors of its own, of pyarrow and of the hub
        why = one_line(error)
        if is_saved or is_file:
            raise DataError(f"{source}: cannot be read ({why}): get it again") from None
        raise Unavailable(f"{source}: the hub does not give it ({why}); {COPY}") from None
    if not isinstance(table, dict):
        return table
    chosen = split or ("validation" if len(table) > 1 else next(iter(table)))
    if chosen not in table:
        found = f"found the splits {', '.join(table)}"
        raise UserError(f"{source}: {found}, expected {chosen!r}; name one with --split")
    return table[chosen]


def read_table(
    table: Iterable[Mapping], columns: Mapping[str, str] = {}, name: str = "table"
) -> Iterator[QuestionContext | Paragraph]:
    """The questions of a table, each with its paragraphs, or the paragraphs of one without
    questions, with a progress bar.

    `columns`: those that are not called as in COLUMNS. `name`: begins errors. Gold are paragraphs
    that are marked `is_supporting`, whose titles are supporting, or the only text, if the answers
    begin in it (SQuAD). What is marked as not answerable is left out (IRCoT §4); a question without
    id gets one made of its text. Raises DataError, in one line, for a row without text or answer.
    """
    rows = _each(table, name)
    first = next(rows, {})
    known = {what: next((c for c in names if c in first), "") for what, names in COLUMNS.items()}
    known |= columns
    lost = [column for column in columns.values() if column not in first]
    asks = bool(known["question"] and known["answers"])
    if lost or not (asks or known["text"]):
        expected = lost[0] if lost else "question and answers, or title and text"
        found = f"found the columns {', '.join(first) or '(no rows)'}, expected {expected}"
        raise UserError(f"{name}: {found}; say which has what: --column question=COLUMN")
    total = len(table) if hasattr(table, "__len__") else None
    with show_progress(name, total) as progress:
        for number, row in enumerate(chain([first], rows), start=1):
            values = {what: row.get(column) for what, column in known.items() if column}
            where = f"{name}, row {number}"
            if not asks:
                yield make_paragraph(str(values.get("title") or ""), _join(values["text"], where))
            elif row.get("answerable", True):
                yield _read_question(values, where)
            progress(number, total or 0)


def _each(table: Iterable[Mapping], name: str) -> Iterator[Mapping]:
    try:
        yield from table
    except Exception as error:  # as in open_table: a stream is opened where it is read
        raise DataError(f"{name}: cannot be read to its end ({one_line(error)})") from None


def _read_question(values: Mapping, where: str) -> QuestionContext:
    text, answers = values["question"], values["answers"]
    if isinstance(answers, Mapping):  # SQuAD's texts; TriviaQA's value and aliases
        answers = [
            *_list(answers.get("text", answers.get("value"))),
            *_list(answers.get("aliases")),
        ]
    answers = tuple(dict.fromkeys([*_list(answers), *filter(None, _list(values.get("aliases")))]))
    if wrong := [t for t in (text, *(answers or [""])) if not isinstance(t, str) or not t.strip()]:
        raise DataError(f"{where}: expected a question and answers, found {excerpt(wrong[0])}")
    context, gold = [], {}
    for title, paragraph, is_gold in _read_paragraphs(values):
        context.append(make_paragraph(str(title or ""), _join(paragraph, where)))
        gold |= {context[-1].id: None} if is_gold else {}
    facts = values.get("gold") or ()
    facts = facts["title"] if isinstance(facts, Mapping) else [_list(fact)[0] for fact in facts]
    by_title = {paragraph.title: paragraph.id for paragraph in reversed(context)}
    if lost := [title for title in facts if title not in by_title]:
        raise DataError(f"{where}: expected a title of its paragraphs, found {excerpt(lost[0])}")
    gold |= {by_title[title]: None for title in facts}
    id = str(values.get("id") or f"{NAME}-{digest(text, 16)}")
    return Question(id, text, answers, tuple(gold), NAME, str(values.get("kind") or "")), context


def _read_paragraphs(values: Mapping) -> Iterator[tuple[object, object, bool]]:
    """Title, text or sentences, and whether it is marked as gold, of each paragraph of a row."""
    entries = values.get("paragraphs") or ()
    if isinstance(entries, str):
        starts = isinstance(values["answers"], Mapping) and values["answers"].get("answer_start")
        entries = [{"title": values.get("title"), "text": entries, "is_supporting": bool(starts)}]
    elif isinstance(entries, Mapping):  # a table in a cell
        cells = zip(*entries.values(), strict=True)
        entries = [dict(zip(entries, row, strict=True)) for row in cells]
    for entry in entries:
        if not isinstance(entry, Mapping):  # [title, sentences], or a text
            entry = dict(zip(("text", "title"), reversed(_list(entry)), strict=False))
        text = next((entry[name] for name in TEXTS if name in entry), None)
        yield entry.get("title"), text, bool(entry.get("is_supporting"))


def _join(text: object, where: str) -> str:
    """The text of sentences, with spaces between them unless they begin with some."""
    parts = _list(text)
    if not parts or not all(isinstance(part, str) for part in parts):
        raise DataError(f"{where}: expected a paragraph's text, found {excerpt(text)}")
    return ("" if any(part[:1] == " " for part in parts[1:]) else " ").join(parts).strip()


def _list(value: object) -> list:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
