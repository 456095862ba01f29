"""Retrieval: stores the paragraphs of a corpus and finds the best ones for a query. To
add a kind, add a record to RETRIEVERS, here or in a plug-in, or use `own_retriever`.
"""

import re
from collections.abc import Callable
from pathlib import Path, PurePath
from pkgutil import resolve_name
from typing import Any, NamedTuple

from ircotlib.backends import Searcher
from ircotlib.errors import UserError
from ircotlib.keys import ADDRESS
from ircotlib.plugins import declare, find_records
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.own import OwnRetriever


class Retriever(NamedTuple):
    """A kind of retriever."""

    pattern: str  # matches the texts that name it; a group in it is the model
    example: str  # of such a text
    title: str
    # called with a corpus, a folder for its index, and the text
    open: Callable[[Any, Path, str], Any] | str
    module: str = ""  # that declares it


RETRIEVERS = (
    Retriever("embedded", "embedded", "BM25", "bm25:BM25"),
    Retriever(r"dense:(\S.*)", "dense:FOLDER", "dense", "dense:open_dense"),
    Retriever(r"colbert:(\S.*)", "colbert:FOLDER", "colbert", "dense:open_dense"),
    Retriever(r"hybrid:(\S.*)", "hybrid:FOLDER", "hybrid", "dense:open_dense"),
    Retriever(
        ADDRESS, "http://host:9200", "BM25, Elasticsearch", "elastic:Elasticsearch"
    ),
)


def own_retriever(name: str) -> Callable[[type], type]:
    """Register the class below as a retriever: `retriever=name` makes one, with the
    corpus, which is a sequence of paragraphs. It needs the method `search(query, k)`
    (`OwnRetriever` says what else it may have).
    """

    def register(made: type) -> type:
        kind = Retriever(
            re.escape(name),
            example=name,
            title=name,
            open=lambda corpus, folder, text: made(corpus),
            module=made.__module__,
        )
        declare("RETRIEVERS", kind, made.__module__)
        return made

    return register


def find_retriever(text: str) -> Retriever:
    """The kind of retriever that a text names; of kinds in a notebook, the last that
    was declared. Errors hide the text: it may hold a password.
    """
    found = find_records("retrieval", "RETRIEVERS", Retriever)
    known = dict.fromkeys([*RETRIEVERS, *reversed(found)])
    for retriever in known:
        if re.fullmatch(retriever.pattern, text):
            return retriever
    examples = ", ".join(dict.fromkeys(retriever.example for retriever in known))
    raise UserError(f"unknown retriever, expected one of {examples}; no passwords")


def retriever_name(text: str) -> str:
    """The name of a retriever in figures, without where its model or server is."""
    retriever = find_retriever(text)
    match = re.fullmatch(retriever.pattern, text)
    model = PurePath("".join(match.groups("")) if match else "").name
    return f"{retriever.title}: {model}" if model else retriever.title


def open_retriever(corpus: Corpus, folder: Path, text: str) -> Searcher:
    """Open the retriever that a text names; a missing index is made first."""
    opened_by = find_retriever(text).open
    if isinstance(opened_by, str):
        opened_by = resolve_name(f"{__name__}.{opened_by}")
    retriever = opened_by(corpus, folder, text)
    if hasattr(retriever, "answer"):
        return retriever
    return OwnRetriever(retriever, corpus)
