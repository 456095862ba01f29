"""Opens the backends that the parameters name; generators and readers load at the first request."""

import hashlib
import re
from functools import cache, partial
from pathlib import Path

from ircotlib.files.paths import resolve
from ircotlib.files.progress import track
from ircotlib.generation.budget import find_price
from ircotlib.parameters import Parameters
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.names import VECTORS


def open_retriever(corpus, folder: Path, retriever: str = "embedded") -> object:
    """Open the index of a corpus, which is built in `folder` if it is not there.

    `retriever`: "embedded" for BM25 in this process; "dense:MODEL", "colbert:MODEL" or
    "hybrid:MODEL" for vectors; or the address of an Elasticsearch, for a cluster several addresses
    with commas between them: its index then has as many shards as there are addresses, each with
    one replica. Credentials come from the environment (elastic_client.connect).
    """
    name, progress = folder.name, partial(track, label=f"index of {folder.name}")
    kind, _, model = retriever.partition(":")
    if retriever == "embedded":
        return open_index(corpus, folder, progress)
    if kind in VECTORS:
        from ircotlib.retrieval.dense import open_dense

        words = open_index(corpus, folder, progress)
        progress = partial(track, label=f"vectors of {name}", every=100)
        return open_dense(words, f"{kind}:{resolve(model)}", folder, progress)
    from ircotlib.retrieval.elastic_load import open_elasticsearch  # needs an extra

    nodes = len(retriever.split(","))
    shards = {"shards": nodes, "replicas": min(1, nodes - 1)}
    return open_elasticsearch(corpus, retriever, index_name(name), progress, **shards)


def index_name(folder: str) -> str:
    """The name of a folder's index on an Elasticsearch, valid and different for each folder.

    Names of lower-case letters, digits, "-", "_" and "." are kept; all others, and names of more
    than 100 characters, get a hash at the end.
    """
    safe = re.sub(r"[^a-z0-9_.-]+", "-", folder.lower())
    if safe == folder and len(folder) <= 100:
        return f"ircot-{folder}"
    digest = hashlib.blake2b(folder.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    return f"ircot-{safe[:100]}-{digest}"


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
