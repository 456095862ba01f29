"""MuSiQue's official files (Trivedi et al. 2022), https://github.com/StonyBrookNLP/musique"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ircotlib.data import Paragraph, Question, read_jsonl
from ircotlib.datasets import Dataset, FullCorpus
from ircotlib.datasets.downloads import read_lines
from ircotlib.datasets.fields import field
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.metrics import cover_em, exact_match, squad_f1


def read_musique(path: Path) -> list[tuple[Question, tuple[Paragraph, ...]]]:
    """The answerable questions of a file, each with its context paragraphs, in order (IRCoT §4:
    answerable subset).

    `kind` is the shape of the question, from its id: "2hop", "3hop1", ... Raises ValueError naming
    file, line and field where the file is not in the official format.
    """
    rows = ((row, f"{path}, line {number}") for number, row in enumerate(read_jsonl(path), start=1))
    return [
        _read_record(row, where) for row, where in rows if field(row, "answerable", bool, where)
    ]


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of MuSiQue's questions, answerable or not, with or without answers."""
    for record, where in read_lines(path):
        for number, entry in enumerate(field(record, "paragraphs", list, where)):
            place = f"{where}, paragraph {number}"
            yield make_paragraph(
                field(entry, "title", str, place),
                field(entry, "paragraph_text", str, place).strip(),
            )


class Part(NamedTuple):
    """A single-hop question that a question is made of, the answers before it filled in."""

    question: str
    answer: str


def read_parts(path: Path) -> dict[str, tuple[Part, ...]]:
    """The parts of each answerable question of a file, in order, by its id (SearChain A.2.1)."""
    rows = ((row, f"{path}, line {number}") for number, row in enumerate(read_jsonl(path), start=1))
    return {
        field(row, "id", str, where): _fill_in(row, where)
        for row, where in rows
        if field(row, "answerable", bool, where)
    }


def _fill_in(record: dict, where: str) -> tuple[Part, ...]:
    """The parts of a record, in which "#1" is the answer of the first."""
    steps = field(record, "question_decomposition", list, where)
    answers = [field(step, "answer", str, where) for step in steps]

    def filled(text: str) -> str:
        return re.sub(r"#(\d+)", lambda mark: answers[int(mark[1]) - 1], text)

    return tuple(Part(filled(field(one, "question", str, where)), one["answer"]) for one in steps)


def _read_record(record: dict, where: str) -> tuple[Question, tuple[Paragraph, ...]]:
    context, gold = [], {}
    for number, entry in enumerate(field(record, "paragraphs", list, where)):
        place = f"{where}, paragraph {number}"
        paragraph = make_paragraph(
            field(entry, "title", str, place), field(entry, "paragraph_text", str, place).strip()
        )
        context.append(paragraph)
        if field(entry, "is_supporting", bool, place):
            gold[paragraph.id] = None
    if not gold:
        raise ValueError(
            f"{where}, field 'paragraphs': expected paragraphs with is_supporting true, found none"
            f" among {len(context)}"
        )
    id = field(record, "id", str, where)
    answers = dict.fromkeys(
        [field(record, "answer", str, where), *field(record, "answer_aliases", list, where)]
    )
    return Question(
        id,
        field(record, "question", str, where),
        tuple(answers),
        tuple(gold),
        "musique",
        id.split("__")[0],
    ), tuple(context)


SOURCE = "https://github.com/StonyBrookNLP/musique"
DATASET = Dataset(
    name="musique",
    title="MuSiQue",
    files=("musique_ans_v1.0_dev.jsonl", "dev_210.jsonl"),
    source=SOURCE,
    read=read_musique,
    scores={"f1": squad_f1, "em": exact_match, "cover_em": cover_em},
    # the authors' program pools the answerable and the full variant: the number in the paper is of
    # these six files
    full=FullCorpus(
        name="musique",
        files=tuple(
            f"musique_{variant}_v1.0_{split}.jsonl"
            for variant in ("ans", "full")
            for split in ("dev", "test", "train")
        ),
        source=f"{SOURCE} (in musique_v1.0.zip)",
        count=139_416,
        read=read_paragraphs,
        once=True,
    ),
    order=3,
)
