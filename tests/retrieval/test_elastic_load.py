"""Loading a corpus into a real Elasticsearch: an incomplete index is never used."""

import threading

import pytest
from asking import ask
from corpora import run_and_kill

from ircotlib.data import Paragraph
from ircotlib.errors import Unavailable
from ircotlib.program import Retrieve
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import Corpus, write_corpus

elasticsearch = pytest.importorskip("elasticsearch", reason="needs pip install -e '.[dev]'")

from ircotlib.retrieval import elastic, elastic_client, elastic_load
from ircotlib.retrieval.elastic import Elasticsearch
from ircotlib.retrieval.elastic_load import open_elasticsearch

REQUESTS = [Retrieve(f"word{number} word{number + 3} text", 7) for number in range(20)]


def make_corpus(folder, count: int = 1500) -> Corpus:
    paragraphs = []
    for n in range(count):
        text = f"word{n % 23} word{n % 31} text " * (1 + n % 4)
        paragraphs.append(Paragraph(f"p{n}", f"word{n % 9}", text))
    return write_corpus(folder, paragraphs)


@pytest.fixture
def corpus(tmp_path) -> Corpus:
    return make_corpus(tmp_path / "corpus")


@pytest.fixture
def small(tmp_path) -> Corpus:
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


def watch(seen: list[int], position: int = -1, interrupt=None):
    """A progress that notes which positions were loaded, and interrupts the loading at one."""

    def progress(positions):
        for current in positions:
            if current == position and current not in seen:
                interrupt()
            seen.append(current)
            yield current

    return progress


def check_whole(backend, corpus: Corpus, tmp_path) -> None:
    """Replies are those of the embedded index; no deleted copy counts in the scores."""
    client, index = backend._server.client, backend._index
    assert ask(backend, REQUESTS) == ask(open_index(corpus, tmp_path / "index"), REQUESTS)
    counts = client.indices.stats(index=index)["indices"][index]["primaries"]["docs"]
    assert (counts["count"], counts["deleted"]) == (len(corpus), 0)


def test_a_corpus_is_loaded_once_and_named(elasticsearch_url, corpus, client, name, tmp_path):
    seen = []
    first = open_elasticsearch(corpus, elasticsearch_url, name, watch(seen), shards=2, replicas=1)
    again = open_elasticsearch(corpus, elasticsearch_url, name, watch(seen))
    assert seen == list(range(len(corpus)))
    for backend in (again, Elasticsearch(corpus, elasticsearch_url, name)):
        assert ask(backend, REQUESTS) == ask(first, REQUESTS)
    check_whole(first, corpus, tmp_path)
    ((index, made),) = client.indices.get(index=name).items()
    settings = made["settings"]["index"]
    assert index == index_of(corpus, name) and "refresh_interval" not in settings
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == ("2", "1")
    expected = {"corpus": corpus.fingerprint, "count": 1500, "analyzer": "english", "fields": 1}
    assert made["mappings"]["_meta"].items() >= (expected | {"complete": True}).items()
    fields = {"title": "word7", "lower_title": "word7", "text": corpus[7].text, "position": 7}
    assert client.get(index=index, id="7")["_source"] == fields


LOAD_AND_HANG = """
from ircotlib.retrieval import elastic_load
elastic_load.CHUNK = 50
corpus, url, name = Corpus(sys.argv[1]), *sys.argv[2:]
elastic_load.open_elasticsearch(corpus, url, name, lambda positions: hang(positions, 777))
"""


def test_a_killed_loading_has_no_name_and_goes_on(elasticsearch_url, corpus, name, tmp_path):
    run_and_kill(LOAD_AND_HANG, corpus.folder, elasticsearch_url, name)
    for there, reason in ((name, "found 0 indices"), (index_of(corpus, name), "'complete': False")):
        with pytest.raises(ValueError, match=f"{reason}.*load it"):
            Elasticsearch(corpus, elasticsearch_url, there)
    seen = []
    check_whole(open_elasticsearch(corpus, elasticsearch_url, name, watch(seen)), corpus, tmp_path)
    assert seen == list(range(750, 1500))


def test_gaps_are_filled_without_second_copies(elasticsearch_url, corpus, name, tmp_path):
    there, index = [*range(120), *range(140, 170), 1499], index_of(corpus, name)
    server = elastic_client.connect(elasticsearch_url)
    elastic_load._create(server, index, corpus, 1, 0)
    elastic_load._send(server, index, corpus, there)
    seen = []
    check_whole(open_elasticsearch(corpus, elasticsearch_url, name, watch(seen)), corpus, tmp_path)
    assert seen == list(range(120, 1500))


def test_an_index_with_more_than_the_corpus_is_an_error(elasticsearch_url, small, client, name):
    index = index_of(small, name)
    elastic_load._create(elastic_client.connect(elasticsearch_url), index, small, 1, 0)
    stray = {"title": "stray", "lower_title": "stray", "text": "stray", "position": 5000}
    client.index(index=index, id="stray", document=stray)
    with pytest.raises(ValueError, match="found 121 paragraphs, expected 120; delete the index"):
        open_elasticsearch(small, elasticsearch_url, name)
    assert not client.indices.exists(index=name)


