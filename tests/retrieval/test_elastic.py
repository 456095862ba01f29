"""A real Elasticsearch has the terms, ranking and replies of the embedded index,
whatever happens while it is loaded and searched.
"""

import random
import socket
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import accumulate

import corpora
import pytest
from asking import ask
from corpora import compare, run_and_kill, titled

from ircotlib.data import Paragraph
from ircotlib.datasets import pool
from ircotlib.datasets.musique import read_musique
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import write_corpus

elasticsearch = pytest.importorskip(
    "elasticsearch", reason="needs pip install -e '.[dev]'"
)

from ircotlib.retrieval.elastic import VERSION, Elasticsearch

# of characters: alphabets, digits, punctuation, spaces, combining marks, format
# characters
SPANS = """
    41-5A,61-7A 30-39 21-2F,3A-40,5B-60,7B-7E 9-D,20,A0,2009,2028,202F,3000 A1-B7,B9-24F 370-3FF
    400-52F 531-556 591-5C7,5D0-5F4 606-6DC,6DE-6FF 900-97F B80-BFF AC00-AD00 300-36F
    AD,200B-200F,202A-202E,2060-2064 2010-205E 3041-309F 30A0-30FF,31F0-31FF 4E00-4FFF FF01-FFDC
"""


@pytest.fixture
def open_both(elasticsearch_url, tmp_path):
    """open_both(paragraphs): the embedded index and the server's over a corpus."""

    def open_both(paragraphs: list[Paragraph]):
        corpus = write_corpus(tmp_path / "corpus", paragraphs)
        server = Elasticsearch(corpus, tmp_path / "server", elasticsearch_url)
        return BM25(corpus, tmp_path / "index"), server

    return open_both


