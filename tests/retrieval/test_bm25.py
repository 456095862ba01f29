"""The embedded BM25: against a brute force, on real questions, through kills, changes and ties."""

import json
import math
import random
import resource
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import corpora
import pytest
import tantivy
from asking import ask, ask_one
from corpora import positions_in, random_paragraphs, random_text, titled

from ircotlib.data import Paragraph
from ircotlib.datasets.pooled import pool
from ircotlib.datasets.twowiki import read_2wikimultihopqa
from ircotlib.errors import Unavailable
from ircotlib.files.old import write_description
from ircotlib.program import Generate, NearestTitle, Retrieve
from ircotlib.retrieval import bm25
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import BM25, build_index, open_index
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.retrieval.documents import make_documents
from ircotlib.retrieval.ranking import Refused


def kept_length(length: int) -> int:
    """Lucene keeps lengths in one byte: exact to 39, then four significant bits above 24."""
    rest = max(length - 24, 0)
    shift = max(rest.bit_length() - 4, 0)
    return length - rest + (rest >> shift << shift)


def brute_force(paragraphs: list[Paragraph], query: str, k: int) -> list[tuple[int, float]]:
    totals = Counter()
    for field in ("title", "text"):
        counts = [Counter(analyze(getattr(paragraph, field))) for paragraph in paragraphs]
        mean = sum(count.total() for count in counts) / len(counts)
        for term in analyze(query):
            having = [position for position, count in enumerate(counts) if term in count]
            idf = math.log(1 + (len(counts) - len(having) + 0.5) / (len(having) + 0.5))
            for position in having:
                often, length = counts[position][term], kept_length(counts[position].total())
                share = often / (often + 1.2 * (0.25 + 0.75 * length / mean))
                totals[position] += idf * 2.2 * share
    return sorted(totals.items(), key=lambda hit: (-round(hit[1], 3), hit[0]))[:k]


@pytest.fixture(scope="module")
def backend(tmp_path_factory) -> BM25:
    """A backend over 300 random paragraphs."""
    return open_over(tmp_path_factory.mktemp("random"), random_paragraphs(300))


def open_over(folder: Path, paragraphs: list[Paragraph]) -> BM25:
    return open_index(write_corpus(folder / "corpus", paragraphs), folder / "index")


def ranked(backend: BM25, *request) -> list[tuple[int, float]]:
    return [tuple(hit) for hit in json.loads(ask_one(backend, Retrieve(*request)))]


@pytest.mark.parametrize("seed", range(30))
def test_scores_and_order_are_those_of_a_brute_force(backend, seed):
    query = random_text(random.Random(seed), 12)  # some words more than once
    hits, expected = ranked(backend, query, 25), dict(brute_force([*backend.corpus], query, 25))
    assert [position for position, _ in hits] == list(expected)
    assert dict(hits) == pytest.approx(expected, abs=0.00051)


def test_many_requests_at_once_get_the_replies_of_one_at_a_time(backend, monkeypatch):
    chance = random.Random(5)
    requests = [Retrieve(random_text(chance, 8), chance.randint(1, 30)) for _ in range(200)]
    replies = ask(backend, requests)
    assert replies == [ask_one(backend, request) for request in requests]
    paragraphs = [p for p, _ in backend.search(requests[0].query, requests[0].k)]
    assert list(backend.decode(replies[0])) == paragraphs
    searches, search = [], backend._search
    monkeypatch.setattr(backend, "_search", lambda one: searches.append(one) or search(one))
    assert len(ask(backend, [Retrieve("bano", 3), Retrieve("bano", 4)] * 10)) == 20
    assert sorted(search.size for search in searches) == [13, 14]  # equal ones once


@pytest.mark.parametrize("query", ["", "the of and", "?!", "unheardof"])
def test_a_query_without_known_terms_finds_nothing(backend, query):
    assert ask(backend, [Retrieve(query, 5), Retrieve(query, 5, ("Bano",))]) == ["[]", "[]"]
    assert backend.decode("[]") == () and backend.search(query) == []


