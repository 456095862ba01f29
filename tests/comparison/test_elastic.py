"""A real Elasticsearch has the terms, ranking and replies of the embedded backend."""

import dataclasses
import json
import math
import random
import re
from bisect import bisect_right
from itertools import accumulate, cycle

import corpora
import pytest
from asking import ask, ask_one
from corpora import compare, differs_by_rounding, positions_in, random_paragraphs, titled

from ircotlib.data import Paragraph
from ircotlib.datasets.hotpotqa import read_hotpotqa
from ircotlib.datasets.musique import read_musique
from ircotlib.datasets.pooled import pool
from ircotlib.datasets.twowiki import read_2wikimultihopqa
from ircotlib.program import Generate, NearestTitle, Retrieve
from ircotlib.retrieval import ranking
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.retrieval.ranking import Refused

elasticsearch = pytest.importorskip("elasticsearch", reason="needs pip install -e '.[dev]'")

from ircotlib.retrieval import elastic, elastic_client, elastic_load
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


@pytest.mark.parametrize(
    ("other", "rounding"),
    [
        ("[[3,5.001],[7,5.001],[9,2.5]]", True),
        ("[[7,5.001],[3,5.0],[8,2.5]]", True),
        ("[[3,5.001],[7,5.001]]", False),
        ("[[3,5.001],[7,5.001],[9,2.498]]", False),
        ("[[7,5.001],[8,5.0],[9,2.5]]", False),
    ],
)
def test_only_rounding_is_explained(other, rounding):
    assert differs_by_rounding("[[7,5.001],[3,5.0],[9,2.5]]", other) == rounding


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request, shared, tmp_path_factory):
    """The questions of a real sample, and the two backends over its pooled paragraphs."""
    read, count = SAMPLES[request.param]
    records, name = read(shared / request.param), request.param.split("/")[0]
    assert len(records) == count
    folder = tmp_path_factory.mktemp(name)
    corpus = write_corpus(folder / "corpus", pool(context for _, context in records))
    url = request.getfixturevalue("elasticsearch_url")
    server = open_elasticsearch(corpus, url, f"parity-{name}")
    return [question for question, _ in records], open_index(corpus, folder / "index"), server


def test_real_questions_find_the_same_paragraphs_in_the_same_order(sample):
    """In the whole corpus; and limited to some titles, with few or many matches."""
    questions, embedded, server = sample
    compare(embedded, server, [Retrieve(question.text, 15) for question in questions])
    titles, chance = sorted({paragraph.title for paragraph in embedded.corpus}), random.Random(50)
    sizes = cycle([(50, 15), (50, 1), (500, 5)])
    limited = [
        Retrieve(question.text, k, tuple(chance.sample(titles, count)))
        for question, (count, k) in zip(questions, sizes)
    ]
    compare(embedded, server, limited)


def test_nearest_titles_are_equal(sample):
    """Titles unchanged, in lower case and cut short; and whole questions, which are no titles."""
    questions, embedded, server = sample
    titles = list(dict.fromkeys(paragraph.title for paragraph in embedded.corpus))
    requests = [NearestTitle(title) for title in titles[::3]]
    requests += [NearestTitle(title.lower()) for title in titles[::7]]
    requests += [NearestTitle(title.rsplit(" ", 1)[0], 3) for title in titles[::7]]
    requests += [NearestTitle(question.text, 4) for question in questions]
    assert ask(embedded, requests) == ask(server, requests)


