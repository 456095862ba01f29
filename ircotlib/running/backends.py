"""Opens the backends that the parameters name; generators and readers load at the first request."""

from functools import cache

from ircotlib.generation.budget import find_price
from ircotlib.parameters import Parameters


def open_model(p: Parameters) -> object:
    """The model that the parameters name, on this machine or behind a server. It is opened once per
    process, so that the whole process shares one budget.
    """
    if not p.server:
        return _model(p.model, p.dtype)
    prices = None if p.prices is None else tuple(p.prices)
    how = {name: getattr(p, name) for name in ("timeout", "max_cost", "max_requests")}
    return _served(p.model, p.server, p.chat, p.in_flight, prices, **how)


@cache
def _model(name: str, dtype: str) -> object:
    from ircotlib.generation.local import LocalModel

    return LocalModel(name, dtype=dtype)


@cache
def _served(name, server, chat, in_flight, prices, timeout, max_cost, max_requests) -> object:
    from ircotlib.generation.server import Budget, Patience, ServerModel

    budget, patience = Budget(find_price(name, prices), max_cost, max_requests), Patience(timeout)
    how = {"chat": chat, "in_flight": in_flight, "patience": patience, "budget": budget}
    return ServerModel(name, server, **how)


@cache
def open_reading(extractor: str, duplicates: str) -> tuple[object, object]:
    """The model that extracts answers, None if none is named, and the one that detects duplicate
    queries. Neither is loaded or downloaded before its first request.
    """
    from ircotlib.extraction.duplicates import open_duplicates
    from ircotlib.extraction.extractor import Extractor

    return Extractor(extractor) if extractor else None, open_duplicates(duplicates)