def test_what_cannot_be_answered_costs_only_its_request(backend, monkeypatch):
    sound = [Retrieve("bano", 3), Retrieve("cano", 2), NearestTitle("bano", 2)]
    faulty = [Retrieve("bano", 0), Retrieve("bano", -3, None, True), NearestTitle("bano", 0)]
    halves = [Retrieve("bano \ud800", 3), Retrieve("bano", 3, ("\udfff",)), NearestTitle("\ud800")]
    replies = ask(backend, sound + faulty + halves)
    assert replies[:3] == [ask_one(backend, request) for request in sound]
    assert [type(reply) for reply in replies[3:]] == [Refused] * 6
    for call in (backend.search, backend.nearest_titles):
        with pytest.raises(Refused, match="is 0: ask for at least 1"):
            call("bano", 0)
    monkeypatch.setattr(backend, "_search", None)  # another class: an error before any search
    with pytest.raises(TypeError, match="found the request Generate"):
        next(backend.answer([Retrieve("bano", 3), Generate("bano")]))


def test_what_was_answered_before_a_failure_is_given(backend, monkeypatch):
    search = backend._search

    def break_at_20(one):
        if one.size == 20:
            raise OSError("the disk is gone")
        return search(one)

    monkeypatch.setattr(backend, "_search", break_at_20)
    answering = backend.answer([Retrieve("bano", k) for k in (4, 2, 10, 3)])
    assert next(answering) == (0, ask_one(backend, Retrieve("bano", 4)))
    assert next(answering) == (1, ask_one(backend, Retrieve("bano", 2)))
    with pytest.raises(OSError, match="the disk is gone"):
        next(answering)


@pytest.mark.parametrize("k", [1, 5, 15, 400])
def test_of_equal_texts_only_the_best_counts_if_asked(tmp_path, k):
    backend = open_over(tmp_path, corpora.repeated_paragraphs())
    titles = tuple(dict.fromkeys(p.title for p in list(backend.corpus)[::3]))
    queries = [p.text for p in list(backend.corpus)[::7]]
    requests = [Retrieve(query, k, t, True) for query in queries for t in (None, titles)]
    shortened = 0
    for request, reply in zip(requests, ask(backend, requests), strict=True):
        best = {}
        for position, score in ranked(backend, request.query, 10**6, request.titles):
            best.setdefault(backend.corpus[position].text.lower(), [position, score])
        assert json.loads(reply) == list(best.values())[:k]
        shortened += reply != ask_one(backend, replace(request, distinct=False))
    assert shortened > len(requests) / 2 or k == 1


def test_the_best_of_fewer_are_the_first_of_more(tmp_path, backend):
    """One retrieval of `depth` serves every smaller k, with ties, titles and repeated texts too."""
    for searched in (backend, open_over(tmp_path, corpora.repeated_paragraphs())):
        titles, depth = tuple({p.title for p in [*searched.corpus][::3]}), searched.depth
        requests = [Retrieve(p.text, depth) for p in [*searched.corpus][::31]]
        requests += [replace(request, titles=titles) for request in requests]
        requests += [replace(request, distinct=True) for request in requests]
        most = ask(searched, requests)
        for k in range(1, depth):
            fewer = ask(searched, [replace(request, k=k) for request in requests])
            assert [json.loads(reply)[:k] for reply in most] == list(map(json.loads, fewer))


def test_k_beyond_the_corpus_gives_all_that_match(backend):
    texts = [f"{paragraph.title} {paragraph.text}".split() for paragraph in backend.corpus]
    matching = [position for position, words in enumerate(texts) if "bano" in words]
    assert sorted(position for position, _ in ranked(backend, "bano", 10**6)) == matching


