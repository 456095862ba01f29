"""Dense, late-interaction and hybrid retrieval: real models of random weights, against brute force,
through kills and damage.
"""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from asking import ask, ask_one

from ircotlib.data import Paragraph
from ircotlib.files.paths import ROOT
from ircotlib.program import Generate, NearestTitle, Retrieve
from ircotlib.retrieval import dense as module
from ircotlib.retrieval import encoder
from ircotlib.retrieval.approximate import build_approximate
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.retrieval.dense import Dense, open_dense
from ircotlib.retrieval.encoder import Encoder
from ircotlib.retrieval.ranking import Refused
from ircotlib.retrieval.vectors import BLOCK, open_vectors, write_vectors

if not find_spec("sentence_transformers"):
    pytest.skip("needs the extra: pip install -e '.[dense]'", allow_module_level=True)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = [start + end for start in "bcdfghjk" for end in ("ano", "oru", "ulo", "agi")]
COUNT = 120


def random_words(chance: np.random.Generator, most: int) -> str:
    return " ".join(chance.choice(WORDS, chance.integers(1, most + 1)))


def random_paragraphs(count: int) -> list[Paragraph]:
    """Random paragraphs; some share a title, some have the same text in another case."""
    chance, paragraphs = np.random.default_rng(count), []
    for number in range(count):
        text = random_words(chance, 12)
        if number % 7 == 3:
            text = paragraphs[number - 2].text.title()
        paragraphs.append(Paragraph(f"p{number}", random_words(chance, 1), text))
    return paragraphs


def write_bert(folder: Path, seed: int = 0) -> Path:
    """Write a BERT with random weights whose tokens are letters."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(seed)
    folder.mkdir()
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*marks, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
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
    return open_index(write_corpus(folder / "corpus", random_paragraphs(COUNT)), folder / "index")


@pytest.fixture(scope="module")
def backends(models, words, tmp_path_factory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("vectors")
    return {
        kind: open_dense(words, f"{kind}:{model}", folder / "index")
        for kind, model in models.items()
    }


def hits(backend, *request, **setting) -> list[tuple[int, float]]:
    return [tuple(hit) for hit in json.loads(ask_one(backend, Retrieve(*request, **setting)))]


def brute_force(backend: Dense, query: str) -> list[tuple[int, float]]:
    """All paragraphs, best first, by the sum over the query's vectors of their best score."""
    made = Encoder(str(backend._encoder.folder), backend._encoder.late)
    asked, scores = made.embed_queries([query])[0], []
    for paragraph in backend.corpus:
        rows = made.embed_paragraphs([paragraph])[0]
        scores.append(sum(max(float(a @ b) for b in rows) for a in asked))
    return sorted(enumerate(scores), key=lambda hit: -hit[1])


