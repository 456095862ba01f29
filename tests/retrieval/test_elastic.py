"""The Elasticsearch backend against a real server: analyzer, ranking and replies are those of the
embedded backend.
"""

import dataclasses
import json
import math
import random
import re
from bisect import bisect_right
from collections import Counter
from itertools import accumulate, cycle
from typing import NamedTuple

import pytest
from asking import ask, ask_one
from test_bm25 import repeated_paragraphs

from ircotlib.data import Paragraph, Question
from ircotlib.datasets.hotpotqa import read_hotpotqa
from ircotlib.datasets.musique import read_musique
from ircotlib.datasets.pooled import pool
from ircotlib.datasets.twowiki import read_2wikimultihopqa
from ircotlib.program import Generate, NearestTitle, Retrieve
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import BM25, open_index
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.retrieval.ranking import Refused

elasticsearch = pytest.importorskip(
    "elasticsearch", reason="needs the client: pip install -e '.[dev]'"
)

from ircotlib.retrieval import elastic, elastic_client, elastic_load, ranking
from ircotlib.retrieval.elastic import Elasticsearch
from ircotlib.retrieval.elastic_load import open_elasticsearch

SAMPLES = {  # each with its number of questions
    "hotpotqa/dev_distractor_498.json": (read_hotpotqa, 498),
    "2wikimultihopqa/dev_657.json": (read_2wikimultihopqa, 657),
    "musique/dev_210.jsonl": (read_musique, 210),
}
# of characters: scripts, digits, punctuation, spaces, combining marks, format characters, symbols,
# emoji, flags, tags
SPANS = """
    41-5A,61-7A 30-39 21-2F,3A-40,5B-60,7B-7E 9-D,20,A0,2009,2028,202F,3000 A1-24F 370-3FF 400-52F
    531-589 591-5F4 600-6FF 700-74F 900-97F 980-9FF B80-BFF E01-E5B E81-EDF 1000-10FF 1100-11FF
    1200-137F 1780-17FF 300-36F AD,200B-200F,202A-202E,2060-2064,FE00-FE0F 2010-205E
    2070-209C,20D0-20F0,2100-2138,213A-218B 2600-27BF 1F1E6-1F1FF 1F300-1F6FF,1F900-1F9FF
    1F3FB-1F3FF 3041-309F 30A0-30FF,31F0-31FF 4E00-4FFF AC00-AD00 FF01-FFDC FB00-FB4F 10400-1044F
    1D400-1D7FF 20000-20040 E0020-E007F 2C00-2C5E,2D00-2D7F
"""


def same_order(reply: str, other: str) -> bool:
    return [hit[0] for hit in json.loads(reply)] == [hit[0] for hit in json.loads(other)]


def explain(reply: str, other: str) -> str | None:
    """Why two replies to Retrieve differ, if it is only by rounding; otherwise None.

    The embedded index adds the parts of a score in 32 bits, the server in 64. One of them may round
    a score up and the other down, if it is halfway between two thousandths. That makes or breaks a
    tie, and may let another paragraph of that tie in at the end.
    """
    if '"' in reply + other:  # titles
        return None
    scores, others = dict(json.loads(reply)), dict(json.loads(other))
    if len(scores) != len(others):
        return None
    last = {
        position: score
        for position, score in (*scores.items(), *others.items())
        if (position in scores) != (position in others)
    }
    near = [
        abs(scores[position] - others[position]) < 0.0015
        for position in scores
        if position in others
    ]
    at_the_end = [
        abs(score - end) < 0.0015
        for score in last.values()
        for end in (min(scores.values()), min(others.values()))
    ]
    return "rounding at the third decimal" if all(near + at_the_end) else None


def test_only_rounding_is_explained():
    reply = "[[7,5.001],[3,5.0],[9,2.5]]"
    assert explain(reply, "[[3,5.001],[7,5.001],[9,2.5]]")
    assert explain(reply, "[[7,5.001],[3,5.0],[8,2.5]]")
    worse = (
        "[[7,5.001],[3,5.0]]",
        "[[3,5.001],[7,5.001],[9,2.498]]",
        "[[7,5.001],[8,5.0],[9,2.5]]",
        "[[7,5.001],[3,5.0],[8,2.498]]",
    )
    assert [explain(reply, other) for other in worse] == [None] * 4


