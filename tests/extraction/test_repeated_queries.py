"""The detection of duplicate queries, with a real cross-encoder, small and untrained."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from asking import ask, ask_one
from tiny import bert_vocabulary

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


def save(folder, scores: int):
    """Save a small untrained cross-encoder, in the layout that sentence-transformers loads."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    words = bert_vocabulary()
    torch.manual_seed(0)
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    shape |= {"vocab_size": len(words), "hidden_size": 32, "initializer_range": 0.3}
    config = BertConfig(num_labels=scores, **shape)
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizer(vocab={w: n for n, w in enumerate(words)}).save_pretrained(folder)
    return folder


def test_a_cross_encoder_gives_the_highest_score_of_the_pairs(tmp_path):
    library = pytest.importorskip("sentence_transformers", reason="needs the extra [dense]")
    save(tmp_path, 1)
    pairs, plain = open_duplicates(tmp_path), library.CrossEncoder(str(tmp_path))
    earlier = ("who opened it", "when did the park open", "it lies near brussels")
    each = plain.predict([(query, "who opened the park") for query in earlier]).tolist()
    assert len(set(np.round(each, 3))) == 3 and 0 < min(each) < max(each) < 1
    assert score(pairs, "who opened the park", *earlier) == pytest.approx(max(each), abs=1e-3)
    requests = [Duplicate("who opened the park", earlier[:n]) for n in (0, 1, 3, 2)]
    scores = [pairs.decode(reply) for reply in ask(pairs, requests)]
    assert scores == pytest.approx([0.0, each[0], max(each), max(each[:2])], abs=1e-3)


def test_a_cross_encoder_of_several_scores_is_refused(tmp_path):
    pytest.importorskip("sentence_transformers", reason="needs the extra [dense]")
    single, several = (open_duplicates(save(tmp_path / str(n), n)) for n in (1, 3))
    with pytest.raises(ValueError, match="3 scores per pair"):
        score(several, "a", "b")
    assert single.fingerprint != several.fingerprint
    with pytest.raises(FileNotFoundError, match="/nowhere/pairs"):
        open_duplicates("/nowhere/pairs")
