"""The embedded BM25: against a brute force, on real questions, through kills, changes and ties."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import tantivy
from asking import ask, ask_one

from ircotlib.data import Paragraph
from ircotlib.files.checksums import write_description
from ircotlib.program import Generate, NearestTitle, Retrieve
from ircotlib.retrieval import bm25
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import BM25, build_index, open_index
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.retrieval.ranking import Refused

WORDS = [f"{start}{end}" for start in "bcdfghjklm" for end in ("ano", "oru", "ulo", "agi")]


def random_text(chance: random.Random, most: int) -> str:
    """Random words; the first ones of the list are frequent, the last ones rare."""
    return " ".join(
        WORDS[int(len(WORDS) * chance.random() ** 3)] for _ in range(chance.randint(1, most))
    )


def random_paragraphs(count: int, most: int = 120) -> list[Paragraph]:
    chance = random.Random(count)
    return [
        Paragraph(f"p{number}", random_text(chance, 3), random_text(chance, most))
        for number in range(count)
    ]


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
                totals[position] += (
                    idf * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / mean))
                )
    return sorted(totals.items(), key=lambda hit: (-round(hit[1], 3), hit[0]))[:k]


@pytest.fixture(scope="module")
def backend(tmp_path_factory) -> BM25:
    """A backend over 300 random paragraphs."""
    folder = tmp_path_factory.mktemp("random")
    return open_index(write_corpus(folder / "corpus", random_paragraphs(300)), folder / "index")


def ranked(backend: BM25, query: str, k: int, titles=None) -> list[tuple[int, float]]:
    return [tuple(hit) for hit in json.loads(ask_one(backend, Retrieve(query, k, titles)))]


@pytest.mark.parametrize("seed", range(30))
def test_scores_and_order_are_those_of_a_brute_force(backend, seed):
    query = random_text(random.Random(seed), 12)  # some words more than once
    found, expected = ranked(backend, query, 25), brute_force(list(backend.corpus), query, 25)
    assert [position for position, _ in found] == [position for position, _ in expected]
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in expected], abs=0.00051
    )


def test_replies_decode_to_paragraphs_best_first(backend):
    requests = [Retrieve("bano cano", 4), Retrieve("dulo", 2), Retrieve("bano cano", 4)]
    replies = ask(backend, requests)
    assert replies[0] == replies[2]
    assert [len(backend.decode(reply)) for reply in replies] == [4, 2, 4]
    assert backend.decode(replies[0]) == tuple(
        paragraph for paragraph, _ in backend.search("bano cano", 4)
    )
    assert backend.decode("[[7,1.5],[3,0.25]]") == (backend.corpus[7], backend.corpus[3])
    assert BM25.answers == (Retrieve, NearestTitle)


def test_many_requests_at_once_get_the_replies_of_one_at_a_time(backend):
    chance = random.Random(5)
    requests = [Retrieve(random_text(chance, 8), chance.randint(1, 30)) for _ in range(200)]
    assert ask(backend, requests) == [ask_one(backend, request) for request in requests]


def test_equal_requests_of_a_batch_are_searched_once(backend, monkeypatch):
    searched, search = [], backend._search
    monkeypatch.setattr(backend, "_search", lambda asked: searched.append(asked) or search(asked))
    assert len(ask(backend, [Retrieve("bano", 3), Retrieve("bano", 4)] * 10)) == 20
    assert sorted(asked.size for asked in searched) == [13, 14]


@pytest.mark.parametrize("query", ["", "the of and", "?!", "unheardof"])
def test_a_query_without_known_terms_finds_nothing(backend, query):
    assert ask(backend, [Retrieve(query, 5), Retrieve(query, 5, ("Bano",))]) == ["[]", "[]"]
    assert backend.decode("[]") == ()
    assert backend.search(query) == []


@pytest.mark.parametrize("k", [0, -3])
def test_k_or_n_below_one_costs_only_its_request(backend, k):
    sound = [Retrieve("bano", 3), Retrieve("cano", 2), NearestTitle("bano", 2)]
    faulty = [Retrieve("bano", k), Retrieve("bano", k, None, True), NearestTitle("bano", k)]
    *replies, few, distinct, titles = ask(backend, sound + faulty)
    assert replies == [ask_one(backend, request) for request in sound]
    assert [type(few), str(few)] == [Refused, f"k is {k}: ask for at least 1 paragraph"]
    assert [type(distinct), str(distinct)] == [Refused, str(few)]
    assert [type(titles), str(titles)] == [Refused, f"n is {k}: ask for at least 1 title"]
    with pytest.raises(ValueError, match=f"k is {k}: ask for at least 1"):
        backend.search("bano", k)
    with pytest.raises(ValueError, match=f"n is {k}: ask for at least 1"):
        backend.nearest_titles("bano", k)


def test_half_of_a_surrogate_pair_costs_only_its_request(backend):
    faulty = [Retrieve("bano \ud800", 3), Retrieve("bano", 3, ("\udfff",)), NearestTitle("\ud800")]
    sound, *refused = ask(backend, [Retrieve("bano", 3), *faulty])
    assert sound == ask_one(backend, Retrieve("bano", 3))
    assert [type(reply) for reply in refused] == [Refused] * 3
    assert all("found half of a surrogate pair in '" in str(reply) for reply in refused)


def test_a_request_of_another_class_is_an_error_before_any_search(backend, monkeypatch):
    monkeypatch.setattr(backend, "_search", None)
    with pytest.raises(TypeError, match="found the request Generate.*expected Retrieve or Nearest"):
        next(backend.answer([Retrieve("bano", 3), Generate("bano")]))


def test_what_was_answered_before_a_failure_is_given(backend, monkeypatch):
    search = backend._search

    def break_at_20(asked):
        if asked.size == 20:
            raise OSError("the disk is gone")
        return search(asked)

    monkeypatch.setattr(backend, "_search", break_at_20)
    answering = backend.answer([Retrieve("bano", k) for k in (4, 2, 10, 3)])
    assert next(answering) == (0, ask_one(backend, Retrieve("bano", 4)))
    assert next(answering) == (1, ask_one(backend, Retrieve("bano", 2)))
    with pytest.raises(OSError, match="the disk is gone"):
        next(answering)


def repeated_paragraphs() -> list[Paragraph]:
    """Short paragraphs; each text occurs up to 90 times, in any case, under different titles."""
    chance, titles = random.Random(7), [paragraph.title for paragraph in random_paragraphs(40)]
    texts = [paragraph.text for paragraph in random_paragraphs(40, most=6)]
    times = [90, 30, *[chance.randint(1, 5) for _ in texts[2:]]]
    cases = (str, str.upper, str.title)
    repeated = [chance.choice(cases)(text) for text, n in zip(texts, times) for _ in range(n)]
    chance.shuffle(repeated)
    return [Paragraph(f"p{n}", chance.choice(titles), text) for n, text in enumerate(repeated)]


@pytest.mark.parametrize("k", [1, 5, 15, 400])
def test_of_equal_texts_only_the_best_counts_if_asked(tmp_path, k):
    backend = open_index(write_corpus(tmp_path / "corpus", repeated_paragraphs()), tmp_path / "i")
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
    tied = open_index(write_corpus(tmp_path / "corpus", repeated_paragraphs()), tmp_path / "i")
    for searched in (backend, tied):
        titles = tuple(dict.fromkeys(p.title for p in list(searched.corpus)[::3]))
        queries = [p.text for p in list(searched.corpus)[::31]]
        for distinct in (False, True):
            how = [(query, t) for query in queries for t in (None, titles)]
            most = ask(searched, [Retrieve(q, searched.depth, t, distinct) for q, t in how])
            for k in range(1, searched.depth):
                fewer = ask(searched, [Retrieve(q, k, t, distinct) for q, t in how])
                assert [json.loads(one)[:k] for one in most] == list(map(json.loads, fewer))


def test_k_beyond_the_corpus_gives_all_that_match(backend):
    matching = [
        position
        for position, paragraph in enumerate(backend.corpus)
        if "bano" in f"{paragraph.title} {paragraph.text}".split()
    ]
    assert sorted(position for position, _ in ranked(backend, "bano", 10**6)) == matching


def test_allowed_titles_leave_out_the_others_and_change_no_score(backend):
    titles = tuple(dict.fromkeys(paragraph.title for paragraph in list(backend.corpus)[::5]))
    everything = ranked(backend, "bano coru dulo", 300)
    expected = [hit for hit in everything if backend.corpus[hit[0]].title in titles]
    assert 0 < len(expected) < len(everything)
    assert ranked(backend, "bano coru dulo", 300, titles) == expected
    assert ranked(backend, "bano coru dulo", 3, titles) == expected[:3]
    assert ranked(backend, "bano", 5, ()) == ranked(backend, "bano", 5, ("No such title",)) == []


def test_allowed_titles_are_compared_letter_by_letter(tmp_path):
    titles = ["It", "it", "It ", "The It", ""]
    corpus = write_corpus(
        tmp_path / "corpus",
        [Paragraph(str(number), title, "clown") for number, title in enumerate(titles)],
    )
    backend = open_index(corpus, tmp_path / "index")
    assert [
        [position for position, _ in ranked(backend, "clown", 9, (title,))] for title in titles
    ] == [[0], [1], [2], [3], [4]]


def test_nearest_titles(tmp_path):
    titles = ["Paris", "Paris, Texas", "London", "Paris", "It", "The Texas Rangers"]
    corpus = write_corpus(
        tmp_path / "corpus",
        [Paragraph(str(number), title, "Texas") for number, title in enumerate(titles)],
    )
    backend = open_index(corpus, tmp_path / "index")
    assert backend.nearest_titles("paris") == ["Paris"]
    assert backend.nearest_titles("Texas (Paris)", 9) == [
        "Paris, Texas",
        "The Texas Rangers",
        "Paris",
    ]
    assert backend.nearest_titles("It") == ["It"]  # a stop word
    assert backend.nearest_titles("The") == backend.nearest_titles("Rome") == []
    assert backend.nearest_titles("paris, texas") == ["Paris, Texas"]


def test_the_same_title_stands_first_then_in_any_case_then_by_bm25(tmp_path):
    titles = ["US", "it", "Us", "us Us us", "ÎLE", "Île", "The Us"]
    corpus = write_corpus(
        tmp_path / "corpus",
        [Paragraph(str(number), title, "word") for number, title in enumerate(titles)],
    )
    backend = open_index(corpus, tmp_path / "index")
    assert backend.nearest_titles("Us", 4) == ["Us", "US", "us Us us", "The Us"]
    assert backend.nearest_titles("us", 1) == ["US"]
    assert backend.nearest_titles("IT") == ["it"]
    assert backend.nearest_titles("île", 3) == ["ÎLE", "Île"]


def test_nearest_titles_as_requests(tmp_path):
    corpus = write_corpus(
        tmp_path / "corpus",
        [Paragraph(title, title, "x") for title in ("rome", "rome (city)", "malmö")],
    )
    backend = open_index(corpus, tmp_path / "index")
    requests = [
        NearestTitle("Rome"),
        Retrieve("x", 1),
        NearestTitle("Malmö"),
        NearestTitle("Rome", 2),
        NearestTitle("Paris"),
    ]
    found = [backend.decode(reply) for reply in ask(backend, requests)]
    assert found == [("rome",), (corpus[0],), ("malmö",), ("rome", "rome (city)"), ()]


def test_nearest_titles_looks_past_a_title_with_many_paragraphs(tmp_path):
    paragraphs = [Paragraph(str(number), "Mars", "line") for number in range(200)] + [
        Paragraph("x", "Mars rover", "line")
    ]
    backend = open_index(write_corpus(tmp_path / "corpus", paragraphs), tmp_path / "index")
    assert backend.nearest_titles("Mars", 2) == ["Mars", "Mars rover"]
    assert backend.nearest_titles("Mars", 3) == ["Mars", "Mars rover"]


def build_in_pieces(corpus: Corpus, folder: Path) -> None:
    """Build the same index from documents in another order, in segments of 40."""
    folder.mkdir()
    index = tantivy.Index(bm25._schema(), str(folder))
    positions = random.Random(9).sample(range(len(corpus)), len(corpus))
    for start in range(0, len(positions), 40):
        writer = index.writer(num_threads=1)
        for position in positions[start : start + 40]:
            document = tantivy.Document()
            document.add_text("title", " ".join(analyze(corpus[position].title)))
            document.add_text("text", " ".join(analyze(corpus[position].text)))
            document.add_text("whole_title", corpus[position].title)
            document.add_unsigned("position", position)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
    write_description(folder / "index.json", bm25._describe(corpus) | {"files": {}})


def test_ties_stand_in_the_order_of_the_corpus_however_the_index_was_built(tmp_path):
    once = random_paragraphs(60, most=6)
    corpus = write_corpus(
        tmp_path / "corpus",
        [Paragraph(f"{turn}-{p.id}", p.title, p.text) for turn in range(8) for p in once],
    )
    build_in_pieces(corpus, tmp_path / "pieces")
    whole, again, pieces = (
        open_index(corpus, tmp_path / name) for name in ("whole", "again", "pieces")
    )
    requests = [
        Retrieve(random_text(random.Random(seed), 6), k) for seed in range(40) for k in (1, 5, 15)
    ]
    assert ask(whole, requests) == ask(again, requests) == ask(pieces, requests)
    for request, reply in zip(requests, ask(whole, requests)):
        hits = json.loads(reply)
        assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
        assert [position for position, _ in hits] == [
            position for position, _ in brute_force(list(corpus), request.query, request.k)
        ]


def test_a_tie_longer_than_what_is_fetched_still_starts_at_its_beginning(tmp_path):
    corpus = write_corpus(
        tmp_path / "corpus", [Paragraph(str(number), "Same", "one text") for number in range(300)]
    )
    build_in_pieces(corpus, tmp_path / "index")
    assert [
        position for position, _ in ranked(open_index(corpus, tmp_path / "index"), "text", 5)
    ] == [0, 1, 2, 3, 4]


def test_terms_with_unusual_characters_are_found(tmp_path):
    texts = [
        "km² 2½",
        'ראב"י',
        "\U0001f469\u200d\U0001f467",
        "a\u0301\u200e",
        "narrow\u202fspace",
        "x" * 255,
        "\U00010428" * 127,
        "#\ufe0f\u20e3",
        "don’t",
    ]
    corpus = write_corpus(
        tmp_path / "corpus", [Paragraph(str(number), "", text) for number, text in enumerate(texts)]
    )
    backend = open_index(corpus, tmp_path / "index")
    assert [[position for position, _ in ranked(backend, text, 9)] for text in texts] == [
        [number] for number in range(len(texts))
    ]


def test_an_index_is_built_once_and_opens_in_milliseconds(tmp_path):
    write_corpus(tmp_path / "corpus", random_paragraphs(3000))
    builds, seconds = [], []
    for _ in range(4):
        start = time.perf_counter()
        open_index(
            Corpus(tmp_path / "corpus"),
            tmp_path / "index",
            progress=lambda paragraphs: builds.append(1) or paragraphs,
        )
        seconds.append(time.perf_counter() - start)
    assert builds == [1]
    assert min(seconds) < 0.02


def test_two_who_open_at_once_build_once(tmp_path):
    corpus, builds = write_corpus(tmp_path / "corpus", random_paragraphs(500)), []
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(
                open_index,
                corpus,
                tmp_path / "index",
                lambda paragraphs: builds.append(1) or paragraphs,
            )
            for _ in range(4)
        ]
        backends = [job.result() for job in jobs]
    assert builds == [1]
    assert len({ask_one(backend, Retrieve("bano", 5)) for backend in backends}) == 1


def test_another_analyzer_or_corpus_makes_another_index_and_fingerprint(tmp_path, monkeypatch):
    folder, corpus = tmp_path / "index", write_corpus(tmp_path / "corpus", random_paragraphs(50))
    first = open_index(corpus, folder).fingerprint
    assert first == open_index(corpus, tmp_path / "elsewhere").fingerprint
    monkeypatch.setattr(bm25, "FINGERPRINT", "another analyzer")
    with pytest.raises(
        ValueError, match="expected .*another analyzer.*; open_index builds it again"
    ):
        BM25(corpus, folder)
    second = open_index(corpus, folder).fingerprint
    other = write_corpus(tmp_path / "other", random_paragraphs(51))
    with pytest.raises(ValueError, match="'count': 50.*expected.*'count': 51"):
        BM25(other, folder)
    backend = open_index(other, folder)
    assert len({first, second, backend.fingerprint}) == 3
    assert ranked(backend, "bano", 9) == ranked(open_index(other, tmp_path / "fresh"), "bano", 9)


def test_an_error_in_mid_build_leaves_the_old_index(tmp_path):
    def broken(paragraphs):
        yield next(iter(paragraphs))
        raise OSError("no space left")

    old, new = (
        write_corpus(tmp_path / name, random_paragraphs(count))
        for name, count in (("old", 40), ("new", 41))
    )
    build_index(old, tmp_path / "index")
    with pytest.raises(OSError, match="no space left"):
        build_index(new, tmp_path / "index", broken)
    assert len(BM25(old, tmp_path / "index").search("bano", 3)) == 3
    assert len(open_index(new, tmp_path / "index").search("bano", 3)) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"old", "new", "index", "index.lock"}


def test_a_damaged_index_is_an_error(tmp_path):
    corpus, folder = write_corpus(tmp_path / "corpus", random_paragraphs(40)), tmp_path / "index"
    open_index(corpus, folder)
    for path in folder.glob("*.idx"):
        path.unlink()
    with pytest.raises(ValueError, match="idx: found no such file, expected .*delete the folder"):
        open_index(corpus, folder)


def test_every_flipped_bit_of_an_index_is_noticed_in_one_line(tmp_path, capfd):
    corpus, folder = write_corpus(tmp_path / "corpus", random_paragraphs(40)), tmp_path / "index"
    open_index(corpus, folder)
    chance, paths = random.Random(1), [path for path in folder.iterdir() if path.stat().st_size]
    assert {path.suffix for path in paths} >= {".idx", ".term", ".fast", ".fieldnorm", ".json"}
    for path in paths:
        whole = path.read_bytes()
        for _ in range(20):
            content = bytearray(whole)
            content[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            put_in_place(path, content)
            with pytest.raises(ValueError, match="delete the folder, and the next run") as error:
                BM25(corpus, folder)
            assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
        put_in_place(path, whole)
    assert len(BM25(corpus, folder).search("bano", 3)) == 3
    assert capfd.readouterr().err == ""


def put_in_place(path: Path, content: bytes) -> None:
    """Put another file in the place of one. To cut a file that is memory-mapped would end the
    process: a thread of tantivy still reads an index for a moment after it was opened.
    """
    other = path.parent.parent / "other"
    other.write_bytes(content)
    other.replace(path)


def overwrite(path: Path, start: int, content: bytes) -> None:
    """Change a file in place while it is memory-mapped."""
    with path.open("r+b") as file:
        file.seek(start)
        file.write(content)


def test_a_panic_of_the_library_is_told_as_an_error(tmp_path):
    """An index that is damaged after it was opened, or too large to be checked by checksums."""
    corpus, folder = write_corpus(tmp_path / "corpus", random_paragraphs(40)), tmp_path / "index"
    backend, told = open_index(corpus, folder), set()
    for path in (path for path in folder.iterdir() if path.suffix in (".idx", ".term", ".fast")):
        whole = path.read_bytes()
        for start in range(0, len(whole), 100):
            overwrite(path, start, b"\xff" * len(whole[start : start + 100]))
            try:
                backend.search("bano cano", 9)
            except ValueError as error:
                assert str(error).startswith(f"{folder}: this index cannot be read (")
                assert "delete the folder" in str(error) and "\n" not in str(error)
                told.add(type(error.__cause__).__name__)
            overwrite(path, 0, whole)
    assert "PanicException" in told


def test_a_folder_with_other_files_is_never_replaced(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", random_paragraphs(40))
    with pytest.raises(ValueError, match="holds files that are no index"):
        open_index(corpus, tmp_path / "corpus")
    assert len(Corpus(tmp_path / "corpus")) == 40


BUILD_AND_HANG = """
import sys, time
from ircotlib.retrieval.bm25 import build_index
from ircotlib.retrieval.corpus import Corpus

