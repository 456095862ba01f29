"""StrategyQA's official files (Geva et al. 2021), https://github.com/eladsegal/strategyqa"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import ijson

from ircotlib.data import GoldStep, Paragraph, Question, read_lines
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE
from ircotlib.datasets.official import (
    AGAIN,
    Record,
    String,
    Text,
    check,
    find_file,
    read_records,
    stream,
)
from ircotlib.datasets.wording import ask_yes_or_no
from ircotlib.errors import DataError
from ircotlib.metrics import cover_em, one_verdict

SOURCE = "https://allenai.org/data/strategyqa (in strategyqa_dataset.zip)"
PARAGRAPHS = ("strategyqa_train_paragraphs.json", "dev_paragraphs.jsonl")


class _Asking(Record):
    qid: Text
    question: Text
    answer: bool
    evidence: list[object]
    facts: list[Text] = []  # not of test questions


class _Paragraph(Record):
    title: Text
    para_index: int
    content: String = ""
    contents: String = ""  # as the sample calls it


def read_strategyqa(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file, in order; gold are the paragraphs that the first annotator named.
    Steps are the facts, of which the file does not say which paragraph supports them; its
    sub-questions have no answers.
    """
    for record, _ in read_records(path, _Asking):
        text = ask_yes_or_no(record.question)
        answer = "Yes" if record.answer else "No"
        gold = dict.fromkeys(_named(record.evidence[:1]))
        steps = tuple(GoldStep("", "", sentence=fact) for fact in record.facts)
        yield Question(record.qid, text, (answer,), tuple(gold), "strategyqa", steps=steps), ()


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs that annotators named, from a file in the folder of the questions: a JSON
    object by id, or JSON lines. Raises DataError if it lacks gold paragraphs.
    """
    file = find_file("paragraphs of StrategyQA", PARAGRAPHS, [path.parent], SOURCE)
    by_id = ((row, f"{file}, {id}") for id, row in stream(file, ijson.kvitems, ""))
    ids = set()
    for row, where in read_lines(file) if file.suffix == ".jsonl" else by_id:
        record = check(row, _Paragraph, where)
        id = f"{record.title}-{record.para_index}"
        ids.add(id)
        yield Paragraph(id, record.title, (record.content or record.contents).strip())
    gold = {id for question, _ in read_strategyqa(path) for id in question.gold}
    if lacking := sorted(gold - ids):
        found = f"found no {lacking[0]!r} ({len(lacking)} of {len(gold)} are missing)"
        raise DataError(f"{file}: {found}, expected all evidence of {path}: {AGAIN}")


def read_without_gold(path: Path, corpus: Iterable[Paragraph]) -> Iterator[QuestionContext]:
    """The questions of a file without gold paragraphs, whose ids KILT's pages do not have."""
    return ((replace(question, gold=()), context) for question, context in read_strategyqa(path))


def _named(evidence: object) -> Iterator[str]:
    """The ids in nested lists."""
    if isinstance(evidence, list):
        for part in evidence:
            yield from _named(part)
    elif evidence not in ("operation", "no_evidence"):  # marks of a step without evidence
        yield str(evidence)


DATASET = Dataset(
    name="strategyqa",
    title="StrategyQA",
    files=("strategyqa_train.json", "dev_229.json"),
    source=SOURCE,
    read=read_strategyqa,
    scores={"cover_em": cover_em, "accuracy": partial(one_verdict, verdicts=("Yes", "No"))},
    full_corpus=KNOWLEDGE_SOURCE,
    read_with_corpus=read_without_gold,
    read_paragraphs=read_paragraphs,
    example_family="strategyqa",
    order=5,
)
