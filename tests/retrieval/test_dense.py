"""Dense, late-interaction and hybrid retrieval: real models with random weights."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from string import ascii_lowercase

import numpy as np
import pytest
from asking import ask, ask_one
from corpora import WORDS, flip, random_paragraphs, random_text

from ircotlib.data import Paragraph
from ircotlib.datasets import find_dataset
from ircotlib.experiment.setup import Setup
from ircotlib.files import extras
from ircotlib.files.paths import ROOT
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate, NearestTitle, Retrieve
from ircotlib.retrieval import dense as module
from ircotlib.retrieval import encoder, open_retriever
from ircotlib.retrieval.approximate import build_approximate
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.retrieval.dense import Dense, open_dense
from ircotlib.retrieval.encoder import Encoder
from ircotlib.retrieval.ranking import Refused
from ircotlib.retrieval.vectors import BLOCK, open_vectors, write_vectors

if not find_spec("sentence_transformers"):
    pytest.skip("needs the extra: pip install -e '.[dense]'", allow_module_level=True)
COUNT = 120


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
    shape |= {"intermediate_size": 32, "max_position_embeddings": 96, "initializer_range": 0.5}
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
    return {kind: folder / kind for kind in ("dense", "colbert")} | {"hybrid": folder / "dense"}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    return open_index(write_corpus(folder / "corpus", make_paragraphs(COUNT)), folder / "index")


@pytest.fixture(scope="module")
def backends(models, words, tmp_path_factory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("vectors")
    return {k: open_dense(words, f"{k}:{m}", folder / "index") for k, m in models.items()}


def hits(backend, *request, **setting) -> list[tuple[int, float]]:
    return [tuple(hit) for hit in json.loads(ask_one(backend, Retrieve(*request, **setting)))]


def brute_force(backend: Dense, query: str) -> list[tuple[int, float]]:
    """All paragraphs, best first, by the sum over the query's vectors of their best score."""
    model = Encoder(str(backend._encoder.folder), backend._encoder.late)
    [tokens], scores = model.embed_queries([query]), []
    for paragraph in backend.corpus:
        [rows] = model.embed_paragraphs([paragraph])
        scores.append(sum(max(float(token @ row) for row in rows) for token in tokens))
    return sorted(enumerate(scores), key=lambda hit: -hit[1])


@pytest.mark.parametrize("kind", ["dense", "colbert"])
def test_hits_and_scores_are_those_of_a_brute_force(backends, kind, monkeypatch):
    from ircotlib.retrieval import nearest

    monkeypatch.setattr(nearest, "ROWS", 100)  # several blocks; some have one paragraph
    slack = 0.002 if kind == "dense" else 0.02  # float16
    for query in ("bano coru", "dulo", "who? fagi gano hulo"):
        ranked, expected = hits(backends[kind], query, COUNT), brute_force(backends[kind], query)
        assert dict(ranked) == pytest.approx(dict(expected), abs=slack)
        best = [score for _, score in expected]
        assert [score for _, score in ranked] == pytest.approx(best, abs=slack)
        assert hits(backends[kind], query, 9) == ranked[:9]


def test_programs_are_given_the_vectors_of_a_model_that_has_one_per_text(backends, words):
    texts = ["bano coru", "dulo", "bano coru"]
    bench = Setup(read_parameters("mini"), find_dataset("musique"), "try")
    for kind in ("dense", "hybrid"):
        vectors = replace(bench, retriever=backends[kind]).ambient["embed"](texts)
        assert vectors.shape == (3, 32) and (vectors[0] == vectors[2]).all()
        assert float(vectors[0] @ vectors[1]) < 0.999
    for retriever in (backends["colbert"], words):
        assert "embed" not in replace(bench, retriever=retriever).ambient


def test_vectors_of_the_model_are_unit_vectors_of_title_and_text(models):
    from sentence_transformers import SentenceTransformer

    model, made = SentenceTransformer(str(models["dense"])), Encoder(str(models["dense"]))
    paragraphs = [Paragraph("1", "Bano", "coru dulo"), Paragraph("2", "", "coru dulo")]
    expected = model.encode(["Bano. coru dulo", "coru dulo"])
    for one, other in zip(made.embed_paragraphs(paragraphs), expected, strict=True):
        assert one.shape == (1, 32) and one.dtype == np.float32
        np.testing.assert_allclose(one[0], other / np.linalg.norm(other), atol=1e-6)
    assert made._model.max_seq_length == 96 < encoder.TOKENS