def hang_in_the_middle(paragraphs):
    for number, paragraph in enumerate(paragraphs):
        if number == 200:
            print("half", flush=True)
            time.sleep(60)
        yield paragraph

build_index(Corpus(sys.argv[1]), sys.argv[2], hang_in_the_middle)
"""


def test_a_build_that_was_killed_leaves_no_index_and_the_next_one_builds_it(tmp_path):
    corpus, folder = write_corpus(tmp_path / "corpus", random_paragraphs(400)), tmp_path / "index"
    command = [sys.executable, "-c", BUILD_AND_HANG, str(corpus.folder), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "half\n"
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not folder.exists()
    with pytest.raises(ValueError, match="found an index of None"):
        BM25(corpus, folder)
    backend = open_index(corpus, folder)
    assert ranked(backend, "bano dulo", 9) == ranked(
        open_index(corpus, tmp_path / "fresh"), "bano dulo", 9
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        "corpus",
        "index",
        "index.lock",
        "fresh",
        "fresh.lock",
    }


@pytest.fixture(scope="session")
def real(shared, tmp_path_factory) -> BM25:
    """A backend over the 4,311 paragraphs of the 2Wiki sample."""
    folder = tmp_path_factory.mktemp("real")
    questions = json.loads(
        (shared / "2wikimultihopqa" / "dev_657.json").read_text(encoding="utf-8")
    )
    pairs = dict.fromkeys(
        (title, " ".join(lines)) for question in questions for title, lines in question["context"]
    )
    return open_index(
        write_corpus(folder / "corpus", (Paragraph(str(n), *pair) for n, pair in enumerate(pairs))),
        folder / "index",
    )


def test_real_questions_find_what_elasticsearch_finds(real):
    """Titles and scores as the server answered (9.0.4, one shard, match on title and text)."""
    burial = real.search("Where was the place of burial of Charles Mathew's father?", 5)
    assert [paragraph.title for paragraph, _ in burial] == [
        "Charles Mathew",
        "James Charles Mathew",
        "Place of origin",
        "Place of birth",
        "Sarre Anglo-Saxon cemetery",
    ]
    assert [score for _, score in burial] == pytest.approx(
        [27.229, 26.4, 19.004, 17.849, 15.261], abs=0.0011
    )
    film = real.search(
        "Which film has the director who died earlier, Gold For The Caesars or Heinz In The Moon?",
        5,
    )
    assert [paragraph.title for paragraph, _ in film] == [
        "Heinz in the Moon",
        "Gold for the Caesars",
        "Cold Moon (2016 film)",
        "Hello Caesar!",
        "Bloody Moon",
    ]
    assert [score for _, score in film] == pytest.approx(
        [35.028, 31.912, 18.25, 17.634, 17.109], abs=0.0011
    )


def test_real_titles_are_their_own_nearest_in_any_case(real):
    """By BM25 alone, 16 titles would not be: others that differ only in a stop word, an ending or
    the order of words would come first.
    """
    titles = list(dict.fromkeys(paragraph.title for paragraph in real.corpus))
    assert [title for title in titles if real.nearest_titles(title) != [title]] == []
    assert [
        title for title in titles if real.nearest_titles(title.lower())[0].lower() != title.lower()
    ] == []
    assert real.nearest_titles("Open House", 2) == ["Open House", "The Open House"]