def test_a_server_that_dies_in_mid_loading(start_node, corpus, name, tmp_path, monkeypatch):
    monkeypatch.setattr(elastic_client, "LONGEST_PAUSE", 1)
    home, seen, threads, nodes = tmp_path / "node", [], [], []
    node = start_node(0, home)
    port = node.url.rsplit(":")[-1]

    def crash_and_restart() -> None:
        node.kill()
        threads.append(threading.Thread(target=lambda: nodes.append(start_node(port, home))))
        threads[0].start()

    progress = watch(seen, 777, crash_and_restart)
    check_whole(open_elasticsearch(corpus, node.url, name, progress), corpus, tmp_path)
    assert seen == [*range(801), *range(750, 1500)]
    threads[0].join()
    progress = watch([], 990, nodes[0].kill)
    with pytest.raises(Unavailable, match="no answer from .* for 1 s .*refused.*goes on"):
        open_elasticsearch(corpus, node.url, "second", progress, patience=1)
    again, seen = start_node(port, home), []
    check_whole(open_elasticsearch(corpus, node.url, "second", watch(seen)), corpus, tmp_path)
    assert seen == list(range(950, 1500))
    again.kill()


def test_what_the_server_refuses_is_named_with_its_reason(elasticsearch_url, small, name, tmp_path):
    texts = [Paragraph("fine", "short", "text"), Paragraph("faulty", "long " * 10_000, "text")]
    corpus = write_corpus(tmp_path / "corpus", texts)
    with pytest.raises(ValueError, match="paragraph 'faulty' .*: status 400, .* max length 32766"):
        open_elasticsearch(corpus, elasticsearch_url, name)
    with pytest.raises(ValueError, match="invalid_index_name_exception.*lowercase"):
        open_elasticsearch(small, elasticsearch_url, "UpperCase")


def test_the_name_moves_to_the_new_corpus(elasticsearch_url, small, client, name, tmp_path):
    old = open_elasticsearch(small, elasticsearch_url, name)
    replies = ask(old, REQUESTS)
    other = make_corpus(tmp_path / "other", 90)
    new = open_elasticsearch(other, elasticsearch_url, name)
    assert list(client.indices.get_alias(name=name)) == [index_of(other, name)]
    check_whole(new, other, tmp_path / "new")
    assert ask(old, REQUESTS) == replies != ask(new, REQUESTS)
    with pytest.raises(ValueError, match=f"{other.fingerprint}.*expected .*{small.fingerprint}"):
        Elasticsearch(small, elasticsearch_url, name)
    seen = []
    assert ask(open_elasticsearch(small, elasticsearch_url, name, watch(seen)), REQUESTS) == replies
    assert seen == []


def test_a_name_that_is_taken_by_an_index_is_refused(elasticsearch_url, small, client, name):
    client.indices.create(index=name)
    for opened, reason in ((open_elasticsearch, "is an index"), (Elasticsearch, "found contents")):
        with pytest.raises(ValueError, match=f"'{name}'.*{reason}.*expected"):
            opened(small, elasticsearch_url, name)


def test_another_analyzer_is_an_error(elasticsearch_url, small, name, monkeypatch):
    """It is recognised by its name, and by the terms that it makes."""
    monkeypatch.setattr(elastic_load, "ANALYZER", "standard")
    with monkeypatch.context() as patch:  # claims to be made with `english`
        for module in (elastic_load, elastic):
            patch.setattr(module, "probe_analyzer", lambda server, index: "terms of english")
        open_elasticsearch(small, elasticsearch_url, name)
    with pytest.raises(ValueError, match="found contents .*'terms': .*expected .*'terms': "):
        Elasticsearch(small, elasticsearch_url, name)
    monkeypatch.setattr(elastic, "ANALYZER", "standard")
    standard = open_elasticsearch(small, elasticsearch_url, f"{name}-2")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="found contents .*'standard'.*expected .*'english'"):
        Elasticsearch(small, elasticsearch_url, f"{name}-2")
    english = open_elasticsearch(small, elasticsearch_url, f"{name}-3")
    assert standard.fingerprint != english.fingerprint
    assert english.constants["analyzer"].startswith("Elasticsearch's english (")
    assert "k1 1.2" in english.constants["scoring"] and "Lucene" in english.constants["engine"]


def test_the_name_of_an_index_is_safe_for_any_folder_and_different_for_each():
    folders = ["A b", "x*,y", "-wild-*", "_all", "..", ".", "a/b", "日本", "x" * 300, "#a", "a\\b"]
    folders += ["", "raw-a", "RAW-a", "raw a", "raw*a", "raw,a", "x" * 101, "x" * 102]
    names = [elastic_load.index_name(folder) for folder in folders]
    assert len({*names}) == len(folders)
    for name in names:
        assert name.startswith("ircot-") and len(name.encode()) <= 255
        assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
