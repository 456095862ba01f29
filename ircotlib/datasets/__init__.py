"""Data sets: each has its own file, which ends with the record that the rest of the workbench uses.

To add a data set, add a file to this folder that ends in `DATASET = Dataset(...)`. Its reader takes
a path and returns questions with their paragraphs; tests/datasets/test_datasets.py shows one of
25 lines.

Imports: data, files, metrics, retrieval.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.files.modules import import_modules

QuestionContext = tuple[Question, Sequence[Paragraph]]  # a question and its paragraphs
Score = Callable[[str, Sequence[str]], float]  # of a prediction and the gold answers, 0 to 1
COVER_EM = "cover_em"  # the name of a score


@dataclass(frozen=True)
class FullCorpus:
    """A corpus as in the papers, made of official downloads (IRCoT App. A); data sets may share it.

    `name`: names its folders, `data_dir`/<name> and data/corpora/<name>-full. `files`: all are
    needed; `read` reads them one by one, in this order. `source`: where to get them. `count`: the
    number of paragraphs according to `counted_in`; None if unknown. `drop_repeats`: the corpus is
    made of contexts, which share paragraphs, so repeats of title and text are dropped; otherwise
    all paragraphs count, and a repeated id gets a number. `find_files`: replaces the search for the
    files, given the folders and a progress (see downloads.find_files).
    """

    name: str
    files: tuple[str, ...]
    source: str
    count: int | None
    read: Callable[[Path], Iterable[Paragraph]]
    drop_repeats: bool = False
    find_files: Callable[..., list[list[Path]]] | None = None
    counted_in: str = "IRCoT App. A, footnote 18"


@dataclass(frozen=True)
class Dataset:
    """All that the workbench needs to know about a data set.

    `name`: the name of its folder, and the `dataset` of its questions. `title`: its name in the
    papers. `files`: names of the file of development questions, the official one first, then that
    of a sample. `source`: where to get it. `read`: reads such a file. `scores`: the scores of an
    answer, by name; the first is the data set's main measure. `full_corpus`: its corpus in the
    papers, if any. `read_with_corpus`: as `read`, but with gold paragraphs from the full corpus;
    None: the gold ids of the contexts are valid there. `read_paragraphs`: reads a corpus that comes
    with the questions; None: the corpus is pooled from their contexts. `as_released`: the data set
    as IRCoT's released program reads and scores it; None: the same. `example_family`: which
    examples are in the prompts of systems (prompts/own/<system>/<stage>.<family>.txt).
    `program_arguments`: for all programs that have a parameter of that name. `order`: its place in
    tables and figures.
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
    as_released: "Dataset | None" = None
    example_family: str = "multihop"
    program_arguments: Mapping[str, object] = field(default_factory=dict)
    order: int = 100


def all_datasets() -> dict[str, Dataset]:
    """The records of all files in this folder, by name, sorted by `order`. Raises ValueError if two
    have the same name.
    """
    modules = import_modules(__name__, tuple(__path__))
    records = [module.DATASET for module in modules if hasattr(module, "DATASET")]
    for name, count in Counter(record.name for record in records).items():
        if count > 1:
            raise ValueError(f"found {count} data sets named {name!r}, expected one: rename one")
    records.sort(key=lambda record: (record.order, record.name))
    return {record.name: record for record in records}


def find_dataset(name: str, released: bool = False) -> Dataset:
    """The record of a data set; `released`: the variant of IRCoT's released program, if it differs.

    Raises ValueError for an unknown name.
    """
    known = all_datasets()
    if name not in known:
        raise ValueError(
            f"unknown data set {name!r}; expected one of {', '.join(known)}: for another, add a"
            " file to ircotlib/datasets that ends in DATASET = Dataset(...)"
        )
    return (known[name].as_released or known[name]) if released else known[name]