@pytest.mark.parametrize("kind", ["dense", "colbert", "hybrid"])
def test_many_requests_at_once_get_the_replies_of_one_at_a_time(backends, kind):
    chance, backend = Random(5), backends[kind]
    requests = [Retrieve(random_text(chance, 6), chance.randint(1, 8)) for _ in range(30)]
    requests += [Retrieve("bano", 3, ("bano",)), requests[0], Retrieve("bano", 3, None, True)]
    together, alone = ask(backend, requests), [ask_one(backend, one) for one in requests]
    for request, one, other in zip(requests, together, alone, strict=True):
        one, other = json.loads(one), json.loads(other)
        assert len(one) == len(other) <= request.k
        assert [score for _, score in one] == pytest.approx([s for _, s in other], abs=3e-5)
    assert together[0] == together[31] and backend.decode(together[0])[0] in backend.corpus


@pytest.mark.parametrize("kind", ["embedded", "dense", "colbert"])
def test_titles_limit_and_repeats_are_left_out_alike(backends, words, kind):
    """Every backend ranks as in the whole ranking without the paragraphs that are left out."""
    backend = words if kind == "embedded" else backends[kind]
    titles = tuple({paragraph.title for paragraph in words.corpus.between(0, 4)})
    for query in ("bano coru dulo fagi", "gano hulo kagi joru"):
        ranking = hits(backend, query, COUNT)
        within = [hit for hit in ranking if words.corpus[hit[0]].title in titles]
        assert within and _near(hits(backend, query, 6, titles), within[:6])
        different = {}
        for hit in ranking:
            different.setdefault(words.corpus[hit[0]].text.lower(), hit)
        assert len(different) < len(ranking)
        for k in (5, len(different)):
            assert _near(hits(backend, query, k, distinct=True), [*different.values()][:k])
    assert hits(backend, query, 4, ("No such title",)) == hits(backend, query, 4, ()) == []


def _near(found: list, expected: list) -> bool:
    """Whether the hits are the same; scores may differ in the last decimal, by rounding."""
    same = [position for position, _ in found] == [position for position, _ in expected]
    return same and np.allclose([s for _, s in found], [s for _, s in expected], atol=3e-5)


def test_equal_scores_are_in_the_order_of_the_corpus(models, tmp_path):
    paragraphs = [Paragraph(str(number), "bano", "coru") for number in range(40)]
    index = open_index(write_corpus(tmp_path / "corpus", paragraphs), tmp_path / "index")
    backend = open_dense(index, f"dense:{models['dense']}", tmp_path / "index")
    assert [position for position, _ in hits(backend, "dulo", 7)] == list(range(7))


@pytest.mark.parametrize("kind", ["dense", "colbert", "hybrid"])
def test_what_has_no_answer_is_refused_alone_and_titles_are_those_of_bm25(backends, words, kind):
    backend = backends[kind]
    refused, reply = ask(backend, [Retrieve("bano", 0), Retrieve("bano", 2)])
    assert isinstance(refused, Refused) and len(json.loads(reply)) == 2
    with pytest.raises(Refused):
        backend.search("bano", 0)
    assert [p for p, _ in backend.search("bano", 2)] == list(backend.decode(reply))
    titles = [NearestTitle("Coru", 3), NearestTitle("bano")]
    assert ask(backend, titles) == ask(words, titles)
    with pytest.raises(TypeError):
        ask_one(backend, Generate("?"))


@pytest.mark.parametrize("setting", [{}, {"distinct": True}, {"titles": tuple(WORDS[:9])}])
def test_hybrid_is_the_sum_of_reciprocal_ranks(backends, words, setting):
    for query in ("bano coru", "dulo fagi gano", "unheardof"):
        scores, first = {}, {}
        for backend in (words, backends["dense"]):
            for rank, (position, _) in enumerate(hits(backend, query, 60, **setting), start=1):
                scores[position] = scores.get(position, 0) + 1 / (60 + rank)
        order = sorted(scores, key=lambda position: (-scores[position], position))
        if setting.get("distinct"):
            for position in order:
                first.setdefault(words.corpus[position].text.lower(), position)
            order = list(first.values())
        expected = [(position, round(scores[position], 5)) for position in order[:10]]
        assert hits(backends["hybrid"], query, 10, **setting) == expected and len(expected) > 3