def test_allowed_titles_leave_out_the_others_and_change_no_score(backend, tmp_path):
    titles = tuple(dict.fromkeys(paragraph.title for paragraph in list(backend.corpus)[::5]))
    everything = ranked(backend, "bano coru dulo", 300)
    expected = [hit for hit in everything if backend.corpus[hit[0]].title in titles]
    assert 0 < len(expected) < len(everything)
    assert ranked(backend, "bano coru dulo", 300, titles) == expected
    assert ranked(backend, "bano coru dulo", 3, titles) == expected[:3]
    assert ranked(backend, "bano", 5, ()) == ranked(backend, "bano", 5, ("No such title",)) == []
    titles = ["It", "it", "It ", "The It", ""]  # compared letter by letter
    other = open_over(tmp_path, titled(*titles, text="clown"))
    replies = ask(other, [Retrieve("clown", 9, (title,)) for title in titles])
    assert list(map(positions_in, replies)) == [[0], [1], [2], [3], [4]]


TITLES = ["Paris", "Paris, Texas", "London", "Paris", "It", "The Texas Rangers"]
CASES = ["US", "it", "Us", "us Us us", "ÎLE", "Île", "The Us"]


@pytest.mark.parametrize(
    ("titles", "title", "n", "nearest"),
    [
        (TITLES, "paris", 1, ["Paris"]),
        (TITLES, "Texas (Paris)", 9, ["Paris, Texas", "The Texas Rangers", "Paris"]),
        (TITLES, "It", 1, ["It"]),  # a stop word
        (TITLES, "The", 1, []),
        (TITLES, "Rome", 1, []),
        (CASES, "Us", 4, ["Us", "US", "us Us us", "The Us"]),
        (CASES, "us", 1, ["US"]),
        (CASES, "IT", 1, ["it"]),
        (CASES, "île", 3, ["ÎLE", "Île"]),
        (["Mars"] * 200 + ["Mars rover"], "Mars", 2, ["Mars", "Mars rover"]),
        (["Mars"] * 200 + ["Mars rover"], "Mars", 3, ["Mars", "Mars rover"]),
    ],
)
def test_nearest_titles_are_the_same_then_in_any_case(tmp_path, titles, title, n, nearest):
    backend = open_over(tmp_path, titled(*titles))
    assert backend.nearest_titles(title, n) == nearest
    replies = ask(backend, [Retrieve("word", 1), NearestTitle(title, n)])
    assert list(map(backend.decode, replies)) == [(backend.corpus[0],), tuple(nearest)]


def build_in_pieces(corpus: Corpus, folder: Path) -> None:
    """Build the same index from documents in another order, in segments of 40."""
    folder.mkdir()
    index, made = tantivy.Index(bm25._schema(), str(folder)), list(make_documents(corpus))
    random.Random(9).shuffle(made)
    for start in range(0, len(made), 40):
        writer = index.writer(num_threads=1)
        for document in made[start : start + 40]:
            writer.add_document(tantivy.Document.from_dict(document, index.schema))
        writer.commit()
        writer.wait_merging_threads()
    write_description(folder / "index.json", bm25._describe(corpus) | {"files": {}})


