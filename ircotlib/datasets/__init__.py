"""Data sets: one file each, which ends with the record that the rest of the workbench uses.

To add a data set, add a file to this folder that ends in `DATASET = Dataset(...)`, or DATASETS, a
tuple of some; test_datasets.py in tests/datasets shows one of 25 lines.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.errors import DataError
from ircotlib.plugins import import_plugins

QuestionContext = tuple[Question, Sequence[Paragraph]]  # a question and its paragraphs
Score = Callable[[str, Sequence[str]], float]  # of a prediction and the gold answers, 0 to 1
COVER_EM = "cover_em"  # the name of a score


@dataclass(frozen=True)
class FullCorpus:
    """A corpus as in the papers, made of official downloads (IRCoT App. A); data sets may share it.

    `name`: of its folder in `data_dir`. `files`: read one by one, in this order. `source`: where to
    get them. `count`: of paragraphs (IRCoT App. A, footnote 18); None if unknown. `drop_repeats`:
    the corpus is made of contexts, so repeats of title and text are dropped; otherwise all
    paragraphs count, and a repeated id gets a number.
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

    `name`: of its folder, and the `dataset` of its questions. `title`: its name in the papers.
    `files`: the names of the file of development questions: official, then of a sample. `scores`:
    of an answer, by name; the first is the main measure. `read_with_corpus`: as `read`, but with
    gold paragraphs from the full corpus; None: the gold ids of the contexts are valid there.
    `read_paragraphs`: reads a corpus that comes with the questions; None: the corpus is pooled from
    their contexts. `has_gold`: whether questions name gold paragraphs. `as_released`: the data set
    as IRCoT's released program reads and scores it; None: the same. `example_family`: of the
    examples in systems' prompts (prompts/own/<system>/<stage>.<family>.txt). `program_arguments`:
    for all programs that have a parameter of that name. `order`: its place in tables and figures.
    """

    name: str
    title: str
    files: tuple[str, ...]
    source: str
    read: Callable[[Path], Iterable[QuestionContext]]
    scores: Mapping[str, Score]
    full_corpus: FullCorpus | None = None
    read_with_corpus: Callable[[Path, Iterable[Paragraph]], Iterable[QuestionContext]] | None = None
    read_paragraphs: Callable[[Path], Iterable[Paragraph]] | None = None
    has_gold: bool = True
    as_released: "Dataset | None" = None
    example_family: str = "multihop"
    program_arguments: Mapping[str, object] = field(default_factory=dict)
    order: int = 100


def all_datasets() -> dict[str, Dataset]:
    """The data sets of this folder and of plug-ins by name, sorted by `order`."""
    modules = import_plugins("datasets")
    records = [record for module in modules for record in getattr(module, "DATASETS", ())]
    records += [module.DATASET for module in modules if hasattr(module, "DATASET")]
    for name, count in Counter(record.name for record in records).items():
        if count > 1:
            raise DataError(f"found {count} data sets named {name!r}, expected one: rename one")
    records.sort(key=lambda record: (record.order, record.name))
    return {record.name: record for record in records}


def find_dataset(name: str, released: bool = False) -> Dataset:
    """The record of a data set, or its variant in IRCoT's released program, if there is one."""
    known = all_datasets()
    if name not in known:
        raise DataError(f"unknown data set {name!r}, expected one of {', '.join(known)}")
    return (known[name].as_released or known[name]) if released else known[name]