INTERRUPTED = """
import sys, time, zlib
from pathlib import Path
import numpy as np
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.vectors import write_vectors
def embed(paragraphs):
    print("block", flush=True)
    time.sleep(float(sys.argv[3]))
    seeds = [zlib.crc32(p.text.encode()) for p in paragraphs]
    return [np.random.default_rng(seed).standard_normal((1 + seed % 3, 8)) for seed in seeds]
write_vectors(Path(sys.argv[2]), Corpus(sys.argv[1]), embed)
"""


def start_writing(corpus: Corpus, folder: Path, pause: float) -> subprocess.Popen:
    command = [sys.executable, "-c", INTERRUPTED, str(corpus.folder), str(folder), str(pause)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_what_is_killed_goes_on_where_it_stopped(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", make_paragraphs(5 * BLOCK + 7))
    killed = start_writing(corpus, tmp_path / "killed", 0.3)
    for _ in range(3):
        assert killed.stdout.readline() == "block\n"
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    with pytest.raises(ValueError, match=r"found vectors of 1024 paragraphs, expected 2567; "):
        open_vectors(tmp_path / "killed", len(corpus))
    for name, half in (("vectors.f16", b"half a block"), ("blocks.jsonl", b"[[1, 1, 1, 1, ")):
        with (tmp_path / "killed" / name).open("ab") as file:
            file.write(half)
    again, whole = (start_writing(corpus, tmp_path / name, 0) for name in ("killed", "whole"))
    assert again.communicate()[0] == 4 * "block\n" and whole.communicate()[0] == 6 * "block\n"
    for name in ("vectors.f16", "blocks.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    rows, starts = open_vectors(tmp_path / "killed", len(corpus))
    assert rows.dtype == np.float16 and rows.shape == (starts[-1], 8) and len(starts) == 2568


def test_two_who_embed_at_once_embed_once(words, tmp_path):
    blocks = []

    def embed(paragraphs):
        blocks.append(1)
        time.sleep(0.1)
        return random_vectors(paragraphs)

    with ThreadPoolExecutor(3) as pool:
        for job in [pool.submit(write_vectors, tmp_path, words.corpus, embed) for _ in range(3)]:
            job.result()
    assert blocks == [1]


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [(np.full((1, 4), 1e6), "number above 65,504"), (np.zeros((0, 4)), "text without a vector")],
)
def test_vectors_that_cannot_be_kept_are_refused(words, tmp_path, vectors, expected):
    with pytest.raises(ValueError, match=f"found a .*{expected}.*, expected"):
        write_vectors(tmp_path, words.corpus, lambda paragraphs: [vectors for _ in paragraphs])
    with pytest.raises(ValueError, match="found vectors of 0 paragraphs, expected 120"):
        open_vectors(tmp_path, COUNT)


def test_damaged_vectors_are_noticed_and_made_again(models, words, backends, tmp_path):
    model = f"dense:{models['dense']}"
    open_dense(words, model, tmp_path / "index")
    [folder] = tmp_path.glob("index-vectors-*")
    whole = (folder / "vectors.f16").read_bytes()
    for damaged in (whole[:-2], whole + b"00", b"00" + whole[2:]):
        (folder / "vectors.f16").write_bytes(damaged)
        with pytest.raises(ValueError, match="found .*expected.*delete the folder") as error:
            ask_one(open_dense(words, model, tmp_path / "index"), Retrieve("x", 1))
        assert "\n" not in str(error.value)
    (folder / "blocks.jsonl").write_text("")
    again = open_dense(words, model, tmp_path / "index")
    assert hits(again, "bano", 5) == hits(backends["dense"], "bano", 5)


@pytest.mark.parametrize("name", ["blocks.jsonl", "vectors.f16"])
def test_every_flipped_bit_of_vectors_is_noticed_or_harmless(words, tmp_path, name):
    write_vectors(tmp_path, words.corpus, random_vectors)
    whole, rows = (tmp_path / name).read_bytes(), open_vectors(tmp_path, COUNT).rows.tobytes()
    for bit in Random(3).sample(range(8 * len(whole)), 250):
        (tmp_path / name).write_bytes(whole)
        flip(tmp_path / name, bit)
        try:
            vectors = open_vectors(tmp_path, COUNT)
        except ValueError as error:
            assert str(error).startswith(f"{tmp_path}: found") and "\n" not in str(error)
        else:
            assert vectors.rows.tobytes() == rows and (np.diff(vectors.starts) == 1).all()
    if name == "blocks.jsonl":  # what follows the last sound block is embedded again
        write_vectors(tmp_path, words.corpus, random_vectors)
        assert (tmp_path / name).read_bytes() == whole


def random_vectors(paragraphs) -> list[np.ndarray]:
    chance = np.random.default_rng(1)
    return [chance.standard_normal((1, 8)) for _ in paragraphs]


def test_a_damaged_approximate_index_is_refused(tmp_path):
    rows = np.eye(40, 16, dtype=np.float16)
    path = build_approximate(tmp_path, rows)
    for damaged in (path, path.with_suffix(".json")):
        size = 8 * damaged.stat().st_size
        for bit in (3, 163, size // 2, size - 1):
            flip(damaged, bit)
            with pytest.raises(ValueError, match="delete the approximate-") as error:
                build_approximate(tmp_path, rows)
            assert str(error.value).startswith(f"{damaged}: found")
            flip(damaged, bit)
    assert build_approximate(tmp_path, rows) == path


def test_the_fingerprint_is_of_all_that_counts(models, words, backends, tmp_path, monkeypatch):
    from sentence_transformers import SentenceTransformer

    model, prints = models["dense"], {each.fingerprint for each in (words, *backends.values())}
    assert len(prints) == 4
    again = open_dense(words, f"dense:{model}", tmp_path / "elsewhere")
    assert again.fingerprint == backends["dense"].fingerprint
    SentenceTransformer(str(write_bert(tmp_path / "bert", seed=3))).save(str(tmp_path / "other"))
    other = open_dense(words, f"dense:{tmp_path / 'other'}", tmp_path / "elsewhere")
    corpus = write_corpus(tmp_path / "corpus", make_paragraphs(COUNT - 1))
    index = open_index(corpus, tmp_path / "elsewhere")
    fewer = open_dense(index, f"dense:{model}", tmp_path / "elsewhere")
    assert len(prints | {other.fingerprint, fewer.fingerprint}) == 6
    assert len(list(tmp_path.glob("elsewhere-vectors-*"))) == 3
    assert hits(other, "bano", 9) != hits(again, "bano", 9)
    first = Encoder(str(model)).fingerprint
    monkeypatch.setattr(encoder, "VERSION", 99)
    assert Encoder(str(model)).fingerprint != first


def test_the_constants_are_said_of_each_kind(words, backends, models, tmp_path):
    """For run.json, and a paper's appendix (describe_protocol)."""
    dense, late, both = (backends[kind].constants for kind in ("dense", "colbert", "hybrid"))
    assert "dot product" in dense["scoring"] and "at most 256 tokens" in dense["embedded"]
    assert late["scoring"].startswith("MaxSim") and "256" not in late["embedded"]
    assert dense["search"] == late["search"] == "exact" and dense["encoder"] != late["encoder"]
    assert both["fusion"] == "sum of 1 / (60 + rank) over the best 60, or k, of both rankings"
    assert both["scoring (words)"] == words.constants["scoring"]
    assert both["scoring (vectors)"] == dense["scoring"]
    graph = open_dense(words, f"dense:{models['dense']}", tmp_path / "index", exact=1)
    assert '"connectivity": 16' in graph.constants["search"]


def test_an_approximate_index_finds_nearly_what_exact_search_finds(models, tmp_path):
    corpus = write_corpus(tmp_path / "corpus", make_paragraphs(3 * BLOCK))
    index, model = open_index(corpus, tmp_path / "index"), f"dense:{models['dense']}"
    exact = open_dense(index, model, tmp_path / "index")
    near = open_dense(index, model, tmp_path / "index", exact=1000)
    assert exact.fingerprint != near.fingerprint
    rows = exact._vectors.rows
    first, second = (build_approximate(tmp_path / name, rows).read_bytes() for name in "ab")
    assert first == second
    chance, same = Random(0), 0
    for query in [random_text(chance, 5) for _ in range(40)]:
        approximate, best = hits(near, query, 15), hits(exact, query, 15)
        assert approximate == sorted(approximate, key=lambda hit: (-hit[1], hit[0]))
        assert len(approximate) == 15
        same += len(dict(approximate).keys() & dict(best).keys())
    assert same / (40 * 15) > 0.98
    titles = (corpus[5].title,)
    assert hits(near, "bano", 5, titles) == hits(exact, "bano", 5, titles)


LIGHT = """
import sys
from pathlib import Path
from ircotlib.retrieval import open_retriever
from ircotlib.retrieval.corpus import Corpus
backend = open_retriever(Corpus(sys.argv[1]), Path(sys.argv[3]), sys.argv[2])
print(backend.fingerprint, sys.modules.keys() & {"torch", "transformers"})
"""


def test_a_parameter_opens_it_and_imports_no_torch(models, words, tmp_path):
    retriever, folder = f"hybrid:{models['hybrid']}", tmp_path / "tiny"
    backend = open_retriever(words.corpus, folder, retriever)
    command = [sys.executable, "-c", LIGHT, str(words.corpus.folder), retriever, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"{backend.fingerprint} set()\n", done.stderr


def test_what_cannot_be_used_is_one_line_that_says_what_to_do(models, words, tmp_path, monkeypatch):
    def complaint(retriever: str) -> str:
        with pytest.raises((ValueError, OSError, ImportError)) as error:
            open_dense(words, retriever, tmp_path / "index")
        text = str(error.value)
        assert "\n" not in text and "found" in text and "expected" in text
        return text

    assert "expected one with one vector per token" in complaint(f"colbert:{models['dense']}")
    assert "expected one with one vector per text" in complaint(f"dense:{models['colbert']}")
    assert "found an encoder-decoder" in complaint("hybrid:data/models/mini-base")
    assert "found no config.json" in complaint(f"dense:{tmp_path}")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in models["dense"].glob("*.*"):
        kept = 300 if path.name == "model.safetensors" else None
        (damaged / path.name).write_bytes(path.read_bytes()[:kept])
    assert "model.safetensors: found" in complaint(f"dense:{damaged}")
    (damaged / "config.json").write_text("{")
    assert "config.json: found no JSON" in complaint(f"dense:{damaged}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "the Hugging Face hub gave no model" in complaint("hybrid:nobody/nothing")
    monkeypatch.setattr(module, "LATE_MOST", 100)
    assert "found 120 paragraphs, expected at most 100" in complaint(f"colbert:{models['colbert']}")
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert complaint("dense:any").endswith('pip install "ircotlib[dense]"')


def test_the_benchmark_measures_what_it_says():
    from bench.dense import measure_dense, measure_late, measure_rounding

    real = np.random.default_rng(0).standard_normal((300, 24), dtype=np.float32)
    found = {row.measure: row.value for row in measure_dense(real, 2000, most=2000)}
    assert found["on disk"] == 2000 * 24 * 2 / 1e6 and len(found) == 7
    assert 90 < found["approximate, share of the exact 15"] <= 100
    same, change = (row.value for row in measure_rounding(real, 2000))
    assert same > 80 and 0 < change < 0.002
    size, speed = measure_late(100)
    assert size.value == 100 * 100 * 128 * 2 / 1e6 and speed.value > 0


def test_a_real_model_finds_by_meaning(tmp_path):
    if not (folder := os.environ.get("IRCOT_MINILM")):
        pytest.skip("needs all-MiniLM-L6-v2 in the folder that IRCOT_MINILM names")
    texts = ("Seine", "The river flows through the French capital."), ("Honey", "Bees make it.")
    paragraphs = [Paragraph(title, title, text) for title, text in texts]
    index = open_index(write_corpus(tmp_path / "corpus", paragraphs), tmp_path / "index")
    backend = open_dense(index, f"dense:{folder}", tmp_path / "index")
    for query, title in (("Water in Paris", "Seine"), ("sweet insect food", "Honey")):
        assert backend.search(query, 1)[0][0].title == title
    long = "word " * encoder.TOKENS
    one, other = backend._encoder.embed_queries([long, long + "and all that follows"])
    np.testing.assert_allclose(one, other, atol=1e-5)
