"""The names of retrievers, as the parameters have them (docs/retrievers.md)."""

import re
from pathlib import PurePath

VECTORS = ("dense", "colbert", "hybrid")  # before ":MODEL"
RETRIEVER = re.compile(rf"embedded|({'|'.join(VECTORS)}):\S.*|https?://\S+")


def check_retriever(name: str) -> str:
    """The name, if it is one of a retriever; ValueError, without what may be a password, if not."""
    if "@" in name and name.partition(":")[0] not in VECTORS:
        raise ValueError(
            "expected an address without user and password, for notebooks keep their parameters; "
            "set ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD"
        )
    if not RETRIEVER.fullmatch(name):
        raise ValueError(
            'expected "embedded" or the address of an Elasticsearch, http://host:9200, or a model '
            "as in dense:FOLDER, colbert:FOLDER or hybrid:FOLDER"
        )
    return name


def retriever_name(retriever: str) -> str:
    """A retriever as figures name it, without the place where its model or server is."""
    kind, _, model = retriever.partition(":")
    if kind in VECTORS:
        return f"{kind}: {PurePath(model).name}"
    return "BM25" if retriever == "embedded" else "BM25, Elasticsearch"
