"""How the parameters name a retriever, and the retriever that each name opens."""

import pytest

from ircotlib.retrieval import (
    RETRIEVERS,
    check_retriever,
    find_retriever,
    retriever_name,
)


@pytest.mark.parametrize("retriever", RETRIEVERS, ids=[r.title for r in RETRIEVERS])
def test_an_example_names_its_retriever(retriever):
    assert find_retriever(retriever.example) is retriever
    assert check_retriever(retriever.example) == retriever.example


def test_names_in_figures_are_without_places():
    texts = ["embedded", "dense:/a/b/MiniLM", "hybrid:org/model", "https://b:9200"]
    names = ["BM25", "dense: MiniLM", "hybrid: model", "BM25, Elasticsearch"]
    assert list(map(retriever_name, texts)) == names


WRONG = [
    "",
    "es",
    "dense:",
    "dense: x",
    "embedded ",
    "ftp://host:1",
    "http://me:secret@host:1",
]


@pytest.mark.parametrize("text", [*WRONG, "http://a:1,http://b:1"])
def test_another_text_is_refused_without_repeating_it(text):
    with pytest.raises(
        ValueError, match="expected one of embedded, dense:FOLDER, "
    ) as error:
        find_retriever(text)
    assert "secret" not in str(error.value)