def test_ties_stand_in_the_order_of_the_corpus_however_the_index_was_built(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", corpora.tied_paragraphs())
    build_in_pieces(corpus, tmp_path / "pieces")
    whole, again, pieces = (open_index(corpus, tmp_path / n) for n in ("whole", "again", "pieces"))
    texts = [random_text(random.Random(seed), 6) for seed in range(40)]
    requests = [Retrieve(text, k) for text in texts for k in (1, 5, 15)]
    replies = ask(whole, requests)
    assert replies == ask(again, requests) == ask(pieces, requests)
    for request, reply in zip(requests, replies):
        expected = brute_force(list(corpus), request.query, request.k)
        assert positions_in(reply) == [position for position, _ in expected]
    same = write_corpus(tmp_path / "same", titled(*["Same"] * 300))  # longer than what is fetched
    build_in_pieces(same, tmp_path / "index")
    backend = open_index(same, tmp_path / "index")
    assert positions_in(ask_one(backend, Retrieve("word", 5))) == [0, 1, 2, 3, 4]


def test_terms_with_unusual_characters_are_found(tmp_path):
    texts = ["km² 2½", 'ראב"י', "\U0001f469\u200d\U0001f467", "a\u0301\u200e", "narrow\u202fspace"]
    texts += ["x" * 255, "\U00010428" * 127, "#\ufe0f\u20e3", "don’t"]
    paragraphs = [Paragraph(str(number), "", text) for number, text in enumerate(texts)]
    replies = ask(open_over(tmp_path, paragraphs), [Retrieve(text, 9) for text in texts])
    assert list(map(positions_in, replies)) == [[number] for number in range(len(texts))]


def test_an_index_is_built_once_and_opens_in_milliseconds(tmp_path):
    corpus, builds, seconds = write_corpus(tmp_path / "corpus", random_paragraphs(3000)), [], []

    def open_and_count(_) -> BM25:
        start = time.perf_counter()
        index = tmp_path / "index"
        backend = open_index(Corpus(corpus.folder), index, lambda p: builds.append(1) or p)
        seconds.append(time.perf_counter() - start)
        return backend

    with ThreadPoolExecutor(4) as pool:
        backends = list(pool.map(open_and_count, range(4)))
    assert len({ask_one(backend, Retrieve("bano", 5)) for backend in backends}) == 1
    for turn in range(3):
        open_and_count(turn)
    assert builds == [1] and min(seconds) < 0.02


def test_another_analyzer_or_corpus_makes_another_index_and_fingerprint(tmp_path, monkeypatch):
    folder, corpus = tmp_path / "index", write_corpus(tmp_path / "corpus", random_paragraphs(50))
    first = open_index(corpus, folder).fingerprint
    assert first == open_index(corpus, tmp_path / "elsewhere").fingerprint
    monkeypatch.setattr(bm25, "FINGERPRINT", "another analyzer")
    with pytest.raises(ValueError, match="found .*expected .*another analyzer"):
        BM25(corpus, folder)
    second = open_index(corpus, folder).fingerprint
    other = write_corpus(tmp_path / "other", random_paragraphs(51))
    with pytest.raises(ValueError, match="'count': 50.*expected.*'count': 51"):
        BM25(other, folder)
    backend = open_index(other, folder)
    assert len({first, second, backend.fingerprint}) == 3
    assert ranked(backend, "bano", 9) == ranked(open_index(other, tmp_path / "fresh"), "bano", 9)


def test_an_error_in_mid_build_leaves_the_old_index(tmp_path):
    def broken(positions):
        yield next(iter(positions))
        raise OSError("no space left")

    old = write_corpus(tmp_path / "old", random_paragraphs(40))
    new = write_corpus(tmp_path / "new", random_paragraphs(41))
    build_index(old, tmp_path / "index")
    with pytest.raises(OSError, match="no space left"):
        build_index(new, tmp_path / "index", broken)
    assert len(BM25(old, tmp_path / "index").search("bano", 3)) == 3
    assert len(open_index(new, tmp_path / "index").search("bano", 3)) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"old", "new", "index", "index.lock"}
    with pytest.raises(ValueError, match="holds files that are no index"):
        open_index(new, tmp_path / "old")  # never replaced
    assert len(Corpus(tmp_path / "old")) == 40


def test_an_index_on_a_full_disk_is_one_line_and_the_old_one_stays(tmp_path):
    """The library says what the system says, as of a file above the limit for its size."""
    old = write_corpus(tmp_path / "old", random_paragraphs(40))
    new = write_corpus(tmp_path / "new", random_paragraphs(41))
    build_index(old, tmp_path / "index")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def without_room(positions):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        yield from positions

    try:
        with pytest.raises(Unavailable, match=r"cannot be written .*too large.*free") as error:
            build_index(new, tmp_path / "index", without_room)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in str(error.value)
    assert len(BM25(old, tmp_path / "index").search("bano", 3)) == 3
    assert not (tmp_path / "index.partial").exists()