@pytest.mark.parametrize("kind", ["dense", "colbert"])
def test_hits_and_scores_are_those_of_a_brute_force(backends, kind, monkeypatch):
    from ircotlib.retrieval import nearest

    monkeypatch.setattr(nearest, "ROWS", 100)  # several blocks; some have one paragraph
    for query in ("bano coru", "dulo", "who? fagi gano hulo"):
        found, expected = hits(backends[kind], query, COUNT), brute_force(backends[kind], query)
        assert len(found) == COUNT and sorted(dict(found)) == list(range(COUNT))
        slack = 0.002 if kind == "dense" else 0.02  # float16
        for (_, score), (_, best) in zip(found, expected, strict=True):
            assert score == pytest.approx(best, abs=slack)
        assert hits(backends[kind], query, 9) == found[:9]
        close = dict(expected)
        assert all(score == pytest.approx(close[place], abs=slack) for place, score in found)


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
    chance, backend = np.random.default_rng(5), backends[kind]
    requests = [Retrieve(random_words(chance, 6), int(chance.integers(1, 9))) for _ in range(30)]
    requests += [
        Retrieve("bano", 3, ("Bano", "bano")),
        requests[0],
        Retrieve("bano", 3, None, True),
    ]
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
        different, seen = [], set()
        for hit in ranking:
            text = words.corpus[hit[0]].text.lower()
            different += [] if text in seen else [hit]
            seen.add(text)
        assert len(different) < len(ranking)
        for k in (5, len(different)):
            assert _near(hits(backend, query, k, distinct=True), different[:k])
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
    replies = ask(backend, [Retrieve("bano", 0), Retrieve("bano", 2)])
    assert isinstance(replies[0], Refused) and len(json.loads(replies[1])) == 2
    with pytest.raises(Refused, match="k is 0"):
        backend.search("bano", 0)
    assert [p for p, _ in backend.search("bano", 2)] == list(backend.decode(replies[1]))
    asked = [NearestTitle("Coru", 3), NearestTitle("bano")]
    assert ask(backend, asked) == ask(words, asked)
    with pytest.raises(TypeError, match="expected Retrieve or NearestTitle"):
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
import numpy as np
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.vectors import write_vectors
corpus, folder, pause = Corpus(sys.argv[1]), sys.argv[2], float(sys.argv[3])
def embed(paragraphs):
    print("block", flush=True)
    time.sleep(pause)
    seeds = [zlib.crc32(p.text.encode()) for p in paragraphs]
    return [np.random.default_rng(seed).standard_normal((1 + seed % 3, 8)) for seed in seeds]
