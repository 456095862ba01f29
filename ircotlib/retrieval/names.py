"""The names of retrievers, as written in the parameters (docs/retrievers.md)."""

import re
from pathlib import PurePath

from ircotlib.files.urls import read_urls

VECTORS = ("dense", "colbert", "hybrid")  # before ":MODEL"
MODEL = re.compile(rf"({'|'.join(VECTORS)}):\S.*")
ELASTICSEARCH = "ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD"


def check_retriever(name: str) -> str:
    """The name of a retriever, with server addresses in standard form. Raises ValueError, which
    never shows a password, for any other text.
    """
    if name == "embedded" or MODEL.fullmatch(name):
        return name
    if name.startswith(("http:", "https:")):
        return ",".join(read_urls(name, "http://host:9200", ELASTICSEARCH, port=True))
    raise ValueError(
        'expected "embedded" or the address of an Elasticsearch, http://host:9200, or a model as'
        " in dense:FOLDER, colbert:FOLDER or hybrid:FOLDER"
    )


def retriever_name(retriever: str) -> str:
    """The name of a retriever in figures, without the location of its model or server."""
    kind, _, model = retriever.partition(":")
    if kind in VECTORS:
        return f"{kind}: {PurePath(model).name}"
    return "BM25" if retriever == "embedded" else "BM25, Elasticsearch"