class Sample(NamedTuple):
    questions: list[Question]
    embedded: BM25
    server: Elasticsearch


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request, shared, tmp_path_factory):
    """The questions of a real sample, and the two backends over its pooled paragraphs."""
    read, count = SAMPLES[request.param]
    records, name = read(shared / request.param), request.param.split("/")[0]
    assert len(records) == count
    folder = tmp_path_factory.mktemp(name)
    corpus = write_corpus(folder / "corpus", pool(context for _, context in records))
    server = open_elasticsearch(
        corpus, request.getfixturevalue("elasticsearch_url"), f"parity-{name}"
    )
    questions = [question for question, _ in records]
    return Sample(questions, open_index(corpus, folder / "index"), server)


def compare(embedded, server, requests: list) -> None:
    """Check that at least 99% of the replies have the same order, and that rounding explains the
    other ones.
    """
    pairs = list(zip(requests, ask(embedded, requests), ask(server, requests), strict=True))
    differing = [(request, one, other) for request, one, other in pairs if one != other]
    assert [difference for difference in differing if not explain(*difference[1:])] == []
    assert sum(same_order(one, other) for _, one, other in pairs) >= 0.99 * len(requests)
    print(f"{len(requests)} requests, {len(differing)} replies not equal, all by rounding; "
          f"{sum(not same_order(*pair) for _, *pair in differing)} in another order")  # fmt: skip


def test_real_questions_find_the_same_paragraphs_in_the_same_order(sample):
    questions, embedded, server = sample
    compare(embedded, server, [Retrieve(question.text, 15) for question in questions])


def test_real_questions_within_allowed_titles(sample):
    """Questions limited to some titles, with one or several hits, out of few or many matches."""
    questions, embedded, server = sample
    titles, chance = sorted({paragraph.title for paragraph in embedded.corpus}), random.Random(50)
    requests = []
    for question, (count, k) in zip(questions, cycle([(50, 15), (50, 1), (500, 5)])):
        requests.append(Retrieve(question.text, k, tuple(chance.sample(titles, count))))
    compare(embedded, server, requests)


def test_nearest_titles_are_equal(sample):
    """Titles unchanged, in lower case and cut short; and whole questions, which are no titles."""
    questions, embedded, server = sample
    titles = list(dict.fromkeys(paragraph.title for paragraph in embedded.corpus))
    requests = [NearestTitle(title) for title in titles[::3]] + [
        NearestTitle(title.lower()) for title in titles[::7]
    ]
    requests += [NearestTitle(title.rsplit(" ", 1)[0], 3) for title in titles[::7]] + [
        NearestTitle(question.text, 4) for question in questions
    ]
    assert ask(embedded, requests) == ask(server, requests)


