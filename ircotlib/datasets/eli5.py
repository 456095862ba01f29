"""ELI5, questions that ask for an explanation (Fan et al. 2019): KILT's file, or one JSON list."""

from collections.abc import Iterator
from pathlib import Path

from ircotlib.data import Question
from ircotlib.datasets import Dataset, QuestionContext
from ircotlib.datasets.fields import Record, Text, read_list
from ircotlib.datasets.kilt import KNOWLEDGE_SOURCE, SOURCE, read_beside, read_kilt
from ircotlib.datasets.pooled import digest
from ircotlib.metrics import rouge_l


class _Asking(Record):
    question: Text
    answer: Text


def read_eli5(path: Path) -> Iterator[QuestionContext]:
    """The questions with their explanations, in order. Those of a list get ids from a hash."""
    if path.suffix != ".json":
        yield from read_kilt(path, "eli5")
        return
    for record, _ in read_list(path, _Asking):
        id = f"eli5-{digest(record.question, 8)}"
        yield Question(id, record.question, (record.answer,), (), "eli5"), ()


DATASET = Dataset(
    name="eli5",
    title="ELI5",
    files=("eli5-dev-kilt.jsonl", "alce_200.json"),
    source=SOURCE,
    read=read_eli5,
    scores={"rouge_l": rouge_l},
    full_corpus=KNOWLEDGE_SOURCE,
    read_paragraphs=read_beside,
    has_gold=False,
    example_family="eli5",
    # ours: answers are long, which SearChain compares by ROUGE (§3.3)
    program_arguments={"long_form": True, "max_tokens": 512, "tokens": 512, "answer_tokens": 512},
    order=9,
)
