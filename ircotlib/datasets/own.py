"""A user's own questions, one JSON object a line (docs/data.md)."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ircotlib.data import Question, read_jsonl, write_jsonl
from ircotlib.datasets import Asked, Dataset
from ircotlib.datasets.fields import excerpt, field
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.metrics import exact_match, squad_f1

NAME, FILE = "own", "questions.jsonl"


def read_own(path: Path) -> Iterator[Asked]:
    """The questions of a file with the paragraphs of their contexts, in order.

    Fields: id, question, answers (the first is shown, the others are aliases), paragraphs (title,
    text, and is_supporting where it is known), and, if wanted, kind. Raises ValueError naming line
    and field.
    """
    for number, row in enumerate(read_jsonl(path), start=1):
        where, context, gold = f"{path}, line {number}", [], {}
        for place, entry in enumerate(field(row, "paragraphs", list, where), start=1):
            at = f"{where}, paragraph {place}"
            title, text = field(entry, "title", str, at), field(entry, "text", str, at)
            context.append(make_paragraph(title, text))
            if "is_supporting" in entry and field(entry, "is_supporting", bool, at):
                gold[context[-1].id] = None
        answers = _answers(row, where)
        kind = field(row, "kind", str, where) if "kind" in row else ""
        asked = field(row, "id", str, where), field(row, "question", str, where)
        yield Question(*asked, answers, tuple(gold), NAME, kind), tuple(context)


def _answers(row: dict, where: str) -> tuple[str, ...]:
    answers = field(row, "answers", list, where)
    if not answers or not all(isinstance(answer, str) and answer.strip() for answer in answers):
        raise ValueError(f"{where}, field 'answers': expected texts, found {excerpt(answers)}")
    return tuple(dict.fromkeys(answers))


def write_own(folder: Path, asked: Iterable[Asked]) -> Path:
    """Write questions with their contexts as a user's own; return the folder, which is a data_dir.

    Differs from what was asked: gold paragraphs outside of the context are lost.
    """
    rows = (
        {"id": question.id, "question": question.text, "kind": question.kind}
        | {"answers": list(question.answers)}
        | {"paragraphs": [{"title": p.title, "text": p.text, "is_supporting": p.id in question.gold}
                          for p in context]}
        for question, context in asked
    )  # fmt: skip
    write_jsonl(Path(folder) / NAME / FILE, rows)
    return Path(folder)


DATASET = Dataset(
    name=NAME,
    title="own questions",
    files=(FILE,),
    source="your own disk (docs/data.md says what stands in it)",
    read=read_own,
    scores={"f1": squad_f1, "em": exact_match},
    order=90,
)
