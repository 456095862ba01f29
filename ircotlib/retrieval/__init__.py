"""Retrieval: stores the paragraphs of a corpus and finds the best ones for a query, with BM25 in
this process or on Elasticsearch, or with vectors. Each kind has a record below, which says how the
parameters name it (docs/retrievers.md); to add one, add a record with a function that opens it,
here or in a plug-in.

Imports: data, errors, files, program.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from ircotlib.errors import UserError
from ircotlib.files.old import read_urls
from ircotlib.files.paths import resolve
from ircotlib.files.plugins import import_plugins
from ircotlib.files.progress import track

EXAMPLE = "http://host:9200"
CREDENTIALS = "ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD"


@dataclass(frozen=True)
class Retriever:
    """All that the workbench needs to know about a kind of retriever.

    `pattern`: of the texts that name it in the parameters. `example`: one of them. `title`: its
    name in figures, before that of its model. `open`: see open_retriever. `takes`: what the text
    holds besides the kind: "model", after a colon, or "addresses". `module`: a package that it
    needs beyond those of the core, and `extra`: what installs that.
    """

    pattern: str
    example: str
    title: str
    open: Callable
    takes: str = ""
    module: str = ""
    extra: str = ""


def find_retriever(text: str) -> Retriever:
    """The record of the retriever that a text names. ValueError repeats no text: passwords."""
    plugged = [getattr(module, "RETRIEVERS", ()) for module in import_plugins("retrievers")]
    retrievers = [retriever for several in (RETRIEVERS, *plugged) for retriever in several]
    for retriever in retrievers:
        if re.fullmatch(retriever.pattern, text):
            return retriever
    examples = ", ".join(retriever.example for retriever in retrievers)
    raise UserError(f"expected one of {examples}")


def check_retriever(text: str) -> str:
    """The text that names a retriever, with addresses in standard form. Raises UserError."""
    if find_retriever(text).takes == "addresses":
        return ",".join(read_urls(text, EXAMPLE, CREDENTIALS, port=True))
    return text


def model_of(text: str) -> str:
    """The model of the retriever that a text names; "" if it has none."""
    return text.partition(":")[2] if find_retriever(text).takes == "model" else ""


def retriever_name(text: str) -> str:
    """The name of a retriever in figures, without the location of its model or server."""
    model = PurePath(model_of(text)).name
    return ": ".join(filter(None, (find_retriever(text).title, model)))


def open_retriever(corpus, folder: Path, text: str = "embedded") -> object:
    """Open the retriever that a text names; a missing index is made in `folder` or on a server."""
    return find_retriever(text).open(corpus, folder, text)


def _open_embedded(corpus, folder: Path, text: str) -> object:
    from ircotlib.retrieval.bm25 import open_index

    return open_index(corpus, folder, partial(track, label=f"index of {folder.name}"))


def _open_vectors(corpus, folder: Path, text: str) -> object:
    from ircotlib.retrieval.dense import open_dense

    words = _open_embedded(corpus, folder, text)
    kind, _, model = text.partition(":")
    bar = partial(track, label=f"vectors of {folder.name}")
    return open_dense(words, f"{kind}:{resolve(model)}", folder, bar)


def _open_server(corpus, folder: Path, text: str) -> object:
    from ircotlib.retrieval.elastic_load import index_name, open_elasticsearch

    bar = partial(track, label=f"index of {folder.name}")
    nodes = len(text.split(","))
    shards = {"shards": nodes, "replicas": min(1, nodes - 1)}  # any one node may be lost
    return open_elasticsearch(corpus, text, index_name(folder.name), bar, **shards)


_VECTORS = _open_vectors, "model", "sentence_transformers", "dense"
_SERVER = _open_server, "addresses", "elasticsearch", "elasticsearch"
RETRIEVERS = (
    Retriever("embedded", "embedded", "BM25", _open_embedded),
    Retriever(r"dense:\S.*", "dense:FOLDER", "dense", *_VECTORS),
    Retriever(r"colbert:\S.*", "colbert:FOLDER", "colbert", *_VECTORS),
    Retriever(r"hybrid:\S.*", "hybrid:FOLDER", "hybrid", *_VECTORS),
    Retriever("https?:.*", EXAMPLE, "BM25, Elasticsearch", *_SERVER),
)
