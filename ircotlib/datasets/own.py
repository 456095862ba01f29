"""A user's own questions and paragraphs: JSON lines and tables (docs/data.md)."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import Field, StrictInt

from ircotlib.data import Paragraph, Question, read_cells, read_lines, write_jsonl
from ircotlib.datasets import Dataset, QuestionContext, digest, make_paragraph, pool
from ircotlib.datasets.official import Record, String, Text, check, read_records
from ircotlib.errors import DataError, UserError
from ircotlib.files import writing
from ircotlib.metrics import even_bare, exact_match, squad_f1

NAME = "own"
FILE = "questions.jsonl"
CORPUS = "corpus.jsonl"  # paragraphs beside the questions, or alone, to be asked about
TABLES = {".csv": ",", ".tsv": "\t"}  # the text between two cells


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
        for record, _ in read_records(path, _Asking):
            yield _read_question(record)


def _read_question(record: _Asking) -> QuestionContext:
    context = [make_paragraph(entry.title, entry.text) for entry in record.paragraphs]
    pairs = zip(context, record.paragraphs, strict=True)
    gold = dict.fromkeys(page.id for page, entry in pairs if entry.is_supporting)
    answers = dict.fromkeys(record.answers)
    question = Question(
        str(record.id), record.question, tuple(answers), tuple(gold), NAME, record.kind
    )
    return question, tuple(context)


def read_paragraphs(path: Path) -> list[Paragraph]:
    """The paragraphs of the questions' contexts, and those beside them, each once."""
    contexts = [context for _, context in read_own(path)]
    beside = Path(path).with_name(CORPUS)
    if beside.is_file():
        rows = read_records(beside, _Page)
        contexts.append([make_paragraph(row.title, row.text) for row, _ in rows])
    paragraphs = pool(contexts)
    if not paragraphs:
        raise DataError(
            f"{path}: found no paragraphs in it or in {CORPUS} beside it (docs/data.md)"
        )
    return paragraphs


def read_table(
    path: Path, columns: Mapping[str, str]
) -> Iterator[QuestionContext | Paragraph]:
    """The questions, or else the paragraphs, of a file of JSON lines or a table.

    `columns`: for names of FILE or CORPUS, the columns that have another name here.
    """
    names = {name: name for name in (*_Asking.model_fields, *_Page.model_fields)}
    names.update(columns)
    ending = path.suffix.lower()
    rows = read_cells(path, TABLES[ending]) if ending in TABLES else read_lines(path)
    for row, where in rows:
        for column in columns.values():
            if column not in row:
                raise UserError(
                    f"{where}: found no column {column!r}, only {', '.join(row)}"
                )
        known = {name: row[column] for name, column in names.items() if column in row}
        if "question" not in known:
            page = check(known, _Page, where)
            yield make_paragraph(page.title, page.text)
            continue
        if isinstance(known.get("answers"), str):
            known["answers"] = [known["answers"]]
        known.setdefault("id", f"{NAME}-{digest(str(known['question']), 16)}")
        yield _read_question(check(known, _Asking, where))


def write_own(
    folder: Path, records: Iterable[QuestionContext | Paragraph], file: str = FILE
) -> Path:
    """Write questions, or paragraphs into CORPUS; return the folder, for data_dir.

    Gold paragraphs outside a question's context are lost.
    """
    with writing(Path(folder) / NAME / file) as new:
        write_jsonl(new, map(_as_row, records))
    return Path(folder)


def _as_row(record: QuestionContext | Paragraph) -> dict:
    if isinstance(record, Paragraph):
        return {"title": record.title, "text": record.text}
    question, context = record
    return {
        "id": question.id,
        "question": question.text,
        "kind": question.kind,
        "answers": list(question.answers),
        "paragraphs": [
            _as_row(page) | {"is_supporting": page.id in question.gold}
            for page in context
        ],
    }


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
