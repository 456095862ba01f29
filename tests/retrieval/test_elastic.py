"""A real Elasticsearch has the terms, ranking and replies of the embedded index."""

import random
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import accumulate

import pytest
from asking import ask
from corpora import compare, random_paragraphs, run_and_kill, titled, write_in

from ircotlib.data import Paragraph
from ircotlib.datasets import pool
from ircotlib.datasets.musique import read_musique
from ircotlib.errors import Unavailable, UserError
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.analyzer import analyze
from ircotlib.retrieval.bm25 import BM25

needs = "needs pip install -e '.[dev]'"
elasticsearch = pytest.importorskip("elasticsearch", reason=needs)

from ircotlib.retrieval.elastic import VERSION, Elasticsearch


@pytest.fixture
def open_both(elasticsearch_url, tmp_path):
    """open_both(paragraphs): the embedded index and the server's over a corpus."""

    def open_both(paragraphs: list[Paragraph]):
        corpus = write_in(tmp_path, paragraphs)
        server = Elasticsearch(corpus, tmp_path / "server", elasticsearch_url)
        return BM25(corpus, tmp_path / "index"), server

    return open_both


@pytest.fixture
def analyze_on_server(elasticsearch_url):
    """The server's terms for many texts, a thousand in one call."""
    client = elasticsearch.Elasticsearch(elasticsearch_url, request_timeout=60)
    settings = {"analyze.max_token_count": 10**6}
    client.indices.delete(index="analyzer", ignore_unavailable=True)
    client.indices.create(index="analyzer", settings=settings)

    def analyze_all(texts: list[str]) -> list[list[str]]:
        # offsets count UTF-16 units over all texts, with one more between two texts
        lengths = [len(text.encode("utf-16-le")) // 2 + 1 for text in texts]
        starts = [0, *accumulate(lengths)]
        terms = [[] for _ in texts]
        english = {"index": "analyzer", "analyzer": "english"}
        for token in client.indices.analyze(**english, text=texts)["tokens"]:
            place = bisect_right(starts, token["start_offset"]) - 1
            terms[place].append(token["token"])
        return terms

    def analyze_in_parts(texts: list[str]) -> list[list[str]]:
        parts = (texts[start : start + 1000] for start in range(0, len(texts), 1000))
        return [terms for part in parts for terms in analyze_all(part)]

    return analyze_in_parts


def test_real_questions_and_titles_find_the_same(shared, open_both, analyze_on_server):
    """In the whole corpus, and within some titles; and all texts have equal terms."""
    records = list(read_musique(shared / "musique" / "dev_210.jsonl"))
    embedded, server = open_both(pool(context for _, context in records))
    questions = [question.text for question, _ in records]
    titles = sorted({paragraph.title for paragraph in embedded.corpus})
    requests = [Retrieve(question, 15) for question in questions]
    chance = random.Random(50)
    for request in requests[::3]:
        requests.append(replace(request, titles=tuple(chance.sample(titles, 50))))
    compare(embedded, server, requests)
    nearest = [NearestTitle(text, 3) for text in (*titles[::9], *questions[::3])]
    nearest += [NearestTitle(title.lower()) for title in titles[::9]]
    assert ask(embedded, nearest) == ask(server, nearest)
    texts = list({*questions, *titles, *(p.text for p in embedded.corpus)})
    terms = zip(texts, analyze_on_server(texts), strict=True)
    assert [text for text, theirs in terms if analyze(text) != theirs] == []


def test_a_request_that_fails_costs_only_itself(open_both):
    """More than the server's defaults allow can be: as many hits as paragraphs."""
    embedded, server = open_both(titled(*(f"word {n}" for n in range(10_100))))
    requests = [Retrieve("word", 10_050), Retrieve("", 5)]
    # more than the server accepts
    words = " ".join(f"word{number}" for number in range(20_000))
    *replies, refused = ask(server, [*requests, Retrieve(words, 5)])
    assert list(map(str, replies)) == list(map(str, ask(embedded, requests)))
    assert isinstance(refused, ValueError) and "\n" not in str(refused)


def test_scores_of_several_shards_are_those_of_one(elasticsearch_url, open_both):
    """A server may divide its indexes by a template; rare words are in one shard."""
    client = elasticsearch.Elasticsearch(elasticsearch_url)
    client.indices.put_index_template(
        name="shards",
        index_patterns=["ircot-*"],
        template={"settings": {"number_of_shards": 3}},
    )
    paragraphs = random_paragraphs(90)
    embedded, server = open_both(paragraphs)
    client.indices.delete_index_template(name="shards")
    compare(embedded, server, [Retrieve(page.text, 15) for page in paragraphs])


LOAD_AND_HANG = """
from ircotlib.retrieval import elastic
elastic.track, load = hang, elastic.bulk
elastic.bulk = lambda *of, **how: load(*of, chunk_size=50, **how)
elastic.Elasticsearch(Corpus(sys.argv[1]), sys.argv[2], sys.argv[3])
"""


def test_an_incomplete_index_is_loaded_again_once(
    elasticsearch_url, tmp_path, monkeypatch
):
    def load_and_count(self):
        loads.append(1)
        load(self)

    texts = [f"word{n % 23} word{n % 31}" for n in range(400)]
    corpus = write_in(tmp_path, [Paragraph(t, t[-3:], t) for t in {*texts}])
    client = elasticsearch.Elasticsearch(elasticsearch_url)
    name = f"ircot-{corpus.fingerprint}-{VERSION}"
    given = corpus, tmp_path / "index", elasticsearch_url
    run_and_kill(LOAD_AND_HANG, corpus.folder, *given[1:])
    assert client.indices.exists(index=name)
    loads, load = [], Elasticsearch._load
    monkeypatch.setattr(Elasticsearch, "_load", load_and_count)
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(Elasticsearch, *given) for _ in range(3)]
        server = [job.result() for job in jobs][0]
    requests = [Retrieve(text, 7) for text in texts[:50]]
    compare(BM25(corpus, tmp_path / "bm25"), server, requests)
    assert loads == [1]
    [stats] = client.indices.stats(index=name)["indices"].values()
    # a deleted copy would count in the scores
    assert stats["primaries"]["docs"]["deleted"] == 0


