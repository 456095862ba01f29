"""Loading a corpus into a real Elasticsearch: an incomplete index is never used, and loading
resumes after every kind of interruption.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator

import pytest
from asking import ask

from ircotlib.data import Paragraph
from ircotlib.parameters import read_parameters
from ircotlib.program import Retrieve
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.running import setup as bench

elasticsearch = pytest.importorskip(
    "elasticsearch", reason="needs the client: pip install -e '.[dev]'"
)

from ircotlib.retrieval import elastic, elastic_client, elastic_load
from ircotlib.retrieval.elastic import Elasticsearch
from ircotlib.retrieval.elastic_load import open_elasticsearch

REQUESTS = [Retrieve(f"word{number} word{number + 3} text", 7) for number in range(20)]


def make_corpus(folder, count: int = 1500) -> Corpus:
    texts = (
        f"word{number % 23} word{number % 31} text " * (1 + number % 4) for number in range(count)
    )
    return write_corpus(
        folder,
        [Paragraph(f"p{number}", f"word{number % 9}", text) for number, text in enumerate(texts)],
    )


@pytest.fixture
def corpus(tmp_path) -> Corpus:
    return make_corpus(tmp_path / "corpus")


@pytest.fixture
def small(tmp_path) -> Corpus:
    """A small corpus, for tests that do not depend on its size."""
    return make_corpus(tmp_path / "small", 120)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(elastic_load, "CHUNK", 50)


@pytest.fixture
def client(elasticsearch_url):
    return elasticsearch.Elasticsearch(elasticsearch_url)


@pytest.fixture
def name(request) -> str:
    return request.node.name.replace("_", "-").lower()


def index_of(corpus: Corpus, name: str) -> str:
    return f"{name}-{corpus.fingerprint}-english-1"


def watch(seen: list[int]):
    """A progress that notes which positions were loaded."""

    def progress(positions: Iterable[int]) -> Iterator[int]:
        for position in positions:
            seen.append(position)
            yield position

    return progress


def check_whole(backend, corpus: Corpus, tmp_path) -> None:
    """The replies are those of the embedded index, and no deleted copy of a paragraph counts in the
    scores.
    """
    client, index = backend._server.client, backend._index
    assert ask(backend, REQUESTS) == ask(open_index(corpus, tmp_path / "index"), REQUESTS)
    counts = client.indices.stats(index=index)["indices"][index]["primaries"]["docs"]
    assert (counts["count"], counts["deleted"]) == (len(corpus), 0)


def test_a_corpus_is_loaded_once_and_named(elasticsearch_url, corpus, client, name, tmp_path):
    seen = []
    first = open_elasticsearch(corpus, elasticsearch_url, name, watch(seen), shards=2, replicas=1)
    again = open_elasticsearch(corpus, elasticsearch_url, name, watch(seen))
    assert seen == list(range(len(corpus)))
    assert (
        ask(first, REQUESTS)
        == ask(again, REQUESTS)
        == ask(Elasticsearch(corpus, elasticsearch_url, name), REQUESTS)
    )
    check_whole(first, corpus, tmp_path)
    ((index, made),) = client.indices.get(index=name).items()
    settings = made["settings"]["index"]
    assert index == index_of(corpus, name)
    assert (
        settings["number_of_shards"],
        settings["number_of_replicas"],
        "refresh_interval" in settings,
    ) == ("2", "1", False)
    recorded = {
        "corpus": corpus.fingerprint,
        "count": 1500,
        "analyzer": "english",
        "fields": 1,
        "complete": True,
    }
    assert {key: made["mappings"]["_meta"][key] for key in recorded} == recorded
    assert client.get(index=index, id="7")["_source"] == {
        "title": "word7", "lower_title": "word7", "text": corpus[7].text, "position": 7
    }  # fmt: skip


LOAD_AND_HANG = """
import sys, time
from ircotlib.retrieval import elastic_load
from ircotlib.retrieval.corpus import Corpus

def hang_in_the_middle(positions):
    for position in positions:
        if position == 777:
            print("half", flush=True)
            time.sleep(60)
        yield position

