"""The embedded BM25: against a brute force; through kills, changes and ties."""

import json
import math
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import corpora
import pytest
import tantivy
from asking import ask, ask_one
from corpora import positions_in, random_paragraphs, random_text, titled, write_in

from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval import bm25
from ircotlib.retrieval.analyzer import analyze, join_terms
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import Corpus, write_corpus


def kept_length(length: int) -> int:
    """Lucene's byte for a length: exact to 39, then four bits of what is above 24."""
    rest = max(length - 24, 0)
    shift = max(rest.bit_length() - 4, 0)
    return length - rest + (rest >> shift << shift)


def brute_force(paragraphs: list, query: str, k: int) -> list[tuple[int, float]]:
    totals = Counter()
    for field in ("title", "text"):
        counts = [Counter(analyze(getattr(each, field))) for each in paragraphs]
        mean = sum(count.total() for count in counts) / len(counts)
        for term in analyze(query):
            having = {n: count for n, count in enumerate(counts) if term in count}
            idf = math.log(1 + (len(counts) - len(having) + 0.5) / (len(having) + 0.5))
            for position, count in having.items():
                length = kept_length(count.total())
                part = 1.2 * (0.25 + 0.75 * length / mean)
                totals[position] += idf * 2.2 * count[term] / (count[term] + part)
    return sorted(totals.items(), key=lambda hit: (-round(hit[1], 3), hit[0]))[:k]


def open_over(folder: Path, paragraphs: list[Paragraph]) -> BM25:
    return BM25(write_in(folder, paragraphs), folder / "index")


def ranked(backend: BM25, *request) -> list[tuple[int, float]]:
    return [tuple(hit) for hit in json.loads(ask_one(backend, Retrieve(*request)))]


@pytest.fixture(scope="module")
def backend(tmp_path_factory) -> BM25:
    return open_over(tmp_path_factory.mktemp("random"), random_paragraphs(300))


@pytest.mark.parametrize("seed", range(8))
def test_scores_and_order_are_those_of_a_brute_force(backend, seed):
    query = random_text(random.Random(seed), 12)  # some words more than once
    hits = ranked(backend, query, 25)
    expected = dict(brute_force([*backend.corpus], query, 25))
    assert [position for position, _ in hits] == list(expected)
    assert dict(hits) == pytest.approx(expected, abs=0.00051)


def test_allowed_titles_are_compared_letter_by_letter(tmp_path):
    """That the rest of a reply stays is tested for all retrievers, in test_dense."""
    backend = open_over(tmp_path, titled("It", "it", "It ", "The It", "", text="clown"))
    for position, paragraph in enumerate(backend.corpus):
        reply = ask_one(backend, Retrieve("clown", 9, (paragraph.title,)))
        assert positions_in(reply) == [position]


TITLES = ["Paris", "Paris, Texas", "London", "Paris", "It", "The Texas Rangers"]
CASES = ["US", "it", "Us", "us Us us", "ÎLE", "Île", "The Us"]


@pytest.mark.parametrize(
    ("titles", "title", "n", "nearest"),
    [
        (TITLES, "Texas (Paris)", 9, ["Paris, Texas", "The Texas Rangers", "Paris"]),
        (TITLES, "It", 1, ["It"]),  # a stop word
        (TITLES, "The", 1, []),
        (CASES, "Us", 4, ["Us", "US", "us Us us", "The Us"]),
        (["Mars"] * 200 + ["Mars rover"], "Mars", 3, ["Mars", "Mars rover"]),
    ],
)
def test_nearest_titles_are_the_same_then_in_any_case(
    tmp_path, titles, title, n, nearest
):
    backend = open_over(tmp_path, titled(*titles))
    assert backend.decode(ask_one(backend, NearestTitle(title, n))) == tuple(nearest)


def build_in_pieces(self, folder: Path, paragraphs) -> None:
    """Build the same index from documents in another order, in segments of 40."""
    index = tantivy.Index(bm25.SCHEMA, str(folder))
    shuffled = list(enumerate(paragraphs))
    random.Random(9).shuffle(shuffled)
    for start in range(0, len(shuffled), 40):
        writer = index.writer(num_threads=1)
        for position, p in shuffled[start : start + 40]:
            terms = {"title": join_terms(p.title), "text": join_terms(p.text)}
            fields = terms | {"position": position}
            writer.add_document(tantivy.Document.from_dict(fields, bm25.SCHEMA))
        writer.commit()
        writer.wait_merging_threads()