@pytest.fixture(scope="module")
def analyze_on_server(elasticsearch_url):
    """The server's terms for many texts, analyzed in few calls."""
    client = elasticsearch.Elasticsearch(elasticsearch_url)
    text = {"type": "text", "analyzer": "english"}
    client.indices.create(
        index="analyzer",
        settings={"analyze.max_token_count": 10**6},
        mappings={"properties": {"text": text}},
    )

    def analyze_all(texts: list[str]) -> list[list[str]]:
        """The terms of each text. A token belongs to the text in which it starts; offsets count
        UTF-16 units over all texts of a call, with one more between two texts.
        """
        starts = [0, *accumulate(len(text.encode("utf-16-le")) // 2 + 1 for text in texts)]
        terms = [[] for _ in texts]
        for token in client.indices.analyze(index="analyzer", field="text", text=texts)["tokens"]:
            terms[bisect_right(starts, token["start_offset"]) - 1].append(token["token"])
        return terms

    return lambda texts: [
        terms
        for start in range(0, len(texts), 1000)
        for terms in analyze_all(texts[start : start + 1000])
    ]


def test_terms_of_all_real_texts_are_those_of_the_server(sample, analyze_on_server):
    questions, embedded, _ = sample
    texts = [question.text for question in questions] + [
        text for p in embedded.corpus for text in (p.title, p.text)
    ]
    texts = list(dict.fromkeys(texts))
    assert [
        text
        for text, terms in zip(texts, analyze_on_server(texts), strict=True)
        if analyze(text) != terms
    ] == []
    print(f"{len(texts)} texts, all equal")


def test_terms_of_random_strings_are_those_of_the_server(analyze_on_server):
    pools = [
        [chr(code) for span in spans.split(",") for code in codes(span)] for spans in SPANS.split()
    ]
    chance = random.Random(0)
    drawn = (
        chance.choices(chance.sample(pools, chance.randint(1, 5)), k=chance.randint(1, 24))
        for _ in range(30_000)
    )
    texts = ["".join(chance.choice(pool) for pool in pools) for pools in drawn]
    found = analyze_on_server(texts)
    assert [
        ascii(text) for text, terms in zip(texts, found, strict=True) if analyze(text) != terms
    ] == []
    assert sum(map(len, found)) > 120_000


def codes(span: str) -> range:
    first, _, last = span.partition("-")
    return range(int(first, 16), int(last or first, 16) + 1)


def paragraphs(*titles: str, text: str = "word") -> list[Paragraph]:
    return [Paragraph(str(number), title, text) for number, title in enumerate(titles)]


def random_paragraphs(count: int, most: int) -> list[Paragraph]:
    chance, words = (
        random.Random(count),
        [f"{start}{end}" for start in "bcdfghjk" for end in ("ano", "oru", "ulo")],
    )
    texts = [
        [" ".join(chance.choices(words, k=chance.randint(1, k))) for k in (3, most)]
        for _ in range(count)
    ]
    return [Paragraph(f"p{number}", *pair) for number, pair in enumerate(texts)]


@pytest.fixture
def both(elasticsearch_url, tmp_path, request):
    """both(paragraphs, **loading): the embedded backend and the server's over a corpus of them."""

    def open_both(content: list[Paragraph], **loading):
        corpus = write_corpus(tmp_path / "corpus", content)
        name = re.sub(r"\W+", "-", request.node.name.replace("_", "-")).strip("-").lower()
        return open_index(corpus, tmp_path / "index"), open_elasticsearch(
            corpus, elasticsearch_url, name, **loading
        )

    return open_both


@pytest.mark.parametrize("shards", [1, 3])
def test_ties_stand_in_the_order_of_the_corpus_on_any_number_of_shards(both, shards):
    once = random_paragraphs(60, 5)
    embedded, server = both(
        [Paragraph(f"{turn}-{p.id}", p.title, p.text) for turn in range(8) for p in once],
        shards=shards,
    )
    requests = [Retrieve(p.text, k) for p in once for k in (1, 5, 15)]
    assert [
        len(index["shards"])
        for index in server._server.client.indices.segments(index=server._index)["indices"].values()
    ] == [shards]
    assert ask(embedded, requests) == ask(server, requests)
    assert len({json.loads(reply)[-1][1] for reply in ask(server, requests)}) > 50


def test_a_tie_longer_than_what_is_fetched_still_starts_at_its_beginning(both):
    _, server = both(paragraphs(*["Same"] * 300), shards=2)
    assert [int(paragraph.id) for paragraph, _ in server.search("word", 5)] == [0, 1, 2, 3, 4]
    assert len(server.search("word", 10**6)) == 300


def test_batches_of_mixed_requests(both):
    embedded, server = both(random_paragraphs(100, 30))
    requests = [Retrieve(p.text, 1 + place % 20) for place, p in enumerate(embedded.corpus)] + [
        NearestTitle(p.title, 2) for p in embedded.corpus
    ]
    random.Random(3).shuffle(requests)
    requests += [
        Retrieve("", 5),
        Retrieve("the of and", 5, ("Bano",)),
        Retrieve("unheardof", 5),
        *requests[:40],
    ]
    compare(embedded, server, requests)
    assert [server.decode(reply) for reply in ask(server, requests)] == [
        embedded.decode(reply) for reply in ask(embedded, requests)
    ]
    assert server.answers == embedded.answers
    assert server.take(requests) == list(range(64))
    assert server.take(requests[:5]) == [0, 1, 2, 3, 4]
    assert ask(server, []) == []


def test_what_cannot_be_answered_costs_only_its_request(both):
    """Nearly 200 requests, which take four rounds; every fifth one is faulty or refused."""
    embedded, server = both(random_paragraphs(80, 5))
    sound = [Retrieve(p.text, 4) for p in embedded.corpus]
    sound += [NearestTitle(p.title, 3) for p in embedded.corpus]
    faulty = [Retrieve("bano", 0), Retrieve("bano", 0, None, True), NearestTitle("bano", -1)]
    too_long = [Retrieve(f"{long_text()} {number}", 5) for number in range(3)]
    requests = sound + faulty + too_long
    random.Random(1).shuffle(requests)
    replies = dict(zip(requests, ask(server, requests), strict=True))
    assert [replies[request] for request in sound] == ask(embedded, sound)
    assert [str(replies[request]) for request in faulty] == list(map(str, ask(embedded, faulty)))
    assert {type(replies[request]) for request in faulty + too_long} == {Refused}
    for request in too_long:
        assert "refused the search 'word0 word1" in str(replies[request])
    with pytest.raises(ValueError, match="k is 0: ask for at least 1 paragraph"):
        server.search("bano", 0)
    with pytest.raises(ValueError, match="n is -1: ask for at least 1 title"):
        server.nearest_titles("bano", -1)


def long_text() -> str:
    """A text with more words than the server accepts."""
    return " ".join(f"word{number}" for number in range(20_000))


def test_a_request_of_another_class_is_an_error(both):
    _, server = both(random_paragraphs(5, 5))
    with pytest.raises(TypeError, match="found the request Generate.*expected Retrieve or Nearest"):
        next(server.answer([Retrieve("bano", 3), Generate("bano")]))


@pytest.mark.parametrize("k", [1, 5, 15, 400])
def test_of_equal_texts_only_the_best_counts_if_asked(both, k):
    """As in the embedded index, which another test compares with brute force."""
    embedded, server = both(repeated_paragraphs(), shards=2)
    titles = tuple(dict.fromkeys(p.title for p in list(embedded.corpus)[::3]))
    queries = [p.text for p in list(embedded.corpus)[::9]]
    requests = [Retrieve(query, k, t, True) for query in queries for t in (None, titles)]
    assert ask(server, requests) == ask(embedded, requests)


def test_titles_are_compared_letter_by_letter(both):
    titles = ["It", "it", "It ", "The It", "", "US", "Us", "us Us us", "ÎLE", "Île", "The Us"]
    embedded, server = both(paragraphs(*titles, text="clown"))
    requests = [Retrieve("clown", 9, (title,)) for title in titles] + [
        Retrieve("clown", 9, ()),
        Retrieve("clown", 9, ("No such title", "it")),
    ]
    assert [[hit[0] for hit in json.loads(reply)] for reply in ask(server, requests)] == [
        [n] for n in range(len(titles))
    ] + [[], [1]]
    nearest = [
        NearestTitle(title, n)
        for title in [*titles, "Rome", "île", "IT", "us the"]
        for n in (1, 3, 20)
    ]
    assert ask(server, nearest) == ask(embedded, nearest)
    assert server.nearest_titles("us", 4) == ["US", "Us", "us Us us", "The Us"]


def test_titles_without_terms_count_in_the_embedded_scores_alone(both):
    """The only difference in scores, and its size. "It" has no terms, so the server leaves it out
    of the number of titles and of their mean length.
    """
    content = [
        Paragraph(f"p{n}", "It" if n % 4 == 0 else f"river {n}", f"word {n}") for n in range(40)
    ]
    embedded, server = both(content)
    assert score_of_title("river", content, all_count=True) == pytest.approx(
        json.loads(ask_one(embedded, Retrieve("river", 1)))[0][1], abs=6e-4
    )
    assert score_of_title("river", content, all_count=False) == pytest.approx(
        json.loads(ask_one(server, Retrieve("river", 1)))[0][1], abs=6e-4
    )


def score_of_title(word: str, content: list[Paragraph], all_count: bool) -> float:
    """BM25 of a word that occurs once in a title of two words, computed over all titles or over
    those with terms.
    """
    lengths = [len(analyze(p.title)) for p in content if all_count or analyze(p.title)]
    having = sum(word in analyze(p.title) for p in content)
    idf = math.log(1 + (len(lengths) - having + 0.5) / (having + 0.5))
    return idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / (sum(lengths) / len(lengths))))


