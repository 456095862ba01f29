"""MuSiQue's official files (Trivedi et al. 2022), https://github.com/StonyBrookNLP/musique"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, QuestionContext
from ircotlib.datasets.fields import Record, String, Text, read_rows
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.metrics import cover_em, exact_match, squad_f1


class _Entry(Record):
    title: String
    paragraph_text: String

    @property
    def paragraph(self) -> Paragraph:
        return make_paragraph(self.title, self.paragraph_text.strip())


class _Contexts(Record):
    paragraphs: list[_Entry]


class _Supporting(_Entry):
    is_supporting: bool


class _Asking(Record):
    answerable: bool
    id: Text
    question: Text
    answer: Text
    answer_aliases: list[String]
    paragraphs: list[_Supporting]


def read_musique(path: Path) -> list[QuestionContext]:
    """The answerable questions of a file, each with its context paragraphs, in order (IRCoT §4:
    answerable subset).

    Blank aliases are left out. `kind` is the shape of the question, from its id: "2hop", "3hop1",
    ... Raises ValueError, naming file, line and field, if the file is not in the official format.
    """
    rows = read_rows(path, _Asking)
    return [_read_asked(record, where) for record, where in rows if record.answerable]


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of all MuSiQue questions in a file, whether answerable or not; answers may be
    missing, as in the test set.
    """
    for record, _ in read_rows(path, _Contexts):
        yield from (entry.paragraph for entry in record.paragraphs)


def _read_asked(record: _Asking, where: str) -> QuestionContext:
    context = tuple(entry.paragraph for entry in record.paragraphs)
    gold = dict.fromkeys(entry.paragraph.id for entry in record.paragraphs if entry.is_supporting)
    if not gold:
        raise ValueError(
            f"{where}, field 'paragraphs': expected paragraphs with is_supporting true, found none"
            f" among {len(context)}"
        )
    answers = dict.fromkeys([record.answer, *filter(str.strip, record.answer_aliases)])
    id, kind = record.id, record.id.split("__")[0]
    return Question(id, record.question, tuple(answers), tuple(gold), "musique", kind), context


class _Step(Record):
    question: Text
    answer: Text


class _Decomposed(Record):
    answerable: bool
    id: Text
    question_decomposition: list[_Step]


class Part(NamedTuple):
    """A single-hop question that is part of a question, with the answers of earlier parts filled
    in, and its answer.
    """

    question: str
    answer: str


def read_parts(path: Path) -> dict[str, tuple[Part, ...]]:
    """The parts of each answerable question of a file, in order, by its id (SearChain A.2.1).
    Errors: see read_musique.
    """
    records = (record for record, _ in read_rows(path, _Decomposed) if record.answerable)
    return {record.id: tuple(_fill_in(record.question_decomposition)) for record in records}


def _fill_in(steps: Sequence[_Step]) -> Iterator[Part]:
    """The parts of a question; "#1" in a part is replaced by the answer of the first part."""
    answers = {f"#{number}": step.answer for number, step in enumerate(steps, start=1)}
    for step in steps:
        filled = re.sub(r"#\d+", lambda mark: answers.get(mark[0], mark[0]), step.question)
        yield Part(filled, step.answer)


SOURCE = "https://github.com/StonyBrookNLP/musique"
DATASET = Dataset(
    name="musique",
    title="MuSiQue",
    files=("musique_ans_v1.0_dev.jsonl", "dev_210.jsonl"),
    source=SOURCE,
    read=read_musique,
    scores={"f1": squad_f1, "em": exact_match, "cover_em": cover_em},
    # the authors' program pools the answerable and the full variant: the paper's count is that of
    # these six files
    full_corpus=FullCorpus(
        name="musique",
        files=tuple(
            f"musique_{variant}_v1.0_{split}.jsonl"
            for variant in ("ans", "full")
            for split in ("dev", "test", "train")
        ),
        source=f"{SOURCE} (in musique_v1.0.zip)",
        count=139_416,
        read=read_paragraphs,
        drop_repeats=True,
    ),
    order=3,
)
