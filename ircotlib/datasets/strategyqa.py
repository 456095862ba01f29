"""StrategyQA's official files (Geva et al. 2021), https://github.com/eladsegal/strategyqa"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from ircotlib.data import GoldStep, Paragraph, Question, excerpt, parse_json, read_lines
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.downloads import DEEPEST, find_file
from ircotlib.datasets.fields import GET_ANOTHER, Record, String, Text, check, read_list
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE
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
    content: String


def read_strategyqa(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file, in order; gold are the paragraphs that the first annotator named.
    Steps are the facts, of which the file does not say which paragraph supports them; its
    sub-questions have no answers.
    """
    for record, where in read_list(path, _Asking):
        text = ask_yes_or_no(record.question)
        answer = "Yes" if record.answer else "No"
        gold = dict.fromkeys(_named(record.evidence[:1], where))
        steps = tuple(GoldStep("", "", sentence=fact) for fact in record.facts)
        yield Question(record.qid, text, (answer,), tuple(gold), "strategyqa", steps=steps), ()


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs that annotators named, from a file in the folder of the questions. Raises
    FileNotFoundError if it is missing, and DataError if it is damaged or lacks gold paragraphs.
    """
    file = find_file("paragraphs of StrategyQA", PARAGRAPHS, [path.parent], SOURCE)
    if file.suffix == ".jsonl":
        rows = list(read_lines(file))
    else:
        entries = parse_json(file.read_bytes(), str(file), expected := "a JSON object by id")
        if not isinstance(entries, dict):
            raise DataError(f"{file}: expected {expected}, found {excerpt(entries)}: {GET_ANOTHER}")
        rows = [(row, f"{file}, {excerpt(id)}") for id, row in entries.items()]
    if not rows:
        raise DataError(f"{file}: found no paragraphs, expected at least one: {GET_ANOTHER}")
    ids = set()
    for row, where in rows:
        if isinstance(row, dict) and "contents" in row:
            row = row | {"content": row["contents"]}
        record = check(row, _Paragraph, where)
        id = f"{record.title}-{record.para_index}"
        ids.add(id)
        yield Paragraph(id, record.title, record.content.strip())
    gold = dict.fromkeys(id for question, _ in read_strategyqa(path) for id in question.gold)
    if lacking := [id for id in gold if id not in ids]:
        found = f"found no paragraph {lacking[0]!r} ({len(lacking)} of {len(gold)} are missing)"
        raise DataError(
            f"{file}: {found}, expected all that {path} names as evidence: {GET_ANOTHER}"
        )


def read_without_gold(path: Path, corpus: Iterable[Paragraph]) -> Iterator[QuestionContext]:
    """The questions of a file without gold paragraphs, whose ids KILT's pages do not have."""
    return ((replace(question, gold=()), context) for question, context in read_strategyqa(path))


def _named(evidence: object, where: str, depth: int = 0) -> Iterator[str]:
    if isinstance(evidence, list) and depth < DEEPEST:
        for part in evidence:
            yield from _named(part, where, depth + 1)
    elif not (isinstance(evidence, str) and evidence.strip()):
        wrong = f"expected ids of paragraphs in lists, found {excerpt(evidence)}"
        raise DataError(f"{where}, field 'evidence': {wrong}: {GET_ANOTHER}")
    elif evidence not in ("operation", "no_evidence"):  # marks of a step without evidence
        yield evidence


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