@pytest.fixture(scope="module")
def analyze_on_server(elasticsearch_url):
    """The server's terms for many texts, a thousand in one call."""
    client = elasticsearch.Elasticsearch(elasticsearch_url)
    fields = {"text": {"type": "text", "analyzer": "english"}}
    settings = {"analyze.max_token_count": 10**6}
    client.indices.create(index="analyzer", settings=settings, mappings={"properties": fields})

    def analyze_all(texts: list[str]) -> list[list[str]]:
        # offsets count UTF-16 units over all texts of a call, with one more between two texts
        starts = [0, *accumulate(len(text.encode("utf-16-le")) // 2 + 1 for text in texts)]
        terms = [[] for _ in texts]
        for token in client.indices.analyze(index="analyzer", field="text", text=texts)["tokens"]:
            terms[bisect_right(starts, token["start_offset"]) - 1].append(token["token"])
        return terms

    def analyze_in_parts(texts: list[str]) -> list[list[str]]:
        parts = (texts[start : start + 1000] for start in range(0, len(texts), 1000))
        return [terms for part in parts for terms in analyze_all(part)]

    return analyze_in_parts


def test_terms_of_all_real_texts_are_those_of_the_server(sample, analyze_on_server):
    questions, embedded, _ = sample
    texts = dict.fromkeys(question.text for question in questions)
    texts |= dict.fromkeys(text for p in embedded.corpus for text in (p.title, p.text))
    terms = zip(texts, analyze_on_server(list(texts)), strict=True)
    assert [text for text, theirs in terms if analyze(text) != theirs] == []


def test_terms_of_random_strings_are_those_of_the_server(analyze_on_server):
    def characters(spans: str) -> list[str]:
        ends = ([int(end, 16) for end in span.split("-")] for span in spans.split(","))
        return [chr(code) for end in ends for code in range(end[0], end[-1] + 1)]

    chance, scripts = random.Random(0), list(map(characters, SPANS.split()))
    texts = []
    for _ in range(30_000):
        mixed = chance.sample(scripts, chance.randint(1, 5))
        drawn = chance.choices(mixed, k=chance.randint(1, 24))
        texts.append("".join(chance.choice(script) for script in drawn))
    terms = analyze_on_server(texts)
    pairs = zip(texts, terms, strict=True)
    assert [ascii(text) for text, theirs in pairs if analyze(text) != theirs] == []
    assert sum(map(len, terms)) > 120_000


@pytest.fixture
def open_both(elasticsearch_url, tmp_path):
    """open_both(paragraphs, **loading): the embedded backend and the server's over a corpus."""

    def open_both(paragraphs: list[Paragraph], **loading):
        corpus = write_corpus(tmp_path / "corpus", paragraphs)
        name = elastic_load.index_name(tmp_path.name)
        server = open_elasticsearch(corpus, elasticsearch_url, name, **loading)
        return open_index(corpus, tmp_path / "index"), server

    return open_both


def test_ties_stand_in_the_order_of_the_corpus_on_three_shards(open_both):
    embedded, server = open_both(corpora.tied_paragraphs(), shards=3)
    requests = [Retrieve(p.text, k) for p in list(embedded.corpus)[:60] for k in (1, 5, 15)]
    replies = ask(server, requests)
    assert replies == ask(embedded, requests)
    assert len({json.loads(reply)[-1][1] for reply in replies}) > 50


def test_batches_of_mixed_requests(open_both):
    embedded, server = open_both(random_paragraphs(100, 30))
    requests = [Retrieve(p.text, 1 + n % 20) for n, p in enumerate(embedded.corpus)]
    requests += [NearestTitle(p.title, 2) for p in embedded.corpus]
    random.Random(3).shuffle(requests)
    requests += [Retrieve("", 5), Retrieve("the of", 5, ("Bano",)), Retrieve("unheardof", 5)]
    requests += requests[:40]
    compare(embedded, server, requests)
    assert server.take(requests) == list(range(64)) and server.take(requests[:2]) == [0, 1]
    assert ask(server, []) == []
    with pytest.raises(TypeError, match="found the request Generate"):
        next(server.answer([Retrieve("bano", 3), Generate("bano")]))


def test_what_cannot_be_answered_costs_only_its_request(open_both):
    """Nearly 200 requests, which take four rounds; every fifth one is faulty or refused."""
    embedded, server = open_both(random_paragraphs(80, 5))
    sound = [Retrieve(p.text, 4) for p in embedded.corpus]
    sound += [NearestTitle(p.title, 3) for p in embedded.corpus]
    faulty = [Retrieve("bano", 0), NearestTitle("bano", -1)]
    words = " ".join(f"word{number}" for number in range(20_000))  # more than the server accepts
    too_long = [Retrieve(f"{words} {number}", 5) for number in range(3)]
    requests = sound + faulty + too_long
    random.Random(1).shuffle(requests)
    replies = dict(zip(requests, ask(server, requests), strict=True))
    assert [replies[request] for request in sound] == ask(embedded, sound)
    assert [str(replies[request]) for request in faulty] == list(map(str, ask(embedded, faulty)))
    assert {type(replies[request]) for request in faulty + too_long} == {Refused}
    for request in too_long:
        size = rf"\({len(request.query)} characters, 15 hits\): status 400, .*clause"
        assert re.search(rf"refused the search 'word0 word1 .*…' {size}", str(replies[request]))
    with pytest.raises(Refused, match="refused the search"):
        server.search(words, 5)


def test_of_equal_texts_only_the_best_counts_if_asked(open_both):
    """As in the embedded index, which another test compares with brute force."""
    embedded, server = open_both(corpora.repeated_paragraphs(), shards=2)
    titles = tuple(dict.fromkeys(p.title for p in list(embedded.corpus)[::3]))
    for k in (1, 5, 15, 400):
        requests = [Retrieve(p.text, k, None, True) for p in list(embedded.corpus)[::9]]
        requests += [dataclasses.replace(request, titles=titles) for request in requests]
        assert ask(server, requests) == ask(embedded, requests)


def test_titles_are_compared_letter_by_letter(open_both):
    titles = ["It", "it", "It ", "The It", "", "US", "Us", "us Us us", "ÎLE", "Île", "The Us"]
    embedded, server = open_both(titled(*titles, text="clown"))
    limits = [(title,) for title in titles] + [(), ("No such title", "it")]
    replies = ask(server, [Retrieve("clown", 9, limit) for limit in limits])
    assert list(map(positions_in, replies)) == [[n] for n in range(len(titles))] + [[], [1]]
    others = [*titles, "Rome", "île", "IT", "us", "us the"]
    nearest = [NearestTitle(title, n) for title in others for n in (1, 3, 20)]
    assert ask(server, nearest) == ask(embedded, nearest)


def test_titles_without_terms_count_in_the_embedded_scores_alone(open_both):
    """The only difference: to the server "It", without terms, is no title."""
    titles = ["It" if n % 4 == 0 else f"river {n}" for n in range(40)]
    paragraphs = [Paragraph(f"p{n}", title, f"word {n}") for n, title in enumerate(titles)]
    for backend, counted in zip(open_both(paragraphs), (titles, [t for t in titles if t != "It"])):
        idf = math.log(1 + (len(counted) - 30 + 0.5) / (30 + 0.5))
        mean = 30 * 2 / len(counted)
        expected = idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / mean))
        [[_, score]] = json.loads(ask_one(backend, Retrieve("river", 1)))
        assert score == pytest.approx(expected, abs=6e-4)


