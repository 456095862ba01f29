"""Runs that are looked at again, with every prompt: their replies come from the call
cache, and nobody is asked for others, whatever a run.json names.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ircotlib.backends import Replies
from ircotlib.datasets import find_dataset
from ircotlib.engine import scheduler
from ircotlib.errors import DataError
from ircotlib.experiment.runs import Outcomes, Run
from ircotlib.experiment.setup import (
    BACKENDS,
    Setup,
    find_calls,
    open_corpus,
    open_index,
)
from ircotlib.experiment.stored import AGAIN, parameters_of, read_about, read_scores
from ircotlib.models import MODELS, find_model, open_model
from ircotlib.models.batches import read_reply
from ircotlib.models.folders import find_folder
from ircotlib.models.local import Tokens
from ircotlib.parameters import Parameters
from ircotlib.program import Extract, Extracted, Generate, Sample
from ircotlib.retrieval import RETRIEVERS, find_retriever
from ircotlib.retrieval.ranking import Ranked
from ircotlib.systems import all_systems

LOST = (
    "the call cache of this machine lacks replies, or the system or the model's "
    "tokenizer is not here"
)


class Recorded(NamedTuple):
    """Stands for a backend whose replies are in the call cache, and never asked for."""

    answers: type | tuple[type, ...]
    fingerprint: str
    decode: Callable[[str, Any], Any]
    count_tokens: Callable[[str], int] = len  # of a model

    def answer(self, requests: Sequence) -> Replies:
        raise NotImplementedError


def replay(folder: Path, ids: Collection[str] | None = None) -> Outcomes:
    """Replay a run, or its questions `ids`: their outcomes, with prompts in the traces.
    DataError if replies are missing: no model, server or index is asked.
    """
    outcomes = replay_known(folder, ids)
    asked = read_scores(folder)["id"] if ids is None else ids
    missing = [id for id in asked if id not in outcomes]
    if missing:
        raise DataError(f"{folder}: question {missing[0]!r}: {LOST}; {AGAIN}")
    return outcomes


def replay_known(folder: Path, ids: Collection[str] | None = None) -> Outcomes:
    """As `replay`, but without the questions whose replies are missing; these are all
    if the system, or the tokenizer by which prompts are cut, is not here.
    """
    about = read_about(folder)
    system = all_systems().get(about["system"])
    setup = open_recorded(parameters_of(about), about)
    if system is None or setup is None:
        return {}
    run = Run(setup, system, about["part"], about["setting"])
    asked = [each for each in run.questions if ids is None or each.id in ids]
    try:
        programs = run.programs(asked)
    except TypeError:  # its setting is of another version of the system
        return {}
    return scheduler.replay(programs, setup.backends, setup.calls)


def open_recorded(p: Parameters, about: Mapping) -> Setup | None:
    """The setup of a run, where nothing answers; None: its tokenizer is not here."""
    tokenizer = find_tokenizer(p)
    if tokenizer is None:
        return None
    dev, test, corpus = open_corpus(p, about["dataset"])
    kept = {name: str(about.get(f"{name}_fingerprint")) for name in BACKENDS}
    kind = find_retriever(p.retriever)
    if kind in RETRIEVERS:
        found: Any = Ranked()  # it decodes; no index or server is opened
        found.corpus = corpus
        found.fingerprint = kept["retriever"]
    else:  # a plug-in's decodes its own
        found = open_index(corpus, p.retriever, kind)
    return Setup(
        p,
        find_dataset(about["dataset"]),
        about["experiment"],
        found,
        find_calls(),
        shown=about["shown"] and find_dataset(about["shown"]),
        grid_of=about["grid_of"],
        dev=dev,
        test=test,
        model=Recorded((Generate, Sample), kept["model"], read_reply, tokenizer),
        extractor=Recorded(Extract, kept["extractor"], Extracted.read),
    )


def find_tokenizer(p: Parameters) -> Callable[[str], int] | None:
    """What counts tokens as the model does; None: its tokenizer is not here."""
    if p.server or find_model(p.model, served=False) not in MODELS:
        return open_model(p.change(max_cost=None)).count_tokens
    try:
        return open_tokens(find_folder(p.model, weights=(), here=True)).count
    except FileNotFoundError:
        return None


open_tokens = cache(Tokens)  # once for all runs that are looked at
