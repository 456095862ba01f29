"""A user's own questions and paragraphs, one JSON object per line (docs/data.md)."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from ircotlib.data import GoldStep, Paragraph, Question, write_jsonl
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.fields import Record, String, Text, read_rows
from ircotlib.datasets.pooled import make_paragraph, pool
from ircotlib.errors import DataError
from ircotlib.files.paths import write_partial
from ircotlib.metrics import even_bare, exact_match, squad_f1

NAME = "own"
FILE = "questions.jsonl"
CORPUS = "corpus.jsonl"  # paragraphs beside the questions, or alone, to be asked about


class _Page(Record):
    title: String
    text: String


class _Entry(_Page):
    is_supporting: bool = False


class _Step(Record):
    question: String = ""
    answer: String = ""
    title: String = ""  # of the paragraph that supports it
    sentence: String = ""


class _Asking(Record):
    id: Text
    question: Text
    answers: list[Text] = Field(min_length=1)
    paragraphs: list[_Entry] = []
    steps: list[_Step] = []
    kind: String = ""


def read_own(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file with their contexts, in order; further answers are aliases. None of a
    corpus alone.
    """
    for record, _ in read_rows(path, _Asking) if Path(path).name != CORPUS else ():
        context = tuple(make_paragraph(entry.title, entry.text) for entry in record.paragraphs)
        supporting = zip(context, record.paragraphs, strict=True)
        gold = dict.fromkeys(p.id for p, entry in supporting if entry.is_supporting)
        answers = tuple(dict.fromkeys(record.answers))
        stated = {"kind": record.kind, "steps": tuple(_read_steps(record, context))}
        yield Question(record.id, record.question, answers, tuple(gold), NAME, **stated), context


def _read_steps(record: _Asking, context: Iterable[Paragraph]) -> Iterator[GoldStep]:
    for step in record.steps:
        gold = tuple(p.id for p in context if step.title and p.title == step.title)
        yield GoldStep(step.question, step.answer, gold, step.title, step.title, step.sentence)


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
    return [make_paragraph(row.title, row.text) for row, _ in read_rows(path, _Page)]


def write_own(folder: Path, asked: Iterable[QuestionContext]) -> Path:
    """Write questions with their contexts as a user's own, and return the folder, to be used as
    data_dir. Gold paragraphs outside the context are lost.
    """
    write_lines(Path(folder) / NAME / FILE, asked)
    return Path(folder)


def write_lines(path: Path, asked: Iterable[QuestionContext]) -> None:
    """Write questions with their contexts, one a line."""
    with write_partial(path) as partial:
        write_jsonl(partial, (_line(question, context) for question, context in asked))


def _line(question: Question, context: Iterable[Paragraph]) -> dict:
    row = {"id": question.id, "question": question.text, "kind": question.kind}
    pairs = ((p, p.id in question.gold) for p in context)
    texts = [{"title": p.title, "text": p.text, "is_supporting": gold} for p, gold in pairs]
    return row | {"answers": list(question.answers), "paragraphs": texts}


def write_own_corpus(folder: Path, paragraphs: Iterable[Paragraph]) -> Path:
    """Write paragraphs that belong to no question beside a user's own questions, if there are any;
    return the folder, to be used as data_dir.
    """
    with write_partial(Path(folder) / NAME / CORPUS) as partial:
        write_jsonl(partial, ({"title": p.title, "text": p.text} for p in paragraphs))
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