@pytest.fixture
def analyze_on_server(elasticsearch_url):
    """The server's terms for many texts, a thousand in one call."""
    client = elasticsearch.Elasticsearch(elasticsearch_url, request_timeout=60)
    fields = {"text": {"type": "text", "analyzer": "english"}}
    settings = {"analyze.max_token_count": 10**6}
    client.indices.delete(index="analyzer", ignore_unavailable=True)
    client.indices.create(
        index="analyzer", settings=settings, mappings={"properties": fields}
    )

    def analyze_all(texts: list[str]) -> list[list[str]]:
        # offsets count UTF-16 units over all texts of a call, with one more between two
        # texts
        starts = [
            0,
            *accumulate(len(text.encode("utf-16-le")) // 2 + 1 for text in texts),
        ]
        terms = [[] for _ in texts]
        for token in client.indices.analyze(index="analyzer", field="text", text=texts)[
            "tokens"
        ]:
            terms[bisect_right(starts, token["start_offset"]) - 1].append(
                token["token"]
            )
        return terms

    def analyze_in_parts(texts: list[str]) -> list[list[str]]:
        parts = (texts[start : start + 1000] for start in range(0, len(texts), 1000))
        return [terms for part in parts for terms in analyze_all(part)]

    return analyze_in_parts


def test_real_questions_and_titles_find_the_same(shared, open_both, analyze_on_server):
    """In the whole corpus, and limited to some titles; and all texts have the same
    terms.
    """
    records = list(read_musique(shared / "musique" / "dev_210.jsonl"))
    embedded, server = open_both(pool(context for _, context in records))
    questions, chance = [question.text for question, _ in records], random.Random(50)
    titles = sorted({paragraph.title for paragraph in embedded.corpus})
    requests = [Retrieve(question, 15) for question in questions]
    requests += [
        replace(one, titles=tuple(chance.sample(titles, 50))) for one in requests[::3]
    ]
    compare(embedded, server, requests)
    nearest = [NearestTitle(text, 3) for text in (*titles[::9], *questions[::3])]
    nearest += [NearestTitle(title.lower()) for title in titles[::9]]
    assert ask(embedded, nearest) == ask(server, nearest)
    texts = list(
        {*questions, *titles, *(paragraph.text for paragraph in embedded.corpus)}
    )
    terms = zip(texts, analyze_on_server(texts), strict=True)
    assert [text for text, theirs in terms if analyze(text) != theirs] == []


def test_terms_of_random_strings_are_those_of_the_server(analyze_on_server):
    def characters(spans: str) -> list[str]:
        ends = ([int(end, 16) for end in span.split("-")] for span in spans.split(","))
        return [chr(code) for end in ends for code in range(end[0], end[-1] + 1)]

    chance, scripts, texts = random.Random(0), list(map(characters, SPANS.split())), []
    for _ in range(10_000):
        mixed = chance.sample(scripts, chance.randint(1, 5))
        drawn = chance.choices(mixed, k=chance.randint(1, 24))
        texts.append("".join(chance.choice(script) for script in drawn))
    pairs = zip(texts, analyze_on_server(texts), strict=True)
    assert [ascii(text) for text, theirs in pairs if analyze(text) != theirs] == []


def test_a_request_that_fails_costs_only_itself(open_both):
    """More than the server's defaults allow can be: as many hits as paragraphs."""
    embedded, server = open_both(
        titled(*(f"word {number}" for number in range(10_100)))
    )
    requests = [Retrieve("word", 10_050), Retrieve("", 5)]
    # more than the server accepts
    words = " ".join(f"word{number}" for number in range(20_000))
    *replies, refused = ask(server, [*requests, Retrieve(words, 5)])
    assert list(map(str, replies)) == list(map(str, ask(embedded, requests)))
    assert isinstance(refused, ValueError) and "\n" not in str(refused)


LOAD_AND_HANG = """
from ircotlib.retrieval import elastic
elastic.track, load = hang, elastic.streaming_bulk
elastic.streaming_bulk = lambda *of, **how: load(*of, chunk_size=50, **how)
elastic.Elasticsearch(Corpus(sys.argv[1]), sys.argv[2], sys.argv[3])
"""


@pytest.mark.parametrize("left", ["a killed loading", "an index of other fields"])
def test_an_incomplete_index_is_loaded_again_once(
    left, elasticsearch_url, tmp_path, monkeypatch
):
    texts = [f"{left} word{n % 23} word{n % 31}" for n in range(400)]
    corpus = write_corpus(
        tmp_path / "corpus", [Paragraph(t, t[-3:], t) for t in {*texts}]
    )
    client, name = (
        elasticsearch.Elasticsearch(elasticsearch_url),
        f"ircot-{corpus.fingerprint}",
    )
    if left == "a killed loading":
        run_and_kill(
            LOAD_AND_HANG, corpus.folder, tmp_path / "index", elasticsearch_url
        )
    else:  # as the server makes one by itself
        for position in range(len(corpus)):
            client.index(
                index=f"{name}-{VERSION}", id=str(position), document={"text": "x"}
            )
    assert client.indices.exists(index=f"{name}-{VERSION}")
    loads, load = [], Elasticsearch._load
    monkeypatch.setattr(
        Elasticsearch, "_load", lambda *of: loads.append(1) or load(*of)
    )
    with ThreadPoolExecutor(3) as pool:
        of = corpus, tmp_path / "index", elasticsearch_url
        server = [
            job.result() for job in [pool.submit(Elasticsearch, *of) for _ in range(3)]
        ][0]
    compare(
        BM25(corpus, tmp_path / "bm25"),
        server,
        [Retrieve(text, 7) for text in texts[:50]],
    )
    assert loads == [1]
    stats = client.indices.stats(index=server._index)["indices"][server._index][
        "primaries"
    ]
    assert stats["docs"]["deleted"] == 0  # a deleted copy would count in the scores


def test_when_a_server_dies_another_answers_the_rest(open_both, start_node, tmp_path):
    _, server = open_both(corpora.repeated_paragraphs())
    node = start_node()
    dying = Elasticsearch(server.corpus, tmp_path / "dying", node.url)
    assert dying.fingerprint == server.fingerprint

    def programs() -> dict:
        def program(text: str):
            for step in range(3):
                yield Retrieve(f"{text} {step}", 5)

        return {paragraph.id: program(paragraph.text) for paragraph in server.corpus}

    with Calls() as calls:
        with pytest.raises(RuntimeError, match="Elasticsearch failed") as error:
            run(
                programs(),
                [dying],
                calls,
                lambda *_: node.kill() if len(calls) else None,
            )
        assert isinstance(error.value.__cause__, elasticsearch.ConnectionError)
        before = len(calls)
        _, costs = run(programs(), [server], calls)
        assert costs["Retrieve"]["computed"] == len(calls) - before > 0 < before


def test_credentials_come_from_the_environment_and_are_never_shown(
    open_both, monkeypatch
):
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "dont-tell-4711")
    _, server = open_both(titled("Paris"))
    sent = server._client._headers["authorization"]
    assert sent == "ApiKey dont-tell-4711" and "dont-tell" not in f"{vars(server)}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(
        elasticsearch.ConnectionError, match=f"{port}.*refused"
    ) as error:
        Elasticsearch(server.corpus, "", f"http://127.0.0.1:{port}")
    assert "\n" not in str(error.value) and "dont-tell" not in str(error.value)
