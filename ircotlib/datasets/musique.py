"""MuSiQue's official files (Trivedi et al. 2022)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext, make_paragraph
from ircotlib.datasets.official import Record, String, Text, read_records
from ircotlib.metrics import cover_em, exact_match, squad_f1

RELATION = " >> "  # in some sub-questions: "Ada Moss >> father"
# in the order of the authors' program; the paper's count is that of all six
SPLITS = ("dev", "test", "train")
PARTS = [f"{kind}_v1.0_{split}" for kind in ("ans", "full") for split in SPLITS]


class _Entry(Record):
    title: String
    paragraph_text: String
    idx: int | None = None
    is_supporting: bool = False

    @property
    def paragraph(self) -> Paragraph:
        return make_paragraph(self.title, self.paragraph_text.strip())


class _Part(Record):
    paragraph_support_idx: int | None = None
    question: Text
    answer: Text


class _Contexts(Record):
    paragraphs: list[_Entry]


class _Asking(_Contexts):
    answerable: bool
    id: Text
    question: Text
    answer: Text
    answer_aliases: list[String]
    question_decomposition: list[_Part] = []


def read_musique(path: Path) -> list[QuestionContext]:
    """The answerable questions of a file with their context paragraphs (IRCoT §4)."""
    return [
        _read_question(record)
        for record, _ in read_records(path, _Asking)
        if record.answerable  # the "full" variant has as many that are not
    ]


def _read_question(record: _Asking) -> QuestionContext:
    supporting = [entry for entry in record.paragraphs if entry.is_supporting]
    by_place = {entry.idx: entry for entry in supporting}
    aliases = filter(str.strip, record.answer_aliases)
    steps = []
    for part in record.question_decomposition:
        step = GoldStep(part.question, part.answer)
        if part.paragraph_support_idx is not None:
            entry = by_place[part.paragraph_support_idx]
            step = replace(step, gold=(entry.paragraph.id,), title=entry.title)
        steps.append(step)
    question = Question(
        id=record.id,
        text=record.question,
        answers=tuple(dict.fromkeys([record.answer, *aliases])),
        gold=tuple(dict.fromkeys(entry.paragraph.id for entry in supporting)),
        dataset="musique",
        kind=record.id.split("__")[0],  # its shape: "3hop1__123_456_789"
        steps=tuple(steps),
    )
    return question, tuple(entry.paragraph for entry in record.paragraphs)


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of all questions of a file, also of those without an answer."""
    for record, _ in read_records(path, _Contexts):
        yield from (entry.paragraph for entry in record.paragraphs)


CONTEXTS = FullCorpus(
    name="musique",
    files=tuple(f"musique_{part}.jsonl" for part in PARTS),
    count=139_416,
    read=read_paragraphs,
)
DATASETS = [
    Dataset(
        name="musique",
        title="MuSiQue",
        files=("musique_ans_v1.0_dev.jsonl", "dev_210.jsonl"),
        read=read_musique,
        scores={"f1": squad_f1, "em": exact_match, "cover_em": cover_em},
        full_corpus=CONTEXTS,
        order=3,
    )
]
