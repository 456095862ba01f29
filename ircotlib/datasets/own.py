"""A user's own questions and paragraphs: JSON lines, tables, text, Markdown
(docs/data.md).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from pydantic import Field, StrictInt

from ircotlib.data import (
    Paragraph,
    Question,
    read_cells,
    read_lines,
    read_text,
    write_jsonl,
)
from ircotlib.datasets import Dataset, QuestionContext, digest, make_paragraph, pool
from ircotlib.datasets.official import Record, String, Text, check, read_records
from ircotlib.errors import DataError, UserError
from ircotlib.files import track, writing
from ircotlib.metrics import even_bare, exact_match, squad_f1
from ircotlib.text import sentences

NAME = "own"
FILE = "questions.jsonl"
CORPUS = "corpus.jsonl"  # paragraphs beside the questions, or alone, to be asked about
TABLES = {".csv": ",", ".tsv": "\t"}  # the text between two cells
DOCUMENTS = (".txt", ".md")
WORDS = 100  # in a paragraph, at most; the papers' have about as many (IRCoT App. A)
LETTERS = 1000  # in a paragraph, at most: not all scripts have spaces
_WORD = re.compile(r"[^\s。！？]{1,99}[。！？]*|\S")  # a longer one is cut
MOST = 2000  # words that are cut into sentences at a time


class _Page(Record):
    title: String
    text: String


class _Entry(_Page):
    is_supporting: bool = False


class _Asking(Record):
    id: Text | StrictInt  # True is no id
    question: Text
    answers: list[Text] = Field(min_length=1)
    paragraphs: list[_Entry] = []
    kind: String = ""


def read_own(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file with their contexts; further answers are aliases."""
    if Path(path).name != CORPUS:
        yield from (_read_question(record) for record, _ in read_records(path, _Asking))


def _read_question(record: _Asking) -> QuestionContext:
    context = tuple(
        make_paragraph(entry.title, entry.text) for entry in record.paragraphs
    )
    supporting = zip(context, record.paragraphs, strict=True)
    gold = tuple(dict.fromkeys(p.id for p, entry in supporting if entry.is_supporting))
    answers = tuple(dict.fromkeys(record.answers))
    return Question(
        str(record.id), record.question, answers, gold, NAME, record.kind
    ), context


def read_paragraphs(path: Path) -> list[Paragraph]:
    """The paragraphs of the questions' contexts, and those beside them, each once."""
    beside = Path(path).with_name(CORPUS)
    rows = read_records(beside, _Page) if beside.is_file() else ()
    pages = [make_paragraph(row.title, row.text) for row, _ in rows]
    if pooled := pool([*(context for _, context in read_own(path)), pages]):
        return pooled
    raise DataError(
        f"{path}: found no paragraphs in it or in {CORPUS} beside it (docs/data.md)"
    )


def read_table(
    path: Path, columns: Mapping[str, str]
) -> Iterator[QuestionContext | Paragraph]:
    """The questions, or else the paragraphs, of a file of JSON lines or a table.
    `columns`: for names of FILE or CORPUS, the columns that have another name here.
    """
    known = {
        name: name for name in (*_Asking.model_fields, *_Page.model_fields)
    } | columns
    between = TABLES.get(path.suffix.lower())
    for row, where in read_cells(path, between) if between else read_lines(path):
        if lost := [column for column in columns.values() if column not in row]:
            raise UserError(
                f"{where}: found no column {lost[0]!r}, only {', '.join(row)}"
            )
        named = {name: row[column] for name, column in known.items() if column in row}
        if "question" not in named:
            record = check(named, _Page, where)
            yield make_paragraph(record.title, record.text)
            continue
        if isinstance(named.get("answers"), str):
            named["answers"] = [named["answers"]]
        named.setdefault("id", f"{NAME}-{digest(str(named['question']), 16)}")
        yield _read_question(check(named, _Asking, where))


def read_documents(source: Path) -> Iterator[Paragraph]:
    """The paragraphs of the text and Markdown files in a folder and those below it, or
    of one file, but for hidden ones; titles are the files' names and the headings of
    sections.
    """
    below = sorted(source.rglob("*")) if source.is_dir() else [source]
    shown = [
        p
        for p in below
        if not any(n.startswith(".") for n in p.relative_to(source).parts)
    ]
    files = [
        path for path in shown if path.suffix.lower() in DOCUMENTS and path.is_file()
    ]
    if not files:
        raise UserError(
            f"{source}: found no file that ends in {' or '.join(DOCUMENTS)}"
        )
    for path in track(files, "documents"):
        for title, text in _read_sections(path):
            yield from (
                make_paragraph(title, passage) for passage in cut_passages(text)
            )


def _read_sections(path: Path) -> list[tuple[str, str]]:
    """Titles and texts of the sections of Markdown; a text file is one section."""
    text = read_text(path)
    tokens = MarkdownIt().parse(text) if path.suffix.lower() == ".md" else []
    title, start, lines, sections = path.stem, 0, text.split("\n"), []
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0:
            sections.append((title, "\n".join(lines[start : opening.map[0]])))
            title, start = f"{path.stem}: {heading.content}", opening.map[1]
    return [*sections, (title, "\n".join(lines[start:]))]


def cut_passages(text: str, words: int = WORDS) -> Iterator[str]:
    """Passages of whole sentences, of at most `words` and LETTERS; a longer sentence is
    cut.
    """
    passage, letters = [], 0
    for sentence in _sentences(text):
        whole = len(sentence), sum(map(len, sentence))
        for at, word in enumerate(sentence):
            more, longer = (1, len(word)) if at else whole
            if passage and (len(passage) + more > words or letters + longer > LETTERS):
                yield " ".join(passage)
                passage, letters = [], 0
            passage.append(word)
            letters += len(word)
    if passage:
        yield " ".join(passage)


def _sentences(text: str) -> Iterator[list[str]]:
    """The words of each sentence, read in parts: `sentences` is slow (quadratic) on
    long texts.
    """
    for block in re.split(r"\n\s*\n", text):
        words = _WORD.findall(block)
        for first in range(0, len(words), MOST):
            yield from map(str.split, sentences(" ".join(words[first : first + MOST])))


def write_own(
    folder: Path, records: Iterable[QuestionContext | Paragraph], file: str = FILE
) -> Path:
    """Write questions with their contexts or, into CORPUS, paragraphs that belong to
    none; return the folder, to be used as data_dir. Gold paragraphs outside a context
    are lost.
    """
    with writing(Path(folder) / NAME / file) as new:
        write_jsonl(new, map(_as_row, records))
    return Path(folder)


def _as_row(record: QuestionContext | Paragraph) -> dict:
    if isinstance(record, Paragraph):
        return {"title": record.title, "text": record.text}
    question, context = record
    row = {"id": question.id, "question": question.text, "kind": question.kind}
    texts = [
        _as_row(page) | {"is_supporting": page.id in question.gold} for page in context
    ]
    return row | {"answers": list(question.answers), "paragraphs": texts}


DATASET = Dataset(
    name=NAME,
    title="own questions",
    files=(FILE, CORPUS),
    source="your own disk (docs/data.md describes it)",
    read=read_own,
    read_paragraphs=read_paragraphs,
    scores={"f1": even_bare(squad_f1), "em": even_bare(exact_match)},
    order=90,
)
