"""StrategyQA's official files (Geva et al. 2021), https://github.com/eladsegal/strategyqa"""

from collections.abc import Iterator
from pathlib import Path

from ircotlib.data import Paragraph, Question, excerpt, parse_json, read_lines
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.downloads import DEEPEST
from ircotlib.datasets.fields import AGAIN, Record, String, Text, check, read_list
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE
from ircotlib.datasets.wording import ask_yes_or_no
from ircotlib.metrics import cover_em, one_verdict

PARAGRAPHS = ("strategyqa_train_paragraphs.json", "dev_paragraphs.jsonl")
NOTHING = ("operation", "no_evidence")  # marks of a step without evidence
VERDICTS = ("Yes", "No")


class _Asking(Record):
    qid: Text
    question: Text
    answer: bool
    evidence: list[object]


class _Paragraph(Record):
    title: Text
    para_index: int
    content: String


def read_strategyqa(path: Path) -> Iterator[QuestionContext]:
    """The questions of a file, in order. The gold paragraphs are those the first annotator named.

    Raises ValueError, naming file, record and field.
    """
    for record, where in read_list(path, _Asking):
        text = ask_yes_or_no(record.question)
        answer = VERDICTS[0] if record.answer else VERDICTS[1]
        gold = dict.fromkeys(_named(record.evidence[:1], where))
        yield Question(record.qid, text, (answer,), tuple(gold), "strategyqa"), ()


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs that annotators named, from a file in the folder of the questions. Raises
    FileNotFoundError if it is missing, and ValueError if it has no paragraphs or is damaged.
    """
    files = [file for name in PARAGRAPHS if (file := path.with_name(name)).is_file()]
    if not files:
        names = " or ".join(PARAGRAPHS)
        raise FileNotFoundError(f"no paragraphs of StrategyQA: expected {names} next to {path}")
    file = files[0]
    rows = list(read_lines(file) if file.suffix == ".jsonl" else _read_object(file))
    if not rows:
        raise ValueError(f"{file}: found no paragraphs, expected at least one: {AGAIN}")
    for row, where in rows:
        if isinstance(row, dict) and "contents" in row:
            row = row | {"content": row["contents"]}
        record = check(row, _Paragraph, where)
        id = f"{record.title}-{record.para_index}"
        yield Paragraph(id, record.title, record.content.strip())


def _read_object(path: Path) -> Iterator[tuple[object, str]]:
    """The values of a file that is one JSON object, each with its place."""
    expected = "one JSON object of paragraphs by id"
    rows = parse_json(path.read_bytes(), str(path), expected)
    if not isinstance(rows, dict):
        raise ValueError(f"{path}: expected {expected}, found {excerpt(rows)}: {AGAIN}")
    return ((row, f"{path}, {excerpt(id)}") for id, row in rows.items())


def _named(evidence: object, where: str, depth: int = 0) -> Iterator[str]:
    """The ids of the paragraphs in nested lists."""
    if isinstance(evidence, list) and depth < DEEPEST:
        for part in evidence:
            yield from _named(part, where, depth + 1)
    elif not (isinstance(evidence, str) and evidence.strip()):
        wrong = f"expected ids of paragraphs in lists, found {excerpt(evidence)}"
        raise ValueError(f"{where}, field 'evidence': {wrong}: {AGAIN}")
    elif evidence not in NOTHING:
        yield evidence


def accuracy(prediction: str, answers) -> float:
    """1.0 if the prediction contains the right one of Yes and No and not the other, else 0.0."""
    return one_verdict(prediction, answers, VERDICTS)


DATASET = Dataset(
    name="strategyqa",
    title="StrategyQA",
    files=("strategyqa_train.json", "dev_229.json"),
    source="https://allenai.org/data/strategyqa (in strategyqa_dataset.zip)",
    read=read_strategyqa,
    scores={"cover_em": cover_em, "accuracy": accuracy},
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_paragraphs,
    example_family="strategyqa",
    order=5,
)
