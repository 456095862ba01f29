"""MuSiQue's official files (Trivedi et al. 2022)."""

from collections.abc import Iterator
from pathlib import Path

from ircotlib.data import GoldStep, Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext, make_paragraph
from ircotlib.datasets.official import Record, String, Text, read_records
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, exact_match, squad_f1

SOURCE = "https://github.com/StonyBrookNLP/musique (musique_v1.0.zip)"
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


class _Step(Record):
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
    question_decomposition: list[_Step] = []


def read_musique(path: Path) -> list[QuestionContext]:
    """The answerable questions of a file with their context paragraphs (IRCoT §4)."""
    return [
        _read_question(record, where)
        for record, where in read_records(path, _Asking)
        if record.answerable  # the "full" variant has as many that are not
    ]


def _read_question(record: _Asking, where: str) -> QuestionContext:
    supporting = [entry for entry in record.paragraphs if entry.is_supporting]
    by_place = {entry.idx: entry for entry in supporting}
    aliases = filter(str.strip, record.answer_aliases)
    steps = record.question_decomposition
    places = {step.paragraph_support_idx for step in steps} - {None}
    if not supporting or not places <= by_place.keys():
        raise DataError(f"{where}: lacks supporting paragraphs, or those of some steps")
    question = Question(
        id=record.id,
        text=record.question,
        answers=tuple(dict.fromkeys([record.answer, *aliases])),
        gold=tuple(dict.fromkeys(entry.paragraph.id for entry in supporting)),
        dataset="musique",
        kind=record.id.split("__")[0],  # its shape: "3hop1__123_456_789"
        steps=tuple(
            _read_step(s, by_place.get(s.paragraph_support_idx)) for s in steps
        ),
    )
    return question, tuple(entry.paragraph for entry in record.paragraphs)


def _read_step(step: _Step, entry: _Entry | None) -> GoldStep:
    """A step, about the subject of its relation, or else its paragraph's, if named."""
    subject = ""
    if RELATION in step.question:
        subject = step.question.partition(RELATION)[0]
    elif entry is not None and entry.title.casefold() in step.question.casefold():
        subject = entry.title
    if entry is None:
        return GoldStep(step.question, step.answer, subject=subject)
    gold = (entry.paragraph.id,)
    return GoldStep(step.question, step.answer, gold, entry.title, subject)


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of all questions of a file, also of those without an answer."""
    for record, _ in read_records(path, _Contexts):
        yield from (entry.paragraph for entry in record.paragraphs)


CONTEXTS = FullCorpus(
    name="musique",
    files=tuple(f"musique_{part}.jsonl" for part in PARTS),
    source=SOURCE,
    count=139_416,
    read=read_paragraphs,
    drop_repeats=True,
)
DATASETS = [
    Dataset(
        name="musique",
        title="MuSiQue",
        files=("musique_ans_v1.0_dev.jsonl", "dev_210.jsonl"),
        source=SOURCE,
        read=read_musique,
        scores={"f1": squad_f1, "em": exact_match, "cover_em": cover_em},
        full_corpus=CONTEXTS,
        order=3,
    )
]
