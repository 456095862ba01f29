"""What the modules that read data sets have in common (docs/data.md). Each of them ends
with DATASETS, the list of its records.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.errors import DataError
from ircotlib.files import check_name
from ircotlib.metrics import Score, paragraph_recall
from ircotlib.plugins import find_records

QuestionContext = tuple[Question, Sequence[Paragraph]]  # a question and its paragraphs
COVER_EM = "cover_em"  # the name of a score


@dataclass(frozen=True)
class FullCorpus:
    """A corpus as in the papers, made of official downloads (IRCoT App. A)."""

    name: str  # of its folder in `data_dir`; data sets may share a corpus
    files: tuple[str, ...]  # read in this order
    count: int | None  # of paragraphs (footnote 18); None: no paper gives one
    read: Callable[[Path], Iterable[Paragraph]]  # of one file


@dataclass(frozen=True)
class Dataset:
    """All that the workbench needs to know about a data set."""

    name: str  # of its folder, and the `dataset` of its questions
    title: str  # its name in the papers
    files: tuple[str, ...]  # of development questions: official name, then a sample's
    read: Callable[[Path], Iterable[QuestionContext]]
    scores: Mapping[str, Score]  # of an answer, by name
    full_corpus: FullCorpus | None = None
    # as `read`, but gold paragraphs are those of the full corpus, its second argument;
    # None: the gold ids of the contexts are valid there
    read_with_corpus: Callable[..., Iterable[QuestionContext]] | None = None
    # a corpus that comes with the questions; None: pooled from their contexts
    read_paragraphs: Callable[[Path], Iterable[Paragraph]] | None = None
    has_gold: bool = True  # whether questions name gold paragraphs
    # as IRCoT's released program reads and scores it; None: the same
    as_released: "Dataset | None" = None
    # of the examples in systems' prompts: prompts/own/<system>/<stage>.<family>.txt
    example_family: str = "multihop"
    # for all programs that have a parameter of that name
    program_arguments: Mapping[str, object] = field(default_factory=dict)
    order: int = 100  # its place in tables and figures

    @property
    def measure(self) -> str:
        """The score by which systems are tuned and compared: the first."""
        return next(iter(self.scores))

    @property
    def covering(self) -> str:
        """Cover-EM, if the data set has it (SearChain §4.1), else the first score."""
        return COVER_EM if COVER_EM in self.scores else self.measure


def digest(text: str, digits: int) -> str:
    """The first hexadecimal digits of a hash that is the same on every machine."""
    return blake2b(text.encode(), digest_size=16).hexdigest()[:digits]


@lru_cache(maxsize=5000)  # contexts share paragraphs
def make_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph whose id is its title, to be readable, and a hash of its content.

    >>> make_paragraph("Lost Gravity (coaster)", "Text.").id
    'lost-gravity-coaster-adb54a29'
    """
    slug = re.sub(r"\W+", "-", title.lower()).strip("-")
    content = digest(f"{title}\n{text}", 8)
    return Paragraph(f"{slug}-{content}", title, text)


def pool(contexts: Iterable[Sequence[Paragraph]]) -> list[Paragraph]:
    """The paragraphs of all contexts, each title and text once, as they first occur.
    Differs from the paper, which also pools those of other splits (IRCoT App. A).
    """
    corpus: dict[tuple[str, str], Paragraph] = {}
    for paragraph in chain.from_iterable(contexts):
        corpus.setdefault((paragraph.title, paragraph.text), paragraph)
    return list(corpus.values())


def sample_dev_test(
    questions: Iterable[Question], dev: int = 100, test: int = 500, seed: int = 0
) -> tuple[list[Question], list[Question]]:
    """Sample questions to tune on and others to test on (IRCoT §4: 100 and 500), by a
    hash of seed and id. Of fewer, up to a fifth is for tuning.
    """
    drawn = sorted(questions, key=lambda q: (digest(f"{seed} {q.id}", 32), q.id))
    if len(drawn) < dev + test:
        dev = min(dev, len(drawn) // 5)
    return drawn[:dev], drawn[dev : dev + test]


def all_datasets() -> dict[str, Dataset]:
    """The data sets, also of plug-ins and of cells, by name, sorted by `order`."""
    records = find_records("datasets", "DATASETS", Dataset)
    records.sort(key=lambda record: (record.order, record.name))
    for record in records:
        check_name("data set", record.name)
    return {record.name: record for record in records}


def find_dataset(name: str, released: bool = False) -> Dataset:
    """The record of a data set, or its variant in IRCoT's released program, if any."""
    known = all_datasets()
    if name not in known:
        near = ", ".join(get_close_matches(name, known) or known)
        raise DataError(f"unknown data set {name!r}, expected one of {near}")
    dataset = known[name]
    return (dataset.as_released or dataset) if released else dataset


def score(
    question: Question, prediction: Prediction, dataset: Dataset | None = None
) -> dict[str, float]:
    """Recall (NaN without gold paragraphs), the answer's scores, and counts of
    paragraphs and steps (IRCoT §4.1).
    """
    dataset = dataset or find_dataset(question.dataset)
    retrieved = [paragraph.id for paragraph in prediction.paragraphs]
    # where no answer could be read, the whole text is scored (§3.2)
    answer = prediction.answer or prediction.reading
    scores = {"recall": paragraph_recall(retrieved, question.gold)}
    for name, measure in dataset.scores.items():
        value = scores[name] = measure(answer, question.answers)
        if not 0 <= value <= 1:
            raise DataError(f"{question.id}: found {name} = {value}, expected 0 to 1")
    scores["paragraphs"] = len(prediction.paragraphs)
    scores["steps"] = len(prediction.thoughts)
    return scores
