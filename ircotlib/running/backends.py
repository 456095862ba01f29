"""Opens the backends that the parameters name; generators and readers load at the first request."""

from functools import cache

from ircotlib.files.paths import DATA
from ircotlib.generation.budget import find_price
from ircotlib.parameters import SIMULATED, Parameters
from ircotlib.running.laboratory import open_simulated_extractor, open_simulated_reader


def open_model(p: Parameters) -> object:
    """The model that the parameters name, on this machine or behind a server. It is opened once per
    process, so that the whole process shares one budget.
    """
    if p.model == SIMULATED:
        return open_simulated_reader(p)
    if not p.server:
        return _model(p.model, p.dtype, p.thinking_tokens)
    prices = None if p.prices is None else tuple(p.prices)
    limits = {name: getattr(p, name) for name in ("timeout", "max_cost", "max_requests")}
    how = {"chat": p.chat, "in_flight": p.in_flight, "thinking_tokens": p.thinking_tokens}
    how |= {"folder": DATA / "batches" if p.batch else None}
    return _served(p.model, p.server, prices, **limits, **how)


@cache
def _model(name: str, dtype: str, thinking_tokens: int) -> object:
    from ircotlib.generation.local import LocalModel

    return LocalModel(name, dtype=dtype, thinking_tokens=thinking_tokens)


@cache
def _served(name, server, prices, timeout, max_cost, max_requests, **how) -> object:
    from ircotlib.generation.server import Budget, Patience, ServerModel

    budget = Budget(find_price(name, prices), max_cost, max_requests)
    return ServerModel(name, server, patience=Patience(timeout), budget=budget, **how)


def open_reading(p: Parameters, dataset: str) -> tuple[object, object]:
    """The model that extracts answers, None if none is named, and the one that detects duplicate
    queries. Neither is loaded or downloaded before its first request.
    """
    from ircotlib.extraction.duplicates import open_duplicates

    if p.extractor == SIMULATED:
        return open_simulated_extractor(p, dataset), open_duplicates(p.duplicates)
    return _extractor(p.extractor) if p.extractor else None, open_duplicates(p.duplicates)


@cache
def _extractor(name: str) -> object:
    from ircotlib.extraction.extractor import Extractor

    return Extractor(name)
