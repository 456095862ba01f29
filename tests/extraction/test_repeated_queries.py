"""The detection of duplicate queries, with a real cross-encoder, small and untrained."""

import pytest
from asking import ask_one
from tiny import save_cross_encoder

from ircotlib.extraction.repeated_queries import open_duplicates
from ircotlib.program import Duplicate, key


def score(backend, query: str, *earlier: str) -> float:
    return backend.decode(ask_one(backend, Duplicate(query, earlier)))


def test_equal_texts_are_duplicates():
    texts = open_duplicates()
    assert score(texts, "Who directed the Ring?", "x", "who directed Ring") == 1.0
    assert score(texts, "Who directed Ring?", "Who directed Rung?", "Who wrote Ring?") == 0.0
    assert score(texts, "Who directed Ring?") == 0.0
    requests = [Duplicate("a", ()), Duplicate("a", ("b",)), Duplicate("b", ("a",))]
    assert len({key(request, "texts") for request in requests}) == 3


def test_a_cross_encoder_of_several_scores_is_refused(tmp_path):
    pytest.importorskip("sentence_transformers", reason="needs the extra [dense]")
    single, several = (open_duplicates(save_cross_encoder(tmp_path / str(n), n)) for n in (1, 3))
    with pytest.raises(ValueError, match="3 scores per pair"):
        score(several, "a", "b")
    assert single.fingerprint != several.fingerprint
    with pytest.raises(FileNotFoundError, match="/nowhere/pairs"):
        open_duplicates("/nowhere/pairs")
