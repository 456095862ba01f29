"""Data sets: modules that read official files, and end with the record that the
workbench uses, `DATASET = Dataset(...)`, or a tuple DATASETS (docs/data.md); and what
they have in common.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Protocol

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.errors import DataError
from ircotlib.files import check_name
from ircotlib.metrics import paragraph_recall
from ircotlib.plugins import import_plugins

QuestionContext = tuple[Question, Sequence[Paragraph]]  # a question and its paragraphs
# of a prediction and the gold answers, 0 to 1
Score = Callable[[str, Sequence[str]], float]
COVER_EM = "cover_em"  # the name of a score


@dataclass(frozen=True)
class FullCorpus:
    """A corpus as in the papers, made of official downloads (IRCoT App. A); data sets
    may share it. `name`: of its folder in `data_dir`. `files`: in this order. `count`:
    of paragraphs (footnote 18). `drop_repeats`: with equal title and text; if kept, a
    repeated id gets a number.
    """

    name: str
    files: tuple[str, ...]
    source: str
    count: int | None
    read: Callable[[Path], Iterable[Paragraph]]
    drop_repeats: bool = False


@dataclass(frozen=True)
class Dataset:
    """All that the workbench needs to know about a data set.

    `name`: of its folder, and the `dataset` of its questions. `title`: its name in the
    papers. `files`: the names of the file of development questions: official, then of a
    sample. `scores`: of an answer, by name. `read_with_corpus`: as `read`, but with
    gold paragraphs from the full corpus; None: the gold ids of the contexts are valid
    there. `read_paragraphs`: reads a corpus that comes with the questions; None: the
    corpus is pooled from their contexts. `has_gold`: whether questions name gold
    paragraphs. `as_released`: the data set as IRCoT's released program reads and scores
    it; None: the same. `example_family`: of the examples in systems' prompts
    (prompts/own/<system>/<stage>.<family>.txt). `program_arguments`: for all programs
    that have a parameter of that name. `order`: its place in tables and figures.
    """

    name: str
    title: str
    files: tuple[str, ...]
    source: str
    read: Callable[[Path], Iterable[QuestionContext]]
    scores: Mapping[str, Score]
    full_corpus: FullCorpus | None = None
    read_with_corpus: (
        Callable[[Path, Iterable[Paragraph]], Iterable[QuestionContext]] | None
    ) = None
    read_paragraphs: Callable[[Path], Iterable[Paragraph]] | None = None
    has_gold: bool = True
    as_released: "Dataset | None" = None
    example_family: str = "multihop"
    program_arguments: Mapping[str, object] = field(default_factory=dict)
    order: int = 100

    @property
    def measure(self) -> str:
        """The score by which systems are tuned and compared: the first."""
        return next(iter(self.scores))

    @property
    def covering(self) -> str:
        """Cover-EM, if the data set has it (SearChain §4.1), else the first score."""
        return COVER_EM if COVER_EM in self.scores else self.measure


class Attempt(NamedTuple):
    """What a system did for a question, as far as causes of errors depend on it."""

    # lines or sentences, without those that only give an answer
    steps: tuple[str, ...] = ()
    text: str = ""  # all that it wrote, and its answer
    queries: tuple[str, ...] = ()
    paragraphs: tuple[Paragraph, ...] = ()
    parsed: bool = True  # an answer could be read from its text


class Evidence(NamedTuple):
    """Why an answer is wrong: whether steps with all that is needed were written; if
    not, whether the first thing missing was asked for in a step, searched for in a
    query, and retrieved.
    """

    written: bool
    asked: bool
    searched: bool
    retrieved: bool


class Facts(Protocol):
    """Knows the facts of a data set of the laboratory: whether a sentence is "true",
    "false" or "unsure" (IRCoT §5, Figure 7), and whether a page states a statement
    (SearChain Table 5).
    """

    def judge(self, sentence: str, question: Question) -> str: ...
    def judge_reference(self, statement: str, titles: Collection[str]) -> str: ...
    def weigh(self, attempt: Attempt, question: Question) -> Evidence: ...


def digest(text: str, digits: int) -> str:
    """The first hexadecimal digits of a hash, the same on every machine and in every
    run.
    """
    return blake2b(text.encode(), digest_size=16).hexdigest()[:digits]


@lru_cache(maxsize=5000)  # contexts share paragraphs
def make_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph whose id is its title, for readability, and 8 digits of a hash of its
    content.
    """
    slug, content = re.sub(r"\W+", "-", title.lower()).strip("-"), f"{title}\n{text}"
    return Paragraph(f"{slug}-{digest(content, 8)}", title, text)


def pool(contexts: Iterable[Sequence[Paragraph]]) -> list[Paragraph]:
    """The paragraphs of all contexts, each title and text once, in the order of their
    first occurrence (IRCoT App. A). Differs from the paper: that also pools those of
    other splits.
    """
    corpus = {}
    for paragraph in (paragraph for context in contexts for paragraph in context):
        corpus.setdefault((paragraph.title, paragraph.text), paragraph)
    return list(corpus.values())


def sample_dev_test(
    questions: Iterable[Question], dev: int = 100, test: int = 500, seed: int = 0
) -> tuple[list[Question], list[Question]]:
    """Sample questions to tune on and others to test on by a hash of seed and id (IRCoT
    §4: 100 and 500). Of fewer, a fifth (at most `dev`) is for tuning and the rest (at
    most `test`) for testing.
    """
    drawn = sorted(
        questions, key=lambda asked: (digest(f"{seed} {asked.id}", 32), asked.id)
    )
    size = dev if len(drawn) >= dev + test else min(dev, len(drawn) // 5)
    return drawn[:size], drawn[size : size + test]


def all_datasets() -> dict[str, Dataset]:
    """The data sets of this folder and of plug-ins by name, sorted by `order`."""
    modules = import_plugins("datasets")
    records = [
        record for module in modules for record in getattr(module, "DATASETS", ())
    ]
    records += [module.DATASET for module in modules if hasattr(module, "DATASET")]
    records.sort(key=lambda record: (record.order, record.name))
    named = {record.name: record for record in records}
    if len(named) < len(records):
        raise DataError(
            f"two data sets of {[r.name for r in records]} have one name: rename one"
        )
    for name in named:
        check_name("data set", name)
    return named


def find_dataset(name: str, released: bool = False) -> Dataset:
    """The record of a data set, or its variant in IRCoT's released program, if there is
    one.
    """
    known = all_datasets()
    if name not in known:
        raise DataError(
            f"unknown data set {name!r}, expected one of {', '.join(known)}"
        )
    return (known[name].as_released or known[name]) if released else known[name]


def score(
    question: Question, prediction: Prediction, dataset: Dataset | None = None
) -> dict[str, float]:
    """Recall (NaN without gold paragraphs), the answer's scores, and the numbers of
    paragraphs and steps (IRCoT §4.1). Where no answer could be read, the whole text is
    scored (§3.2).
    """
    scores = {
        "recall": paragraph_recall([p.id for p in prediction.paragraphs], question.gold)
    }
    for name, measure in (dataset or find_dataset(question.dataset)).scores.items():
        # §3.2
        scores[name] = measure(
            prediction.answer or prediction.reading, question.answers
        )
        if not 0 <= scores[name] <= 1:
            raise DataError(
                f"{question.id}: found {name} = {scores[name]}, expected 0 to 1"
            )
    return scores | {
        "paragraphs": len(prediction.paragraphs),
        "steps": len(prediction.thoughts),
    }
