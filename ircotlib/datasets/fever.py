"""FEVER, claims that pages support or refute (Thorne et al. 2018): KILT's file, or the original
one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ircotlib.data import Question, read_lines
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.fields import Record, Text, read_rows
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE, SOURCE, read_beside, read_kilt
from ircotlib.datasets.wording import ask_claim
from ircotlib.metrics import cover_em, one_verdict

VERDICTS = ("SUPPORTS", "REFUTES")
OTHER = "NOT ENOUGH INFO"  # only in the original file: KILT leaves these claims out


class _Claim(Record):
    id: int
    claim: Text
    label: Literal["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]


def read_fever(path: Path) -> Iterator[QuestionContext]:
    """The claims of a file that pages support or refute, in order. Claims with the third verdict of
    the original file are left out, as in KILT.
    """
    first, _ = next(read_lines(path), ({}, path))
    if isinstance(first, dict) and "claim" not in first:
        yield from read_kilt(path, "fever", ask_claim)
        return
    for record, _ in read_rows(path, _Claim):
        if record.label != OTHER:
            text = ask_claim(record.claim)
            yield Question(str(record.id), text, (record.label,), (), "fever"), ()


def accuracy(prediction: str, answers) -> float:
    """1.0 if the prediction contains the right verdict and not the other one, else 0.0."""
    return one_verdict(prediction, answers, VERDICTS)


DATASET = Dataset(
    name="fever",
    title="FEVER",
    files=("fever-dev-kilt.jsonl", "dev_300.jsonl"),
    source=SOURCE,
    read=read_fever,
    scores={"cover_em": cover_em, "accuracy": accuracy},
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_beside,
    example_family="fever",
    program_arguments={"max_actions": 5},  # ReAct §3.2
    order=8,
)
