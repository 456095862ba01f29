"""How the parameters name a retriever, and the retriever that each name opens."""

import pytest

from ircotlib.retrieval import RETRIEVERS, find_retriever, retriever_name


def test_a_text_names_a_retriever_and_figures_leave_out_its_place():
    for retriever in RETRIEVERS:
        assert find_retriever(retriever.example) is retriever
    texts = ["embedded", "dense:/a/b/MiniLM", "hybrid:org/model", "https://b:9200"]
    names = ["BM25", "dense: MiniLM", "hybrid: model", "BM25, Elasticsearch"]
    assert list(map(retriever_name, texts)) == names


PLACES = ("ftp://host:1", "http://me:secret@host:1", "http://a:1,http://b:1")


@pytest.mark.parametrize("text", ["", "es", "dense:", "dense: x", "embedded ", *PLACES])
def test_another_text_is_refused_without_repeating_it(text):
    expected = "expected one of embedded, dense:FOLDER, "
    with pytest.raises(ValueError, match=expected) as error:
        find_retriever(text)
    assert "secret" not in str(error.value)
