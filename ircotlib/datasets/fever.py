"""FEVER, claims that pages support or refute (Thorne et al. 2018): KILT's or the original file."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from ircotlib.data import Question, read_lines
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.fields import Record, Text, read_rows
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE, SOURCE, read_beside, read_kilt
from ircotlib.datasets.wording import ask_claim
from ircotlib.metrics import cover_em, one_verdict


class _Claim(Record):
    id: int
    claim: Text
    label: Literal["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]


def read_fever(path: Path) -> Iterator[QuestionContext]:
    """The claims that pages support or refute, in order; others are left out, as in KILT."""
    first, _ = next(read_lines(path), ({}, path))
    if isinstance(first, dict) and "claim" not in first:
        yield from read_kilt(path, "fever", ask_claim)
        return
    for record, _ in read_rows(path, _Claim):
        if record.label != "NOT ENOUGH INFO":
            text = ask_claim(record.claim)
            yield Question(str(record.id), text, (record.label,), (), "fever"), ()


VERDICTS = ("SUPPORTS", "REFUTES")
DATASET = Dataset(
    name="fever",
    title="FEVER",
    files=("fever-dev-kilt.jsonl", "dev_300.jsonl"),
    source=SOURCE,
    read=read_fever,
    scores={"cover_em": cover_em, "accuracy": partial(one_verdict, verdicts=VERDICTS)},
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_beside,
    has_gold=False,
    example_family="fever",
    program_arguments={"max_actions": 5},  # ReAct §3.2
    order=8,
)