HERE = "http://127.0.0.1:1"


def test_a_key_comes_from_the_environment(tmp_path, httpserver, monkeypatch):
    version = {"version": {"lucene_version": "10"}}
    headers = {"X-Elastic-Product": "Elasticsearch"}
    httpserver.expect_request("/").respond_with_json(version, headers=headers)
    corpus = write_in(tmp_path, titled("Paris"))

    def sent() -> str:
        with pytest.raises(Unavailable):  # it has nothing but a version
            Elasticsearch(corpus, tmp_path / "index", httpserver.url_for(""))
        return httpserver.log[0][0].headers.get("Authorization", "")

    assert sent() == ""
    httpserver.clear_log()
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "dont-tell-4711\n")
    assert sent() == "ApiKey dont-tell-4711"
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "dont-tell\r\n-4711")
    with pytest.raises(UserError, match="^ELASTICSEARCH_API_KEY: .*visible") as error:
        sent()
    assert "tell" not in str(error.value) and "\n" not in str(error.value)


def test_a_server_that_cannot_be_reached_is_one_line(tmp_path, monkeypatch, open_both):
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", "dont-tell-4711")
    corpus = write_in(tmp_path, titled("Paris"))
    with pytest.raises(
        Unavailable, match=f"^{HERE}: .*refused.* the client needs a server"
    ) as error:
        Elasticsearch(corpus, tmp_path / "index", HERE)
    assert "\n" not in str(error.value) and "dont-tell" not in str(error.value)
    # one that dies while it answers
    _, server = open_both(titled("Rome"))
    server._client = elasticsearch.Elasticsearch(HERE, max_retries=0)
    with pytest.raises(Unavailable, match="Connection error; .* needs a server"):
        ask(server, [Retrieve("Rome", 5)])