def test_ties_stand_in_the_order_of_the_corpus_however_the_index_was_built(
    tmp_path, monkeypatch
):
    once = random_paragraphs(60, most=6)
    tied = [replace(p, id=f"{turn}-{p.id}") for turn in range(8) for p in once]
    whole = open_over(tmp_path, tied)
    monkeypatch.setattr(BM25, "_build", build_in_pieces)
    pieces = BM25(whole.corpus, tmp_path / "pieces")
    texts = [random_text(random.Random(seed), 6) for seed in range(40)]
    requests = [Retrieve(text, k) for text in texts for k in (1, 5, 15)]
    replies = ask(whole, requests)
    assert replies == ask(pieces, requests)
    for request, reply in zip(requests, replies):
        expected = brute_force(tied, request.query, request.k)
        assert positions_in(reply) == [position for position, _ in expected]
    # longer than what is fetched
    same = open_over(tmp_path / "same", titled(*["Same"] * 300))
    assert positions_in(ask_one(same, Retrieve("word", 5))) == [0, 1, 2, 3, 4]


@pytest.fixture
def builds(monkeypatch) -> list[Path]:
    """The folders in which an index was built."""
    folders, build = [], BM25._build

    def noted(self, folder, paragraphs):
        folders.append(folder)
        build(self, folder, paragraphs)

    monkeypatch.setattr(BM25, "_build", noted)
    return folders


def test_one_deep_retrieval_serves_every_smaller_k(tmp_path):
    backend = open_over(tmp_path, random_paragraphs(40))
    request = Retrieve("bano coru dulo", 3)
    deep = backend.prepare(request)
    assert deep == replace(request, k=15) and backend.prepare(deep) == deep
    reply = ask_one(backend, deep)
    found = backend.decode(reply, deep)
    assert len(found) > 3 and backend.decode(reply, request) == found[:3]


def test_an_index_is_built_once_for_each_corpus_and_analyzer(
    tmp_path, builds, monkeypatch
):
    corpus, index = write_in(tmp_path, random_paragraphs(900)), tmp_path / "index"
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(BM25, Corpus(corpus.folder), index) for _ in range(4)]
        opened = [job.result() for job in jobs]
    replies = {ask_one(each, Retrieve("bano", 5)) for each in opened}
    assert len(replies) == len(builds) == 1
    monkeypatch.setattr(bm25, "FINGERPRINT", "another analyzer")
    opened += [BM25(corpus, index), open_over(tmp_path, random_paragraphs(51))]
    assert len({each.fingerprint for each in opened}) == len(builds) == 3


@pytest.mark.parametrize("left", ["*.json", "*", "*.term", "*.idx", "meta.json"])
@pytest.mark.parametrize("content", [None, b"", b"[" * 99_999])
def test_what_is_left_of_an_index_is_built_again(tmp_path, builds, left, content):
    """After a kill, and after an error of the disk."""
    backend = open_over(tmp_path, random_paragraphs(40))
    for path in (tmp_path / "index").glob(left):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
    again = BM25(backend.corpus, tmp_path / "index")
    assert ranked(again, "bano", 9) == ranked(backend, "bano", 9) and len(builds) == 2


BUILD = """
import shutil
from ircotlib.retrieval import bm25

def remove_one_and_hang(folder):
    next(folder.glob("*.term")).unlink()
    list(hang([]))

{} = {}
bm25.BM25(Corpus(sys.argv[1]), sys.argv[2])
"""
HANG = [("bm25.track", "hang"), ("shutil.rmtree", "remove_one_and_hang")]


@pytest.mark.parametrize("hang", HANG)
def test_an_error_or_a_kill_leaves_the_old_index_or_none(tmp_path, monkeypatch, hang):
    def broken(paragraphs, label):
        yield next(iter(paragraphs))
        raise OSError("no space left")

    index = tmp_path / "index"
    backend = open_over(tmp_path, random_paragraphs(40))
    new = write_corpus(tmp_path / "new", random_paragraphs(400))
    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space left"):
        patch.setattr(bm25, "track", broken)
        BM25(new, index)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"corpus", "new", "index", "index.lock"}
    corpora.run_and_kill(BUILD.format(*hang), new.folder, index)
    for each in (BM25(backend.corpus, index), BM25(new, index)):
        fresh = BM25(each.corpus, tmp_path / "fresh")
        assert ranked(each, "bano dulo", 9) == ranked(fresh, "bano dulo", 9) != []