def test_limits_of_the_server_grow_with_the_corpus(open_both, monkeypatch):
    monkeypatch.setattr(elastic_load, "MOST_TITLES", 10)
    monkeypatch.setattr(elastic_load, "MOST_HITS", 10)
    embedded, server = open_both(titled(*(f"word {number}" for number in range(30))))
    titles = tuple(paragraph.title for paragraph in embedded.corpus)
    requests = [Retrieve("word", 30, titles), Retrieve("word", 25)]
    assert ask(server, requests) == ask(embedded, requests)
    refused = ask_one(server, Retrieve("word", 1, (*titles, "another")))
    assert type(refused) is Refused and re.search(r"31.*maximum of \[30\]", str(refused))


def test_the_fingerprint_follows_the_content(elasticsearch_url, tmp_path, monkeypatch):
    def fingerprint(url=elasticsearch_url, name="fingerprint", count=20) -> str:
        corpus = write_corpus(tmp_path / name, random_paragraphs(count, 5))
        return open_elasticsearch(corpus, url, name).fingerprint

    first = fingerprint()
    assert fingerprint(elasticsearch_url.replace("127.0.0.1", "localhost"), "elsewhere") == first
    others = [fingerprint(count=21)]
    monkeypatch.setattr(ranking, "SCORING", "another scoring")
    others.append(fingerprint())
    monkeypatch.undo()
    newer = dataclasses.replace(elastic_client.connect(elasticsearch_url), lucene="10.9.9")
    monkeypatch.setattr(elastic, "connect", lambda *_: newer)
    others.append(fingerprint())
    assert len({first, *others}) == 4