elastic_load.CHUNK = 50
elastic_load.open_elasticsearch(Corpus(sys.argv[1]), sys.argv[2], sys.argv[3], hang_in_the_middle)
"""


def test_a_killed_loading_has_no_name_and_the_next_call_goes_on(
    elasticsearch_url, corpus, client, name, tmp_path
):
    command = [sys.executable, "-c", LOAD_AND_HANG, str(corpus.folder), elasticsearch_url, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "half\n"
        os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(
        ValueError, match=f"found 0 indices named '{name}' at .* load it with open_elasticsearch"
    ):
        Elasticsearch(corpus, elasticsearch_url, name)
    with pytest.raises(ValueError, match="found contents .*'complete': False.*load it"):
        Elasticsearch(corpus, elasticsearch_url, index_of(corpus, name))
    seen = []
    check_whole(open_elasticsearch(corpus, elasticsearch_url, name, watch(seen)), corpus, tmp_path)
    assert seen == list(range(750, 1500))


def test_gaps_are_found_and_filled_without_a_second_copy_of_anything(
    elasticsearch_url, corpus, client, name, tmp_path
):
    there = [*range(120), *range(140, 170), 1499]
    elastic_load._create(
        elastic_load.connect(elasticsearch_url), index_of(corpus, name), corpus, 1, 0
    )
    elasticsearch.helpers.bulk(
        client, elastic_load._documents(index_of(corpus, name), corpus, there)
    )
    seen = []
    check_whole(open_elasticsearch(corpus, elasticsearch_url, name, watch(seen)), corpus, tmp_path)
    assert seen == list(range(120, 1500))


def test_an_index_with_more_than_the_corpus_is_an_error(elasticsearch_url, corpus, client, name):
    index = index_of(corpus, name)
    elastic_load._create(elastic_load.connect(elasticsearch_url), index, corpus, 1, 0)
    client.index(
        index=index,
        id="stray",
        document={"title": "stray", "lower_title": "stray", "text": "stray", "position": 5000},
    )
    with pytest.raises(
        ValueError, match="found 1,501 paragraphs, expected 1,500; delete the index"
    ):
        open_elasticsearch(corpus, elasticsearch_url, name)
    assert not client.indices.exists(index=name)


def interrupted(seen: list[int], position: int, interrupt: Callable[[], object]):
    """A progress that interrupts the loading once, at a certain position."""

    def progress(positions: Iterable[int]) -> Iterator[int]:
        for current in positions:
            if current == position and current not in seen:
                interrupt()
            seen.append(current)
            yield current

    return progress


def test_a_server_that_dies_in_mid_loading_is_waited_for(
    start_node, corpus, name, tmp_path, monkeypatch
):
    monkeypatch.setattr(elastic_client, "LONGEST_PAUSE", 1)
    node, seen, restarts = start_node(0, tmp_path / "node"), [], []
    port = node.url.rsplit(":")[-1]

    def crash_and_restart() -> None:
        node.kill()
        restarts.append(
            threading.Thread(target=lambda: restarts.append(start_node(port, tmp_path / "node")))
        )
        restarts[0].start()

    check_whole(
        open_elasticsearch(corpus, node.url, name, interrupted(seen, 777, crash_and_restart)),
        corpus,
        tmp_path,
    )
    assert seen == [*range(801), *range(750, 1500)]
    again = restarts[1]
    with pytest.raises(
        ConnectionError, match="no answer from Elasticsearch .* for 1 s .*refused.*goes on"
    ):
        open_elasticsearch(corpus, node.url, "second", interrupted([], 990, again.kill), patience=1)
    again, seen = start_node(port, tmp_path / "node"), []
    check_whole(open_elasticsearch(corpus, node.url, "second", watch(seen)), corpus, tmp_path)
    assert seen == list(range(950, 1500))
    again.kill()


def test_a_paragraph_that_is_refused_is_named(elasticsearch_url, name, tmp_path):
    texts = [Paragraph("fine", "short", "text"), Paragraph("faulty", "long " * 10_000, "text")]
    with pytest.raises(
        ValueError,
        match="refused paragraph 'faulty' .*: status 400, .*longer than the max length 32766",
    ):
        open_elasticsearch(write_corpus(tmp_path / "corpus", texts), elasticsearch_url, name)


def test_the_name_moves_at_once_to_the_new_corpus_and_old_backends_go_on(
    elasticsearch_url, small, client, name, tmp_path
):
    old = open_elasticsearch(small, elasticsearch_url, name)
    replies = ask(old, REQUESTS)
    other = make_corpus(tmp_path / "other", 90)
    new = open_elasticsearch(other, elasticsearch_url, name)
    assert list(client.indices.get_alias(name=name)) == [index_of(other, name)]
    check_whole(new, other, tmp_path / "new")
    assert ask(old, REQUESTS) == replies != ask(new, REQUESTS)
    with pytest.raises(
        ValueError,
        match=f"'corpus': '{other.fingerprint}'.*expected .*'corpus': '{small.fingerprint}'",
    ):
        Elasticsearch(small, elasticsearch_url, name)
    seen = []
    assert ask(open_elasticsearch(small, elasticsearch_url, name, watch(seen)), REQUESTS) == replies
    assert seen == []


def test_a_name_that_is_taken_by_an_index_is_refused(elasticsearch_url, small, client, name):
    client.indices.create(index=name)
    with pytest.raises(ValueError, match=f"'{name}' is an index .* expected a free name"):
        open_elasticsearch(small, elasticsearch_url, name)
    with pytest.raises(ValueError, match=r"found contents \{\}, expected"):
        Elasticsearch(small, elasticsearch_url, name)


def test_a_name_that_cannot_be_one_is_refused_with_the_servers_reason(elasticsearch_url, small):
    with pytest.raises(ValueError, match="invalid_index_name_exception.*lowercase"):
        open_elasticsearch(small, elasticsearch_url, "UpperCase")


def test_another_analyzer_is_an_error(elasticsearch_url, small, name, monkeypatch):
    """It is recognised first by its name, then by the terms that it makes."""
    monkeypatch.setattr(elastic_load, "ANALYZER", "standard")
    with pytest.raises(ValueError, match="found contents .*'terms': .*expected .*'terms': "):
        Elasticsearch(small, elasticsearch_url, forged(small, elasticsearch_url, name, monkeypatch))
    monkeypatch.setattr(elastic, "ANALYZER", "standard")
    standard = open_elasticsearch(small, elasticsearch_url, f"{name}-2")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="found contents .*'standard'.*expected .*'english'"):
        Elasticsearch(small, elasticsearch_url, f"{name}-2")
    assert (
        standard.fingerprint
        != open_elasticsearch(small, elasticsearch_url, f"{name}-3").fingerprint
    )


def forged(corpus: Corpus, url: str, name: str, monkeypatch) -> str:
    """An index with terms of the analyzer `standard` that claims to be made with `english`."""
    with monkeypatch.context() as patch:
        patch.setattr(elastic_load, "probe_analyzer", lambda server, index: "terms of english")
        patch.setattr(elastic, "probe_analyzer", lambda server, index: "terms of english")
        open_elasticsearch(corpus, url, name)
    return name


def test_one_setting_chooses_the_retriever_of_a_data_set(
    elasticsearch_url, shared, tmp_path, monkeypatch
):
    monkeypatch.setattr(bench, "DATA", tmp_path)
    chosen = {"data_dir": str(shared), "dev": 100, "test": 500, "retriever": elasticsearch_url}
    p = read_parameters("mini", chosen)
    dev, test, server = bench.open_dataset(p, "musique")
    assert isinstance(server, Elasticsearch)
    assert not (tmp_path / "indexes").exists()
    *questions, embedded = bench.open_dataset(p.change(retriever="embedded"), "musique")
    assert [dev, test] == questions
    requests = [Retrieve(question.text, 5) for question in dev]
    found = [
        [backend.decode(reply) for reply in ask(backend, requests)]
        for backend in (server, embedded)
    ]
    assert found[0] == found[1]