def test_a_damaged_index_is_an_error(tmp_path, capfd):
    """Any flipped bit of any file is noticed, in one line; so is a missing file."""
    backend, folder = open_over(tmp_path, random_paragraphs(40)), tmp_path / "index"
    for path in [path for path in folder.iterdir() if path.stat().st_size]:
        for bit in random.Random(1).choices(range(8 * path.stat().st_size), k=20):
            corpora.flip(path, bit)
            with pytest.raises(ValueError, match="delete the folder, and the next run") as error:
                BM25(backend.corpus, folder)
            assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
            corpora.flip(path, bit)
    assert len(BM25(backend.corpus, folder).search("bano", 3)) == 3
    assert capfd.readouterr().err == ""
    next(folder.glob("*.idx")).unlink()
    with pytest.raises(ValueError, match="idx: found no such file, expected .*delete the folder"):
        open_index(backend.corpus, folder)


def test_a_panic_of_the_library_is_told_as_an_error(tmp_path):
    """An index that is damaged after it was opened, or too large to be checked by checksums."""
    backend, folder, causes = open_over(tmp_path, random_paragraphs(40)), tmp_path / "index", set()
    for path in (path for path in folder.iterdir() if path.suffix in (".idx", ".term", ".fast")):
        whole = path.read_bytes()
        for start in range(0, len(whole), 100):
            with path.open("r+b") as file:  # while it is memory-mapped
                file.seek(start)
                file.write(b"\xff" * len(whole[start : start + 100]))
            try:
                backend.search("bano cano", 9)
            except ValueError as error:
                assert str(error).startswith(f"{folder}: found an index that cannot be read (")
                assert "delete the folder" in str(error) and "\n" not in str(error)
                causes.add(type(error.__cause__).__name__)
            with path.open("r+b") as file:
                file.write(whole)
    assert "PanicException" in causes


BUILD_AND_HANG = """
from ircotlib.retrieval.bm25 import build_index
build_index(Corpus(sys.argv[1]), sys.argv[2], lambda positions: hang(positions, 200))
"""


def test_a_build_that_was_killed_leaves_no_index_and_the_next_one_builds_it(tmp_path):
    corpus, folder = write_corpus(tmp_path / "corpus", random_paragraphs(400)), tmp_path / "index"
    corpora.run_and_kill(BUILD_AND_HANG, corpus.folder, folder)
    assert not folder.exists()
    backend, fresh = open_index(corpus, folder), open_index(corpus, tmp_path / "fresh")
    assert ranked(backend, "bano dulo", 9) == ranked(fresh, "bano dulo", 9)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"corpus", "index", "index.lock", "fresh", "fresh.lock"}


@pytest.fixture(scope="session")
def real(shared, tmp_path_factory) -> BM25:
    """A backend over the 4,311 paragraphs of the 2Wiki sample."""
    records = read_2wikimultihopqa(shared / "2wikimultihopqa" / "dev_657.json")
    return open_over(tmp_path_factory.mktemp("real"), pool(context for _, context in records))


BURIAL = "Where was the place of burial of Charles Mathew's father?"
FILM = "Which film has the director who died earlier, Gold For The Caesars or Heinz In The Moon?"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (BURIAL, {"Charles Mathew": 27.229, "James Charles Mathew": 26.4, "Place of origin": 19.004,
                  "Place of birth": 17.849, "Sarre Anglo-Saxon cemetery": 15.261}),
        (FILM, {"Heinz in the Moon": 35.028, "Gold for the Caesars": 31.912, "Bloody Moon": 17.109,
                "Cold Moon (2016 film)": 18.25, "Hello Caesar!": 17.634}),
    ],
)  # fmt: skip
def test_real_questions_find_what_elasticsearch_finds(real, query, expected):
    """Titles and scores as the server answered (9.0.4, one shard, match on title and text)."""
    scores = {paragraph.title: score for paragraph, score in real.search(query, 5)}
    assert scores == pytest.approx(expected, abs=0.0011)


def test_real_titles_are_their_own_nearest_in_any_case(real):
    """By BM25 alone, 16 titles would not be: others differ only in a stop word or ending."""
    titles = list(dict.fromkeys(paragraph.title for paragraph in real.corpus))
    assert [title for title in titles if real.nearest_titles(title) != [title]] == []
    lower = [title.lower() for title in titles]
    assert [title for title in lower if real.nearest_titles(title)[0].lower() != title] == []
    assert real.nearest_titles("Open House", 2) == ["Open House", "The Open House"]
