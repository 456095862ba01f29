"""Data sets: one file each, which ends in its record; nothing else in the workbench names one.

To add a data set, add a file to this folder that ends in `DATASET = Dataset(...)`. Its reader needs
a path and gives questions with their paragraphs; tests/test_datasets.py shows one of 25 lines.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.paths import import_modules

Asked = tuple[Question, Sequence[Paragraph]]  # a question and the paragraphs of its context
Score = Callable[[str, Sequence[str]], float]  # of a prediction and the gold answers, 0 to 1


@dataclass(frozen=True)
class FullCorpus:
    """A corpus as in the papers, made of official downloads (IRCoT App. A); data sets may share it.

    `name`: of its folders, `data_dir`/<name> and data/corpora/<name>-full. `files`: all needed, and
    read in this order by `read`, one by one. `source`: where to get them. `count`: paragraphs,
    according to `counted_in`; None if it is not known. `once`: made of contexts, which share
    paragraphs, so each title and text counts once; else all count, and a repeated id gets a number.
    `find`: looks for the files in its own way, given the folders and a progress
    (downloads.find_files).
    """

    name: str
    files: tuple[str, ...]
    source: str
    count: int | None
    read: Callable[[Path], Iterable[Paragraph]]
    once: bool = False
    find: Callable[..., list[list[Path]]] | None = None
    counted_in: str = "IRCoT App. A, footnote 18"


@dataclass(frozen=True)
class Dataset:
    """All that the workbench needs to know of a data set.

    `name`: of its folder, and the `dataset` of its questions. `title`: as papers print it. `files`:
    the file of development questions, its official name first, then a sample's. `source`: where to
    get it. `read`: reads such a file. `scores`: what its answers get, by name; the first is the
    measure of the data set. `full`: its corpus in the papers, if any. `read_in`: as `read`, with
    gold paragraphs of the full corpus; None: their ids are those of the contexts. `paragraphs`:
    reads the corpus beside the questions; None: it is pooled from their contexts. `released`: the
    data set as IRCoT's released program reads and scores it; None: the same. `family`: whose
    examples systems show on it (prompts/own/<system>/<stage>.<family>.txt). `told`: what programs
    are told on it that name it. `order`: its place in tables and figures.
    """

    name: str
    title: str
    files: tuple[str, ...]
    source: str
    read: Callable[[Path], Iterable[Asked]]
    scores: Mapping[str, Score]
    full: FullCorpus | None = None
    read_in: Callable[[Path, Iterable[Paragraph]], Iterable[Asked]] | None = None
    paragraphs: Callable[[Path], Iterable[Paragraph]] | None = None
    released: "Dataset | None" = None
    family: str = "multihop"
    told: Mapping[str, object] = field(default_factory=dict)
    order: int = 100


def all_datasets() -> dict[str, Dataset]:
    """The records of the files in this folder, by name, in their order; ValueError where two have
    one name.
    """
    modules = import_modules(__name__, tuple(__path__))
    records = [module.DATASET for module in modules if hasattr(module, "DATASET")]
    for name, count in Counter(record.name for record in records).items():
        if count > 1:
            raise ValueError(f"found {count} data sets named {name!r}, expected one: rename one")
    records.sort(key=lambda record: (record.order, record.name))
    return {record.name: record for record in records}


def find_dataset(name: str, released: bool = False) -> Dataset:
    """The record of a data set; `released`: as IRCoT's released program has it, where it differs.

    Raises ValueError for an unknown name.
    """
    known = all_datasets()
    if name not in known:
        raise ValueError(
            f"unknown data set {name!r}; expected one of {', '.join(known)}: for another, add a"
            " file to ircotlib/datasets that ends in DATASET = Dataset(...)"
        )
    return (known[name].released or known[name]) if released else known[name]
