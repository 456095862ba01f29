"""A retriever that misses paragraphs and finds irrelevant ones."""

import json

import numpy as np
import pytest
from corpora import random_paragraphs
from ircotlib.results.abilities.flawed_retriever import FlawedRetriever

from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus


@pytest.fixture(scope="module")
def bm25(tmp_path_factory):
    folder = tmp_path_factory.mktemp("retriever")
    return open_index(write_corpus(folder / "corpus", random_paragraphs(300)), folder / "index")


def positions(backend, request):
    [(_, reply)] = backend.answer([request])
    return [position for position, _ in json.loads(reply)]


def test_a_flawed_retriever(bm25):
    requests = [Retrieve(p.text[:40], 10) for p in random_paragraphs(300)]
    whole = [positions(bm25, r) for r in requests]
    assert [positions(FlawedRetriever(bm25), r) for r in requests] == whole
    missing = FlawedRetriever(bm25, misses=1.0)
    assert all(positions(missing, r)[:9] == best[1:] for r, best in zip(requests, whole))
    # more misses are the same ones and others
    rare, often = FlawedRetriever(bm25, misses=0.2), FlawedRetriever(bm25, misses=0.6)
    missed = [
        {n for n, r in enumerate(requests) if positions(backend, r)[0] != whole[n][0]}
        for backend in (rare, often)
    ]
    assert missed[0] < missed[1] and 40 < len(missed[0]) < 80 and 150 < len(missed[1]) < 210
    diluted = FlawedRetriever(bm25, distractors=0.5)
    kept = [[x for x in positions(diluted, r) if x in best] for r, best in zip(requests, whole)]
    assert all(len(k) < 10 for k in kept) and 4 < np.mean([len(k) for k in kept]) < 6.5
    # the best k are the first of more, as `depth` says
    few = [positions(diluted, Retrieve(r.query, 4)) for r in requests]
    assert few == [positions(diluted, r)[:4] for r in requests]
    assert len({bm25.fingerprint, rare.fingerprint, often.fingerprint, diluted.fingerprint}) == 4
    titled = Retrieve(requests[0].query, 3, titles=(random_paragraphs(300)[5].title,))
    for request in (titled, NearestTitle("boru", 3)):
        assert list(diluted.answer([request])) == list(bm25.answer([request]))