from pathlib import Path
write_vectors(Path(folder), corpus, embed)
"""


def start_writing(corpus: Corpus, folder: Path, pause: float) -> subprocess.Popen:
    command = [sys.executable, "-c", INTERRUPTED, str(corpus.folder), str(folder), str(pause)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_what_is_killed_goes_on_where_it_stopped(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", random_paragraphs(5 * BLOCK + 7))
    killed = start_writing(corpus, tmp_path / "killed", 0.3)
    for _ in range(3):
        assert killed.stdout.readline() == "block\n"
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    with pytest.raises(ValueError, match=r"found vectors of 1024 paragraphs, expected 2567; "):
        open_vectors(tmp_path / "killed", len(corpus))
    with (tmp_path / "killed" / "vectors.f16").open("ab") as file:
        file.write(b"half a block")
    with (tmp_path / "killed" / "blocks.jsonl").open("ab") as file:
        file.write(b"[[1, 1, 1, 1, ")
    again, whole = (start_writing(corpus, tmp_path / name, 0) for name in ("killed", "whole"))
    assert again.communicate()[0] == 4 * "block\n" and whole.communicate()[0] == 6 * "block\n"
    for name in ("vectors.f16", "blocks.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    rows, starts = open_vectors(tmp_path / "killed", len(corpus))
    assert rows.dtype == np.float16 and rows.shape == (starts[-1], 8) and len(starts) == 2568


def test_two_who_embed_at_once_embed_once(models, words, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    blocks, made = [], Encoder(str(models["dense"]))

    def embed(paragraphs):
        blocks.append(1)
        time.sleep(0.1)
        return made.embed_paragraphs(paragraphs)

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(write_vectors, tmp_path / "v", words.corpus, embed) for _ in range(3)]
        assert [job.result() for job in jobs] == 3 * [None]
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


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "changed":
        content[len(content) // 2] ^= 1
    path.write_bytes({"cut": content[:-2], "longer": content + b"00"}.get(how, content))


@pytest.mark.parametrize(
    ("how", "expected"),
    [("cut", "found 7678 bytes"), ("longer", "found 7682 bytes"), ("changed", "block 0 damaged")],
)
def test_damaged_vectors_are_noticed(models, words, tmp_path, how, expected):
    backend = open_dense(words, f"dense:{models['dense']}", tmp_path / "index")
    [folder] = tmp_path.glob("index-vectors-*")
    damage(folder / "vectors.f16", how)
    with pytest.raises(ValueError, match=rf"{expected}.*expected.*delete the folder") as error:
        ask_one(open_dense(words, f"dense:{models['dense']}", tmp_path / "index"), Retrieve("x", 1))
    assert "\n" not in str(error.value)
    (folder / "blocks.jsonl").write_text("")
    again = open_dense(words, f"dense:{models['dense']}", tmp_path / "index")
    assert hits(again, "bano", 5) == hits(backend, "bano", 5)


@pytest.mark.parametrize("name", ["blocks.jsonl", "vectors.f16"])
def test_every_flipped_bit_of_vectors_is_noticed_or_harmless(words, tmp_path, name):
    write_vectors(tmp_path, words.corpus, random_vectors)
    whole, rows = (tmp_path / name).read_bytes(), open_vectors(tmp_path, COUNT).rows.tobytes()
    for place in np.random.default_rng(3).choice(8 * len(whole), 250, replace=False):
        content = bytearray(whole)
        content[place // 8] ^= 1 << place % 8
        (tmp_path / name).write_bytes(content)
        try:
            found = open_vectors(tmp_path, COUNT)
        except ValueError as error:
            assert str(error).startswith(f"{tmp_path}: found") and "\n" not in str(error)
        else:
            assert found.rows.tobytes() == rows and (np.diff(found.starts) == 1).all()
    if name == "blocks.jsonl":  # what follows the last sound block is embedded again
        write_vectors(tmp_path, words.corpus, random_vectors)
        assert (tmp_path / name).read_bytes() == whole


def random_vectors(paragraphs) -> list[np.ndarray]:
    chance = np.random.default_rng(1)
    return [chance.standard_normal((1, 8)) for _ in paragraphs]


def test_a_damaged_approximate_index_is_refused(tmp_path):
    path = build_approximate(tmp_path, np.eye(40, 16, dtype=np.float16))
    for damaged in (path, path.with_suffix(".json")):
        whole = damaged.read_bytes()
        for place in (0, 20, len(whole) // 2, -1):
            content = bytearray(whole)
            content[place] ^= 8
            damaged.write_bytes(content)
            with pytest.raises(ValueError, match="delete the approximate-") as error:
                build_approximate(tmp_path, np.eye(40, 16, dtype=np.float16))
            assert str(error.value).startswith(f"{damaged}: found")
        damaged.write_bytes(whole)
    assert build_approximate(tmp_path, np.eye(40, 16, dtype=np.float16)).read_bytes()


def test_the_fingerprint_is_that_of_weights_corpus_and_kind(models, words, backends, tmp_path):
    from sentence_transformers import SentenceTransformer

    prints = {backend.fingerprint for backend in (words, *backends.values())}
    assert len(prints) == 4
    again = open_dense(words, f"dense:{models['dense']}", tmp_path / "elsewhere")
    assert again.fingerprint == backends["dense"].fingerprint
    SentenceTransformer(str(write_bert(tmp_path / "bert", seed=3))).save(str(tmp_path / "other"))
    other = open_dense(words, f"dense:{tmp_path / 'other'}", tmp_path / "elsewhere")
    paragraphs = write_corpus(tmp_path / "corpus", random_paragraphs(COUNT - 1))
    index = open_index(paragraphs, tmp_path / "elsewhere")
    fewer = open_dense(index, f"dense:{models['dense']}", tmp_path / "elsewhere")
    assert len(prints | {other.fingerprint, fewer.fingerprint}) == 6
    assert len(list(tmp_path.glob("elsewhere-vectors-*"))) == 3
    assert hits(other, "bano", 9) != hits(again, "bano", 9)


def test_a_new_version_of_what_is_embedded_is_another_fingerprint(models, monkeypatch):
    first = Encoder(str(models["dense"])).fingerprint
    monkeypatch.setattr(encoder, "VERSION", 99)
    assert Encoder(str(models["dense"])).fingerprint != first


def test_an_approximate_index_finds_nearly_what_exact_search_finds(models, words, tmp_path):
    corpus = write_corpus(tmp_path / "corpus", random_paragraphs(3 * BLOCK))
    index, model = open_index(corpus, tmp_path / "index"), f"dense:{models['dense']}"
    exact = open_dense(index, model, tmp_path / "index")
    near = open_dense(index, model, tmp_path / "index", exact=1000)
    assert exact.fingerprint != near.fingerprint
    rows = exact._vectors.rows
    first, second = (build_approximate(tmp_path / name, rows).read_bytes() for name in "ab")
    assert first == second
    chance, same = np.random.default_rng(0), 0
    for query in [random_words(chance, 5) for _ in range(40)]:
        found, expected = hits(near, query, 15), dict(hits(exact, query, 40))
        assert len(found) == 15 and found == sorted(found, key=lambda hit: (-hit[1], hit[0]))
        best = sorted(expected, key=lambda place: (-expected[place], place))[:15]
        same += len({place for place, _ in found} & set(best))
    assert same / (40 * 15) > 0.98
    titles = (corpus[5].title,)
    assert hits(near, "bano", 5, titles) == hits(exact, "bano", 5, titles)


LIGHT = """
import sys
from pathlib import Path
from ircotlib.retrieval import open_retriever
from ircotlib.retrieval.corpus import Corpus
backend = open_retriever(Corpus(sys.argv[1]), Path(sys.argv[3]), sys.argv[2])
print(backend.fingerprint, [name for name in ("torch", "transformers") if name in sys.modules])
"""


def test_a_parameter_opens_it_and_imports_no_torch_until_something_is_embedded(
    models, words, tmp_path
):
    from ircotlib.retrieval import open_retriever

    retriever, folder = f"hybrid:{models['hybrid']}", tmp_path / "tiny"
    backend = open_retriever(words.corpus, folder, retriever)
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LIGHT, str(words.corpus.folder), retriever, str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.stdout == f"{backend.fingerprint} []\n", done.stderr


def test_what_cannot_be_used_is_one_line_that_says_what_to_do(models, words, tmp_path, monkeypatch):
    def complaint(retriever: str) -> str:
        with pytest.raises((ValueError, OSError, ImportError)) as error:
            open_dense(words, retriever, tmp_path / "index")
        text = str(error.value)
        assert "\n" not in text and "found" in text and "expected" in text
        return text

    assert "expected one with one vector per token" in complaint(f"colbert:{models['dense']}")
    assert "expected one with one vector per text" in complaint(f"dense:{models['colbert']}")
    assert "expected config.json" in complaint(f"dense:{tmp_path}")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in models["dense"].glob("*.*"):
        kept = 300 if path.name == "model.safetensors" else None
        (damaged / path.name).write_bytes(path.read_bytes()[:kept])
    assert "model.safetensors: found" in complaint(f"dense:{damaged}")
    (damaged / "config.json").write_text("{")
    module._encoder.cache_clear()
    assert "config.json: found no JSON" in complaint(f"dense:{damaged}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "the Hugging Face hub gave no model" in complaint("hybrid:nobody/nothing")
    monkeypatch.setattr(module, "LATE_MOST", 100)
    assert "found 120 paragraphs, expected at most 100" in complaint(f"colbert:{models['colbert']}")
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    assert complaint("dense:any").endswith("pip install -e '.[dense]'")


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
    """With all-MiniLM-L6-v2, if IRCOT_MINILM names its folder."""
    if not (folder := os.environ.get("IRCOT_MINILM")):
        pytest.skip("needs all-MiniLM-L6-v2 in the folder that IRCOT_MINILM names")
    texts = {
        "Seine": "The river flows through the French capital.",
        "Honey": "Bees make it from nectar.",
        "Piston": "It moves up and down in a cylinder.",
    }
    paragraphs = [Paragraph(title, title, text) for title, text in texts.items()]
    index = open_index(write_corpus(tmp_path / "corpus", paragraphs), tmp_path / "index")
    backend = open_dense(index, f"dense:{folder}", tmp_path / "index")
    for query, title in (("Water in Paris", "Seine"), ("sweet insect food", "Honey")):
        assert backend.search(query, 1)[0][0].title == title
    long = "word " * encoder.TOKENS
    one, other = backend._encoder.embed_queries([long, long + "and all that follows"])
    np.testing.assert_allclose(one, other, atol=1e-5)
