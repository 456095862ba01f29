"""Opens the data, and the backends that answer requests about them, as the parameters name them.
Generators and readers load at the first request.
"""

import sys
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircotlib.data import Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.imported import FILE, read_imported
from ircotlib.datasets.pooled import digest, sample_dev_test
from ircotlib.files import models
from ircotlib.files.kept import kept_until_changed
from ircotlib.files.paths import DATA, ROOT
from ircotlib.generation.budget import find_price
from ircotlib.generation.config import is_encoder_decoder
from ircotlib.parameters import GOLD, SIMULATED, WITHOUT_WEIGHTS, Parameters
from ircotlib.prompting.prompt import GPT3
from ircotlib.retrieval import model_of, open_retriever
from ircotlib.retrieval.corpus import DESCRIPTION, fingerprint_of, open_corpus
from ircotlib.running.laboratory import (
    data_folder,
    open_gold_extractor,
    open_gold_reader,
    open_simulated_extractor,
    open_simulated_reader,
)

# a title or a question in a table is text: a dollar sign in it does not begin a formula
pd.set_option("display.html.use_mathjax", False)
# as without pyarrow (the extra `hub`), which refuses halves of surrogate pairs
pd.set_option("mode.string_storage", "python")


def change_model(p: Parameters, name: str) -> Parameters:
    """The parameters with another model; a causal model is prompted as GPT3 was (IRCoT §4.1). One
    of the hub whose configuration cannot be had is prompted as that of `p`.
    """
    changed = p.change(model=name)
    if p.server:
        return changed.change(style=GPT3.name)
    folder = None if name in WITHOUT_WEIGHTS else models.find_config(name)
    if folder is None or is_encoder_decoder(folder):
        return changed
    return changed.change(style=GPT3.name)


def open_model(p: Parameters) -> object:
    """The model that the parameters name, on this machine or behind a server. It is opened once per
    process, so that the whole process shares one budget.
    """
    if p.model == SIMULATED:
        return open_simulated_reader(p)
    if p.model == GOLD:
        return open_gold_reader()
    if not p.server:
        return _model(p.model, p.dtype)
    prices = None if p.prices is None else tuple(p.prices)
    return _served(p.model, p.server, p.chat, p.in_flight, prices, p.max_cost)


@kept_until_changed(models.named)
def _model(name: str, dtype: str) -> object:
    from ircotlib.generation.local import LocalModel

    return LocalModel(name, dtype=dtype)


@cache
def _served(name, server, chat, in_flight, prices, max_cost) -> object:
    from ircotlib.generation.server import Budget, ServerModel

    budget = Budget(find_price(name, prices), max_cost)
    return ServerModel(name, server, chat=chat, in_flight=in_flight, budget=budget)


def open_reading(p: Parameters, dataset: str) -> tuple[object, object]:
    """The model that extracts answers, None if none is named, and the one that detects duplicate
    queries. Neither is loaded or downloaded before its first request.
    """
    from ircotlib.extraction.repeated_queries import open_duplicates

    if p.extractor == SIMULATED:
        return open_simulated_extractor(p, dataset), open_duplicates(p.duplicates)
    if p.extractor == GOLD:
        dev, test, _ = open_dataset(p, dataset)
        return open_gold_extractor([*dev, *test]), open_duplicates(p.duplicates)
    return _extractor(p.extractor) if p.extractor else None, open_duplicates(p.duplicates)


@kept_until_changed(models.named)
def _extractor(name: str) -> object:
    from ircotlib.extraction.extractor import Extractor

    return Extractor(name)


def open_dataset(p: Parameters, dataset: str) -> tuple[list[Question], list[Question], object]:
    """Dev and test questions (IRCoT §4), and the index of the corpus, built if it is missing; of
    imported runs, which need none, their paragraphs.
    """
    which = p.data_dir, p.corpus, p.further_paragraphs, p.retriever, p.released
    questions, retriever = _opened(Opening(DATA, dataset, *which))
    return *sample_dev_test(questions, p.dev, p.test or sys.maxsize, p.seed), retriever


class Opening(NamedTuple):
    """What decides the questions and the retriever of a data set: names of parameters."""

    data: Path
    dataset: str
    data_dir: str
    corpus: str
    further_paragraphs: str
    retriever: str
    released: bool

    def list_files(self) -> list[Path]:
        """The folders and files that are read."""
        folder = ROOT / self.data_dir if self.data_dir else self.data / "laboratory"
        encoder = model_of(self.retriever)
        full = find_dataset(self.dataset).full_corpus
        made = [self.data / "corpora" / f"{full.name}-full" / DESCRIPTION] if full else []
        further = [ROOT / self.further_paragraphs] if self.further_paragraphs else []
        made = made if self.corpus == "full" else further
        return [folder / self.dataset, folder, *models.named(encoder), *made]


@kept_until_changed(Opening.list_files)
def _opened(of: Opening) -> tuple[list[Question], object]:
    """Questions and retriever, opened once per process, and again if the data change."""
    folder = data_folder(of.data_dir, of.data)
    if (imported := ROOT / folder / of.dataset / FILE).is_file():
        return read_imported(imported, of.dataset)
    indexes, further = of.data / "indexes", of.further_paragraphs
    read = partial(read_dataset, of.dataset, folder, of.corpus, of.released, further)
    questions, paragraphs = read()
    if of.corpus == "full":
        index = indexes / paragraphs.folder.name
        return questions, open_retriever(paragraphs, index, of.retriever)
    name = f"{(ROOT / folder).resolve().name}-{of.dataset}"
    name += f"-further-{digest(further, 6)}" if further else ""
    # read once more to be written, if it changed: it may be an iterator
    stored = open_corpus(of.data / "corpora" / name, fingerprint_of(paragraphs), lambda: read()[1])
    return questions, open_retriever(stored, indexes / name, of.retriever)
