"""Dense, late-interaction and hybrid retrieval: real models with random weights."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from string import ascii_lowercase

import numpy as np
import pytest
from asking import ask, ask_one
from corpora import WORDS, random_paragraphs, random_text

from ircotlib import files
from ircotlib.data import Paragraph
from ircotlib.datasets import find_dataset
from ircotlib.experiment.setup import Setup
from ircotlib.parameters import read_parameters
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval import dense as module
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import write_corpus
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


def write_bert(folder: Path, seed: int = 0) -> Path:
    """Write a BERT with random weights whose tokens are letters."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(seed)
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *ascii_lowercase]
    vocabulary += [f"##{letter}" for letter in ascii_lowercase]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    shape |= {
        "intermediate_size": 32,
        "max_position_embeddings": 96,
        "initializer_range": 0.5,
    }
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    BertModel(BertConfig(vocab_size=len(vocabulary), **shape)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    """Folders of real models with random weights, one of each kind."""
    import torch
    from sentence_transformers import MultiVectorEncoder, SentenceTransformer

    folder = tmp_path_factory.mktemp("models")
    bert = str(write_bert(folder / "bert"))
    torch.manual_seed(1)
    SentenceTransformer(bert).save(str(folder / "dense"))
    MultiVectorEncoder(bert).save(str(folder / "colbert"))
    return {kind: folder / kind for kind in ("dense", "colbert")} | {
        "hybrid": folder / "dense"
    }


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), make_paragraphs(COUNT))


