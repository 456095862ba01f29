"""The scores of a cross-encoder beside those of sentence-transformers."""

import numpy as np
import pytest
from asking import ask, ask_one
from sentence_transformers import CrossEncoder
from tiny import save_cross_encoder

from ircotlib.extraction.repeated_queries import open_duplicates
from ircotlib.program import Duplicate


def test_a_cross_encoder_gives_the_highest_score_of_the_pairs(tmp_path):
    save_cross_encoder(tmp_path, 1)
    pairs, plain = open_duplicates(tmp_path), CrossEncoder(str(tmp_path))
    earlier = ("who opened it", "when did the park open", "it lies near brussels")
    each = plain.predict([(query, "who opened the park") for query in earlier]).tolist()
    assert len(set(np.round(each, 3))) == 3 and 0 < min(each) < max(each) < 1
    assert pairs.decode(ask_one(pairs, Duplicate("who opened the park", earlier))) == pytest.approx(
        max(each), abs=1e-3
    )
    requests = [Duplicate("who opened the park", earlier[:n]) for n in (0, 1, 3, 2)]
    scores = [pairs.decode(reply) for reply in ask(pairs, requests)]
    assert scores == pytest.approx([0.0, each[0], max(each), max(each[:2])], abs=1e-3)