def test_as_many_titles_as_the_corpus_has_may_be_allowed(both, monkeypatch):
    monkeypatch.setattr(elastic_load, "MOST_TITLES", 10)
    embedded, server = both(paragraphs(*(f"word {number}" for number in range(30))))
    titles = tuple(paragraph.title for paragraph in embedded.corpus)
    assert ask(server, [Retrieve("word", 30, titles)]) == ask(
        embedded, [Retrieve("word", 30, titles)]
    )
    refused = ask_one(server, Retrieve("word", 1, (*titles, "another")))
    assert type(refused) is Refused
    expected = r"refused the search 'word' \(4 characters, 11 hits\).*31.*maximum of \[30\]"
    assert re.search(expected, str(refused))


def test_more_hits_than_the_servers_default_come_from_a_larger_corpus(both, monkeypatch):
    monkeypatch.setattr(elastic_load, "MOST_HITS", 10)
    embedded, server = both(paragraphs(*["word"] * 30))
    assert ask(server, [Retrieve("word", 25)]) == ask(embedded, [Retrieve("word", 25)])


def test_a_search_that_is_refused_is_named_with_its_reason(both):
    _, server = both(random_paragraphs(30, 5))
    text = long_text()
    requests = [Retrieve("bano", 5), Retrieve(text, 5), Retrieve("cano", 5)]
    before, refused, after = ask(server, requests)
    expected = (
        rf"refused the search 'word0 word1 .*…' \({len(text)} characters, 15 hits\): status 400"
    )
    expected += ", .*clause"
    assert re.search(expected, str(refused))
    assert [before, after] == [ask_one(server, request) for request in requests[::2]]
    with pytest.raises(ValueError, match=expected):
        server.search(text, 5)


