"""StrategyQA's official files (Geva et al. 2021), https://github.com/eladsegal/strategyqa"""

import json
from collections.abc import Iterator
from pathlib import Path

from ircotlib.data import Paragraph, Question, read_jsonl
from ircotlib.datasets import Asked, Dataset
from ircotlib.datasets.fields import field, read_json_list
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE
from ircotlib.datasets.wording import ask_yes_or_no
from ircotlib.metrics import cover_em, one_verdict

PARAGRAPHS = ("strategyqa_train_paragraphs.json", "dev_paragraphs.jsonl")
NOTHING = ("operation", "no_evidence")  # in place of the evidence of a step
VERDICTS = ("Yes", "No")


def read_strategyqa(path: Path) -> Iterator[Asked]:
    """The questions of a file, in order. Gold are the paragraphs that the first annotator named.

    Raises ValueError naming file, record and field.
    """
    for number, record in enumerate(read_json_list(path), start=1):
        where = f"{path}, record {number}"
        text = ask_yes_or_no(field(record, "question", str, where))
        answer = VERDICTS[0] if field(record, "answer", bool, where) else VERDICTS[1]
        evidence = field(record, "evidence", list, where)
        gold = dict.fromkeys(_named(evidence[:1]))
        id = field(record, "qid", str, where)
        yield Question(id, text, (answer,), tuple(gold), "strategyqa"), ()


def read_paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs that annotators named, from the file beside the questions."""
    places = [path.with_name(name) for name in PARAGRAPHS]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        names = " or ".join(PARAGRAPHS)
        raise FileNotFoundError(f"no paragraphs of StrategyQA: expected {names} beside {path}")
    if found.suffix == ".jsonl":
        rows = ((row, f"{found}, line {n}") for n, row in enumerate(read_jsonl(found), start=1))
    else:
        records = json.loads(found.read_text(encoding="utf-8"))
        rows = ((row, f"{found}, {id!r}") for id, row in records.items())
    for row, where in rows:
        title, number = field(row, "title", str, where), field(row, "para_index", int, where)
        name = "contents" if "contents" in row else "content"
        yield Paragraph(f"{title}-{number}", title, field(row, name, str, where).strip())


def _named(evidence: object) -> Iterator[str]:
    """The paragraphs in lists in lists."""
    if isinstance(evidence, list):
        for part in evidence:
            yield from _named(part)
    elif evidence not in NOTHING:
        yield str(evidence)


def accuracy(prediction: str, answers) -> float:
    """1.0 if the prediction holds the right one of Yes and No and not the other, else 0.0."""
    return one_verdict(prediction, answers, VERDICTS)


DATASET = Dataset(
    name="strategyqa",
    title="StrategyQA",
    files=("strategyqa_train.json", "dev_229.json"),
    source="https://allenai.org/data/strategyqa (in strategyqa_dataset.zip)",
    read=read_strategyqa,
    scores={"cover_em": cover_em, "accuracy": accuracy},
    full=KNOWLEDGE_SOURCE,
    paragraphs=read_paragraphs,
    family="strategyqa",
    order=5,
)