@pytest.fixture(scope="module")
def backends(models, corpus, tmp_path_factory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("vectors") / "index"
    opened = {
        kind: open_dense(corpus, folder, f"{kind}:{models[kind]}") for kind in KINDS
    }
    return opened | {"embedded": BM25(corpus, folder)}


def hits(backend, *request, **setting) -> list[tuple[int, float]]:
    return [
        tuple(hit)
        for hit in json.loads(ask_one(backend, Retrieve(*request, **setting)))
    ]


def near(found: list, expected: list) -> bool:
    """Whether the hits are the same; scores may differ in the last decimal, by
    rounding.
    """
    same = [position for position, _ in found] == [position for position, _ in expected]
    return same and np.allclose(
        [s for _, s in found], [s for _, s in expected], atol=3e-5
    )


@pytest.mark.parametrize("kind", ["dense", "colbert"])
def test_hits_and_scores_are_those_of_a_brute_force(
    models, backends, kind, monkeypatch
):
    """The sum over the query's vectors of the best score of any of the paragraph's."""
    monkeypatch.setattr(module, "ROWS", 100)  # several blocks; some have one paragraph
    model = Encoder(str(models[kind]), late=kind == "colbert")
    texts = [
        f"{paragraph.title}. {paragraph.text}" for paragraph in backends[kind].corpus
    ]
    slack = 0.002 if kind == "dense" else 0.02  # float16
    for query in ("bano coru", "dulo", "who? fagi gano hulo"):
        [tokens] = model.embed([query])
        rows = model.embed(texts, "document")
        expected = {
            n: (tokens @ each.T).max(axis=1).sum() for n, each in enumerate(rows)
        }
        ranked = hits(backends[kind], query, COUNT)
        assert dict(ranked) == pytest.approx(expected, abs=slack)
        assert ranked == sorted(ranked, key=lambda hit: (-hit[1], hit[0]))
        assert hits(backends[kind], query, 9) == ranked[:9]


def test_programs_are_given_the_vectors_of_a_model_that_has_one_per_text(backends):
    texts = ["bano coru", "dulo", "bano coru"]
    setup = Setup(read_parameters("mini"), find_dataset("musique"), "try")
    for kind in ("dense", "hybrid"):
        vectors = replace(setup, retriever=backends[kind]).ambient["embed"](texts)
        assert vectors.shape == (3, 32) and np.allclose(
            vectors[0], vectors[2], atol=1e-6
        )
        assert float(vectors[0] @ vectors[1]) < 0.999
    for kind in ("colbert", "embedded"):
        assert "embed" not in replace(setup, retriever=backends[kind]).ambient


@pytest.mark.parametrize("kind", KINDS)
def test_many_requests_at_once_get_the_replies_of_one_at_a_time(backends, kind):
    chance, backend = Random(5), backends[kind]
    requests = [
        Retrieve(random_text(chance, 6), chance.randint(1, 8)) for _ in range(40)
    ]
    requests += [
        Retrieve("bano", 3, ("bano",)),
        requests[0],
        Retrieve("bano", 3, None, True),
    ]
    together, alone = (
        ask(backend, requests),
        [ask_one(backend, one) for one in requests],
    )
    assert all(
        near(json.loads(one), json.loads(other)) for one, other in zip(together, alone)
    )
    assert (
        together[0] == together[41] and backend.decode(together[0])[0] in backend.corpus
    )
    titles = [NearestTitle("Coru", 3), NearestTitle("bano")]
    assert ask(backend, titles) == ask(backends["embedded"], titles)


@pytest.mark.parametrize("kind", ["embedded", "dense", "colbert"])
def test_titles_limit_and_repeats_are_left_out_alike(backends, corpus, kind):
    """Every retriever ranks as in the whole ranking without the paragraphs that are
    left out.
    """
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
            assert near(
                hits(backend, query, k, distinct=True), [*different.values()][:k]
            )
    assert (
        hits(backend, query, 4, ("No such title",)) == hits(backend, query, 4, ()) == []
    )


@pytest.mark.parametrize(
    "setting", [{}, {"distinct": True}, {"titles": tuple(WORDS[:9])}]
)
def test_hybrid_is_the_sum_of_reciprocal_ranks(backends, corpus, setting):
    for query in ("bano coru", "dulo fagi gano", "unheardof"):
        scores, first = {}, {}
        for kind in ("embedded", "dense"):
            for rank, (position, _) in enumerate(
                hits(backends[kind], query, 60, **setting), 1
            ):
                scores[position] = scores.get(position, 0) + 1 / (60 + rank)
        order = sorted(scores, key=lambda position: (-scores[position], position))
        if setting.get("distinct"):
            for position in order:
                first.setdefault(corpus[position].text.lower(), position)
            order = list(first.values())
        expected = [(position, round(scores[position], 5)) for position in order[:10]]
        assert (
            hits(backends["hybrid"], query, 10, **setting) == expected
            and len(expected) > 3
        )


def test_vectors_are_made_once_and_whole(models, backends, tmp_path, monkeypatch):
    name, corpus = (
        f"dense:{models['dense']}",
        write_corpus(tmp_path / "c", make_paragraphs(240)),
    )
    with (
        monkeypatch.context() as patch,
        pytest.raises(ValueError, match="no vector of a text"),
    ):
        patch.setattr(
            Encoder, "embed", lambda self, texts, kind: [np.zeros((0, 4))] * len(texts)
        )
        open_dense(corpus, tmp_path / "index", name)
    assert not list(tmp_path.glob("*/starts.npy"))
    embedded, write = [], module.writing
    monkeypatch.setattr(module, "writing", lambda *of: embedded.append(1) or write(*of))
    with ThreadPoolExecutor(3) as pool:
        jobs = [
            pool.submit(open_dense, corpus, tmp_path / "index", name) for _ in range(3)
        ]
        found = [job.result() for job in jobs]
    assert embedded == [1] and len({one.fingerprint for one in found}) == 1
    prints = {each.fingerprint for each in backends.values()}
    assert found[0].fingerprint not in prints and len(prints) == 4
    fresh = open_dense(corpus, tmp_path / "fresh", name)
    assert near(hits(found[0], "bano", 300), hits(fresh, "bano", 300))


def test_an_unusable_model_is_an_error_of_one_line(
    models, corpus, tmp_path, monkeypatch
):
    def complaint(retriever: str) -> str:
        with pytest.raises((ValueError, OSError)) as error:
            open_dense(corpus, tmp_path / "index", retriever)
        assert "\n" not in str(error.value)
        return str(error.value)

    assert "expected one vector per token" in complaint(f"colbert:{models['dense']}")
    assert "expected one vector per text" in complaint(f"dense:{models['colbert']}")
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    assert complaint("dense:any").endswith('pip install "ircotlib[dense]"')
