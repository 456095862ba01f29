"""A user's own questions and paragraphs as JSON lines (docs/data.md)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictInt

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset, QuestionContext, digest, make_paragraph, pool
from ircotlib.datasets.official import Record, String, Text, read_records
from ircotlib.errors import DataError
from ircotlib.metrics import even_bare, exact_match, squad_f1

NAME = "own"
FILE = "questions.jsonl"
CORPUS = "corpus.jsonl"  # paragraphs beside the questions, or alone, to be asked about
AnswerList = BeforeValidator(lambda given: [given] if isinstance(given, str) else given)


class _Page(Record):
    title: String
    text: String
    is_supporting: bool = False  # in a question's context


class _Asking(Record):
    id: Text | StrictInt = ""  # True is no id
    question: Text
    answers: Annotated[list[Text], AnswerList, Field(min_length=1)]
    paragraphs: list[_Page] = []
    kind: String = ""


def read_own(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file with their contexts; further answers are aliases."""
    if path.name == CORPUS:
        return
    for record, _ in read_records(path, _Asking):
        context = [make_paragraph(page.title, page.text) for page in record.paragraphs]
        pairs = zip(context, record.paragraphs, strict=True)
        gold = [paragraph.id for paragraph, page in pairs if page.is_supporting]
        question = Question(
            id=str(record.id) or f"{NAME}-{digest(record.question, 16)}",
            text=record.question,
            answers=tuple(dict.fromkeys(record.answers)),
            gold=tuple(dict.fromkeys(gold)),
            dataset=NAME,
            kind=record.kind,
        )
        yield question, tuple(context)


def read_paragraphs(path: Path) -> list[Paragraph]:
    """The paragraphs of the questions' contexts, and those beside them, each once."""
    contexts = [context for _, context in read_own(path)]
    beside = path.with_name(CORPUS)
    if beside.is_file():
        rows = read_records(beside, _Page)
        contexts.append([make_paragraph(row.title, row.text) for row, _ in rows])
    paragraphs = pool(contexts)
    if not paragraphs:
        raise DataError(f"{path}: found no paragraphs in it or in {CORPUS} beside it")
    return paragraphs


OWN = Dataset(
    name=NAME,
    title="own questions",
    files=(FILE, CORPUS),
    read=read_own,
    read_paragraphs=read_paragraphs,
    scores={"f1": even_bare(squad_f1), "em": even_bare(exact_match)},
    order=90,
)
DATASETS = [OWN]