def test_the_fingerprint_follows_the_content_and_not_the_address(
    elasticsearch_url, tmp_path, monkeypatch
):
    def fingerprint(
        url: str = elasticsearch_url, name: str = "fingerprint", count: int = 20
    ) -> str:
        return open_elasticsearch(
            write_corpus(tmp_path / name, random_paragraphs(count, 5)), url, name
        ).fingerprint

    first = fingerprint()
    assert (
        first
        == fingerprint(elasticsearch_url.replace("127.0.0.1", "localhost"))
        == fingerprint(name="elsewhere")
    )
    others = [fingerprint(count=21)]
    monkeypatch.setattr(ranking, "SCORING", "another scoring")
    others.append(fingerprint())
    monkeypatch.undo()
    connect = elastic_client.connect
    monkeypatch.setattr(elastic, "connect", lambda *given: with_lucene(connect(*given), "10.9.9"))
    others.append(fingerprint())
    assert len({first, *others}) == 4


def with_lucene(server, version: str):
    return dataclasses.replace(server, lucene=version)


def test_positions_and_texts_come_from_the_corpus_on_disk(both):
    _, server = both(random_paragraphs(50, 9))
    assert Counter(type(paragraph) for paragraph, _ in server.search("bano", 9)) == {
        Paragraph: len(server.search("bano", 9))
    }
    assert server.search("bano", 9) == [
        (Corpus(server.corpus.folder)[n], score)
        for n, score in json.loads(ask_one(server, Retrieve("bano", 9)))
    ]
