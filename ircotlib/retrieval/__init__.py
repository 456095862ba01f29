"""Retrieval: stores the paragraphs of a corpus and finds the best ones for a query. To
add a kind, add a record to RETRIEVERS, here or in a plug-in.
"""

import re
from collections.abc import Callable
from pathlib import Path, PurePath
from pkgutil import resolve_name
from typing import NamedTuple

from ircotlib.errors import UserError
from ircotlib.keys import ADDRESS
from ircotlib.plugins import import_plugins
from ircotlib.retrieval.ranking import Ranked


class Retriever(NamedTuple):
    """A kind of retriever. `pattern`: matches the texts that name it; a group in it is
    the model. `example`: such a text. `open`: called with a corpus, a folder for its
    index, and the text.
    """

    pattern: str
    example: str
    title: str
    open: Callable | str


RETRIEVERS = (
    Retriever("embedded", "embedded", "BM25", "bm25:BM25"),
    Retriever(r"dense:(\S.*)", "dense:FOLDER", "dense", "dense:open_dense"),
    Retriever(r"colbert:(\S.*)", "colbert:FOLDER", "colbert", "dense:open_dense"),
    Retriever(r"hybrid:(\S.*)", "hybrid:FOLDER", "hybrid", "dense:open_dense"),
    Retriever(
        ADDRESS, "http://host:9200", "BM25, Elasticsearch", "elastic:Elasticsearch"
    ),
)


def find_retriever(text: str) -> Retriever:
    """The kind of retriever that a text names. Errors hide it: it may hold a password."""
    plugged = [
        getattr(module, "RETRIEVERS", ()) for module in import_plugins("retrievers")
    ]
    known = [retriever for several in (RETRIEVERS, *plugged) for retriever in several]
    for retriever in known:
        if re.fullmatch(retriever.pattern, text):
            return retriever
    examples = ", ".join(retriever.example for retriever in known)
    raise UserError(
        f"unknown retriever, expected one of {examples}, without user and password"
    )


def check_retriever(text: str) -> str:
    """The text, if it names a retriever."""
    return find_retriever(text) and text


def retriever_name(text: str) -> str:
    """The name of a retriever in figures, without the location of its model or server."""
    retriever = find_retriever(text)
    model = "".join(re.fullmatch(retriever.pattern, text).groups(""))
    return ": ".join(filter(None, (retriever.title, PurePath(model).name)))


def stand_in(corpus, folder: Path, text: str, fingerprint: str) -> object:
    """What a replay has in place of the retriever that a text names: it decodes the
    replies of that with this fingerprint, and no index or server is opened. A plug-in's
    decodes its own replies.
    """
    if find_retriever(text) not in RETRIEVERS:
        return open_retriever(corpus, folder, text)
    retriever = Ranked()
    retriever.corpus, retriever.fingerprint = corpus, fingerprint
    # programs may embed questions to choose examples
    if text.startswith(("dense:", "hybrid:")):
        retriever.embed = lambda texts: open_retriever(corpus, folder, text).embed(
            texts
        )
    return retriever


def open_retriever(corpus, folder: Path, text: str) -> object:
    """Open the retriever that a text names; a missing index is made first."""
    opened_by = find_retriever(text).open
    if isinstance(opened_by, str):
        opened_by = resolve_name(f"{__name__}.{opened_by}")
    return opened_by(corpus, folder, text)
