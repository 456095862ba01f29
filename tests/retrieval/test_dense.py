"""Dense, late-interaction and hybrid retrieval: real models with random weights."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from random import Random

import numpy as np
import pytest
from asking import ask, ask_one
from corpora import WORDS, random_paragraphs, random_text, write_in

from ircotlib import files
from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval import dense as module
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.dense import Encoder, open_dense

if not find_spec("sentence_transformers"):
    pytest.skip("needs the extra: pip install -e '.[dense]'", allow_module_level=True)
COUNT = 120
KINDS = ("dense", "colbert", "hybrid")


def make_paragraphs(count: int) -> list[Paragraph]:
    """Random paragraphs; every seventh has the text of another one in another case."""
    paragraphs = random_paragraphs(count, 12)
    for number in range(3, count, 7):
        text = paragraphs[number - 2].text.title()
        paragraphs[number] = replace(paragraphs[number], text=text)
    return paragraphs


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    """Folders of real models with random weights, one of each kind."""
    import torch
    from sentence_transformers import MultiVectorEncoder, SentenceTransformer
    from tiny import save_bert

    folder = tmp_path_factory.mktemp("models")
    bert = str(save_bert(folder / "bert"))
    torch.manual_seed(1)
    SentenceTransformer(bert).save(str(folder / "dense"))
    MultiVectorEncoder(bert).save(str(folder / "colbert"))
    dense, late = folder / "dense", folder / "colbert"
    return {"dense": dense, "colbert": late, "hybrid": dense}


@pytest.fixture(scope="module")
def backends(models, tmp_path_factory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("vectors")
    corpus, index = write_in(folder, make_paragraphs(COUNT)), folder / "index"
    opened = {
        kind: open_dense(corpus, index, f"{kind}:{models[kind]}") for kind in KINDS
    }
    return opened | {"embedded": BM25(corpus, index)}


@pytest.fixture
def corpus(backends):
    return backends["dense"].corpus


def hits(backend, *request, **setting) -> list[tuple[int, float]]:
    reply = ask_one(backend, Retrieve(*request, **setting))
    return list(map(tuple, json.loads(reply)))


def near(hits: list, expected: list) -> bool:
    """Whether hits are the same; scores may differ in the last decimal, by rounding."""
    same = [position for position, _ in hits] == [position for position, _ in expected]
    return same and np.allclose(np.array(hits), np.array(expected), atol=3e-5)


@pytest.mark.parametrize("kind", ["dense", "colbert"])
def test_hits_and_scores_are_those_of_a_brute_force(
    models, backends, corpus, kind, monkeypatch
):
    """The sum over the query's vectors of the best score of any of the paragraph's."""
    monkeypatch.setattr(module, "ROWS", 100)  # several blocks; some have one paragraph
    model = Encoder(str(models[kind]), late=kind == "colbert")
    texts = [f"{paragraph.title}. {paragraph.text}" for paragraph in corpus]
    slack = 0.002 if kind == "dense" else 0.02  # float16
    for query in ("bano coru", "dulo", "who? fagi gano hulo"):
        [tokens] = model.embed([query])
        rows = model.embed(texts, "document")
        best = [(tokens @ each.T).max(axis=1) for each in rows]
        expected = {n: each.sum() for n, each in enumerate(best)}
        ranked = hits(backends[kind], query, COUNT)
        assert dict(ranked) == pytest.approx(expected, abs=slack)
        assert ranked == sorted(ranked, key=lambda hit: (-hit[1], hit[0]))
        assert hits(backends[kind], query, 9) == ranked[:9]


@pytest.mark.parametrize("kind", KINDS)
def test_many_requests_at_once_get_the_replies_of_one_at_a_time(backends, kind):
    chance, backend = Random(5), backends[kind]
    texts = [random_text(chance, 6) for _ in range(40)]
    requests = [Retrieve(text, chance.randint(1, 8)) for text in texts]
    requests += [requests[0], Retrieve("bano", 3, ("bano",))]
    requests += [Retrieve("bano", 3, None, True)]
    replies = ask(backend, requests)
    for request, reply in zip(requests, replies, strict=True):
        assert near(json.loads(reply), json.loads(ask_one(backend, request)))
    assert replies[0] == replies[40]
    assert backend.decode(replies[0])[0] in backend.corpus
    titles = [NearestTitle("Coru", 3), NearestTitle("bano")]
    assert ask(backend, titles) == ask(backends["embedded"], titles)


@pytest.mark.parametrize("kind", ["embedded", "dense", "colbert"])
def test_titles_limit_and_repeats_are_left_out_alike(backends, corpus, kind):
    """As in the whole ranking without the paragraphs that are left out."""
    backend = backends[kind]
    titles = tuple({paragraph.title for paragraph in [*corpus][:4]})
    for query in ("bano coru dulo fagi", "gano hulo kagi joru"):
        ranking = hits(backend, query, COUNT)
        within = [hit for hit in ranking if corpus[hit[0]].title in titles]
        assert within and near(hits(backend, query, 6, titles), within[:6])
        different = {}
        for hit in ranking:
            different.setdefault(corpus[hit[0]].text.lower(), hit)
        assert len(different) < len(ranking)
        for k in (5, len(different)):
            best = hits(backend, query, k, distinct=True)
            assert near(best, [*different.values()][:k])
    for none in ((), ("No such title",)):
        assert hits(backend, query, 4, none) == []


SETTINGS = [{}, {"distinct": True}, {"titles": tuple(WORDS[:9])}]


@pytest.mark.parametrize("setting", SETTINGS)
def test_hybrid_is_the_sum_of_reciprocal_ranks(backends, corpus, setting):
    for query in ("bano coru", "dulo fagi gano", "unheardof"):
        scores, first = Counter(), {}
        for kind in ("embedded", "dense"):
            ranking = hits(backends[kind], query, 60, **setting)
            for rank, (position, _) in enumerate(ranking, start=1):
                scores[position] += 1 / (60 + rank)
        for position in sorted(
            scores, key=lambda position: (-scores[position], position)
        ):
            text = corpus[position].text.lower()
            first.setdefault(text if "distinct" in setting else position, position)
        order = list(first.values())[:10]
        expected = [(position, round(scores[position], 5)) for position in order]
        assert hits(backends["hybrid"], query, 10, **setting) == expected
        assert len(expected) > 3


def test_vectors_are_made_once_and_whole(models, backends, tmp_path, monkeypatch):
    name = f"dense:{models['dense']}"
    corpus = write_in(tmp_path, make_paragraphs(240))
    made, write = [], module._write_vectors
    monkeypatch.setattr(
        module, "_write_vectors", lambda *given: made.append(1) or write(*given)
    )
    given = corpus, tmp_path / "index", name
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(open_dense, *given) for _ in range(3)]
        prints = [job.result().fingerprint for job in jobs]
    assert made == [1] and len({*prints}) == 1
    others = {each.fingerprint for each in backends.values()}
    assert len({*prints, *others}) == 5
    again, fresh = open_dense(*given), open_dense(corpus, tmp_path / "fresh", name)
    assert near(hits(again, "bano", 300), hits(fresh, "bano", 300))


def test_an_unusable_model_is_one_line(models, corpus, tmp_path, monkeypatch):
    def complaint(retriever: str) -> str:
        with pytest.raises((ValueError, OSError)) as error:
            open_dense(corpus, tmp_path / "index", retriever)
        assert "\n" not in str(error.value)
        return str(error.value)

    assert "expected one vector per token" in complaint(f"colbert:{models['dense']}")
    assert "expected one vector per text" in complaint(f"dense:{models['colbert']}")
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    assert complaint("dense:any").endswith('pip install "ircotlib[dense]"')
