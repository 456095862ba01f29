"""A user's own questions, one JSON object per line (docs/data.md)."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from ircotlib.data import Question, write_jsonl
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.fields import Record, String, Text, read_rows
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.files.paths import write_partial
from ircotlib.metrics import even_bare, exact_match, squad_f1

NAME = "own"
FILE = "questions.jsonl"


class _Entry(Record):
    title: String
    text: String
    is_supporting: bool = False


class _Asking(Record):
    id: Text
    question: Text
    answers: list[Text] = Field(min_length=1)
    paragraphs: list[_Entry]
    kind: String = ""


def read_own(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file with their contexts, in order; further answers are aliases."""
    for record, _ in read_rows(path, _Asking):
        context = tuple(make_paragraph(entry.title, entry.text) for entry in record.paragraphs)
        supporting = zip(context, record.paragraphs, strict=True)
        gold = dict.fromkeys(p.id for p, entry in supporting if entry.is_supporting)
        answers = tuple(dict.fromkeys(record.answers))
        yield Question(record.id, record.question, answers, tuple(gold), NAME, record.kind), context


def write_own(folder: Path, asked: Iterable[QuestionContext]) -> Path:
    """Write questions with their contexts as a user's own, and return the folder, to be used as
    data_dir. Gold paragraphs outside the context are lost.
    """
    rows = []
    for q, context in asked:
        row = {"id": q.id, "question": q.text, "kind": q.kind, "answers": list(q.answers)}
        pairs = ((p, p.id in q.gold) for p in context)
        texts = [{"title": p.title, "text": p.text, "is_supporting": gold} for p, gold in pairs]
        rows.append(row | {"paragraphs": texts})
    with write_partial(Path(folder) / NAME / FILE) as partial:
        write_jsonl(partial, rows)
    return Path(folder)


DATASET = Dataset(
    name=NAME,
    title="own questions",
    files=(FILE,),
    source="your own disk (docs/data.md describes it)",
    read=read_own,
    scores={"f1": even_bare(squad_f1), "em": even_bare(exact_match)},
    order=90,
)
