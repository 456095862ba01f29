"""A user's own questions and paragraphs, one JSON object per line (docs/data.md), and tables and
files of JSON lines with columns of other names.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import Field

from ircotlib.data import Paragraph, Question, read_cells, read_lines, write_jsonl
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.official import Record, String, Text, check, read_records
from ircotlib.datasets.pooled import digest, make_paragraph, pool
from ircotlib.errors import DataError, UserError
from ircotlib.files import writing
from ircotlib.metrics import even_bare, exact_match, squad_f1

NAME = "own"
FILE = "questions.jsonl"
CORPUS = "corpus.jsonl"  # paragraphs beside the questions, or alone, to be asked about
TABLES = {".csv": ",", ".tsv": "\t"}  # what is between two cells


class _Page(Record):
    title: String
    text: String


class _Entry(_Page):
    is_supporting: bool = False


class _Asking(Record):
    id: Text | int
    question: Text
    answers: list[Text] = Field(min_length=1)
    paragraphs: list[_Entry] = []
    kind: String = ""


def read_own(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file with their contexts, in order; further answers are aliases. None of a
    corpus alone.
    """
    if Path(path).name != CORPUS:
        yield from (_read_question(record) for record, _ in read_records(path, _Asking))


def _read_question(record: _Asking) -> QuestionContext:
    context = tuple(make_paragraph(entry.title, entry.text) for entry in record.paragraphs)
    supporting = zip(context, record.paragraphs, strict=True)
    gold = tuple(dict.fromkeys(p.id for p, entry in supporting if entry.is_supporting))
    answers = tuple(dict.fromkeys(record.answers))
    return Question(str(record.id), record.question, answers, gold, NAME, record.kind), context


def read_paragraphs(path: Path) -> list[Paragraph]:
    """The paragraphs of the questions' contexts, and those of corpus.jsonl beside them, each once.
    Raises DataError if there are none.
    """
    beside = Path(path).with_name(CORPUS)
    pages = read_corpus(beside) if beside.is_file() else []
    if pooled := pool([*(context for _, context in read_own(path)), pages]):
        return pooled
    expected = f"expected some to search, in the questions or in {CORPUS} beside them"
    raise DataError(f"{path}: found no paragraphs, {expected} (docs/data.md)")


def read_corpus(path: Path) -> list[Paragraph]:
    """The paragraphs of a file such as corpus.jsonl, in order."""
    return [make_paragraph(row.title, row.text) for row, _ in read_records(path, _Page)]


def read_table(path: Path, columns: Mapping[str, str]) -> Iterator[QuestionContext | Paragraph]:
    """The questions, or else the paragraphs, of a file of JSON lines (.jsonl) or a table (.csv,
    .tsv), whose cells are texts as they stand. `columns`: by the names that they have in
    questions.jsonl or corpus.jsonl, those that are called otherwise. A question without id gets one
    made of its text.
    """
    known = {name: name for name in (*_Asking.model_fields, *_Page.model_fields)} | columns
    between = TABLES.get(path.suffix.lower())
    for row, where in read_cells(path, between) if between else read_lines(path):
        if lost := [column for column in columns.values() if column not in row]:
            raise UserError(f"{where}: found no column {lost[0]!r}, only {', '.join(row)}")
        named = {name: row[column] for name, column in known.items() if column in row}
        if "question" not in named:
            record = check(named, _Page, where)
            yield make_paragraph(record.title, record.text)
            continue
        if isinstance(named.get("answers"), str):
            named["answers"] = [named["answers"]]
        named.setdefault("id", f"{NAME}-{digest(str(named['question']), 16)}")
        yield _read_question(check(named, _Asking, where))


def write_own(folder: Path, asked: Iterable[QuestionContext]) -> Path:
    """Write questions with their contexts as a user's own, and return the folder, to be used as
    data_dir. Gold paragraphs outside the context are lost.
    """
    with writing(Path(folder) / NAME / FILE) as new:
        write_jsonl(new, (_line(question, context) for question, context in asked))
    return Path(folder)


def _line(question: Question, context: Iterable[Paragraph]) -> dict:
    row = {"id": question.id, "question": question.text, "kind": question.kind}
    pairs = ((p, p.id in question.gold) for p in context)
    texts = [{"title": p.title, "text": p.text, "is_supporting": gold} for p, gold in pairs]
    return row | {"answers": list(question.answers), "paragraphs": texts}


def write_own_corpus(folder: Path, paragraphs: Iterable[Paragraph]) -> Path:
    """Write paragraphs that belong to no question beside a user's own questions, if there are any;
    return the folder, to be used as data_dir.
    """
    with writing(Path(folder) / NAME / CORPUS) as new:
        write_jsonl(new, ({"title": p.title, "text": p.text} for p in paragraphs))
    return Path(folder)


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
