"""Three nodes of a real Elasticsearch give the same replies as one, even if a node dies."""

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count

import pytest
from asking import ask

from ircotlib.datasets.pooled import pool
from ircotlib.datasets.twowiki import read_2wikimultihopqa
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import Unavailable
from ircotlib.program import Retrieve
from ircotlib.retrieval.corpus import write_corpus

elasticsearch = pytest.importorskip("elasticsearch", reason="needs pip install -e '.[dev]'")

from ircotlib.retrieval.elastic import Elasticsearch
from ircotlib.retrieval.elastic_load import open_elasticsearch

NAME = "cluster"


@pytest.fixture(scope="module")
def sample(shared, tmp_path_factory):
    """The 657 questions of the 2Wiki sample and the corpus of their 4,311 paragraphs."""
    records = read_2wikimultihopqa(shared / "2wikimultihopqa" / "dev_657.json")
    paragraphs = pool(context for _, context in records)
    corpus = write_corpus(tmp_path_factory.mktemp("cluster") / "corpus", paragraphs)
    return [question for question, _ in records], corpus


class Cluster:
    """Three nodes with fixed ports and folders; `heal` starts those that are down."""

    def __init__(self, start_node, folder):
        self.start_node, self.folder, self.nodes = start_node, folder, {}
        with ExitStack() as stack:  # six free ports
            taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(6)]
            ports = [port.getsockname()[1] for port in taken]
        self.ports, self.transport = ports[:3], ports[3:]
        self.url = ",".join(f"http://127.0.0.1:{port}" for port in self.ports)

    def heal(self) -> None:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.transport)
        joint = f"discovery.seed_hosts={hosts}", "cluster.initial_master_nodes=n0,n1,n2"

        def start(number: int):
            own = f"node.name=n{number}", f"transport.port={self.transport[number]}"
            return self.start_node(self.ports[number], self.folder / f"n{number}", *own, *joint)

        down = [number for number in range(3) if number not in self.nodes]
        with ThreadPoolExecutor(3) as pool:
            self.nodes |= zip(down, pool.map(start, down))
        self.client().cluster.health(wait_for_nodes="3", wait_for_status="green", timeout="60s")

    def client(self):
        return elasticsearch.Elasticsearch(self.url.split(","), retry_on_timeout=True)

    def kill(self, *numbers: int) -> None:
        for number in numbers:
            self.nodes.pop(number).kill()

    def master(self) -> int:
        return int(self.client().cat.master(format="json")[0]["node"][1:])


@pytest.fixture(scope="module")
def three(start_node, sample, tmp_path_factory):
    """The cluster, with the corpus on it in 3 shards, each there twice."""
    cluster = Cluster(start_node, tmp_path_factory.mktemp("nodes"))
    cluster.heal()
    open_elasticsearch(sample[1], cluster.url, NAME, shards=3, replicas=1)
    yield cluster
    cluster.kill(*cluster.nodes)


@pytest.fixture
def cluster(three):
    three.heal()
    return three


@pytest.fixture(scope="module")
def one_node(sample, elasticsearch_url):
    """The same corpus on one node in one shard, and what a run there leaves in the call cache."""
    backend = open_elasticsearch(sample[1], elasticsearch_url, NAME)
    with Calls() as calls:
        run(programs(sample[0]), [backend], calls)
        return backend, contents(calls)


def programs(questions) -> dict:
    """Two retrievals for each of the first 320 questions, the second with what the first found."""

    def program(question):
        paragraphs = yield Retrieve(question.text, 15)
        titles = tuple(paragraph.title for paragraph in paragraphs[:9])
        yield Retrieve(f"{question.text} {paragraphs[0].title}", 15, titles)

    return {question.id: program(question) for question in questions[:320]}


def contents(calls: Calls) -> dict[str, str]:
    return dict(calls._connection.execute("SELECT key, reply FROM calls"))


def test_three_nodes_give_the_replies_of_one(cluster, sample, one_node):
    questions, corpus = sample
    backend = Elasticsearch(corpus, cluster.url, NAME)
    requests = [Retrieve(question.text, 15) for question in questions]
    assert ask(backend, requests) == ask(one_node[0], requests)
    assert backend.fingerprint == one_node[0].fingerprint
    (index,) = cluster.client().indices.get(index=NAME)
    shards = cluster.client().cat.shards(index=index, format="json")
    assert len({(shard["shard"], shard["node"]) for shard in shards}) == len(shards) == 6


def kill_at(batch: int, kill):
    """A progress that kills nodes when this many batches were answered."""
    batches = count(1)
    return lambda *_: kill() if next(batches) == batch else None


def test_a_node_that_dies_in_mid_run_changes_no_byte(cluster, sample, one_node, tmp_path):
    backend = Elasticsearch(sample[1], cluster.url, NAME)
    kill_the_master = kill_at(4, lambda: cluster.kill(cluster.master()))
    with Calls(tmp_path / "calls.sqlite") as calls:
        run(programs(sample[0]), [backend], calls, kill_the_master)
        assert contents(calls) == one_node[1]
    assert len(cluster.nodes) == 2


def test_when_all_nodes_die_a_rerun_asks_the_rest(three, sample, one_node, tmp_path):
    """An earlier test may have killed one node; this one kills all that are left."""
    backend = Elasticsearch(sample[1], three.url, NAME, patience=2)
    with Calls(tmp_path / "calls.sqlite") as calls:
        with pytest.raises(RuntimeError, match="Elasticsearch failed.* for 2 s") as error:
            kill_all = kill_at(6, lambda: three.kill(*three.nodes))
            run(programs(sample[0]), [backend], calls, kill_all)
        assert isinstance(error.value.__cause__, Unavailable)
        before = contents(calls)
        assert len(before) == 5 * 64 and before.items() <= one_node[1].items()
    three.heal()
    with Calls(tmp_path / "calls.sqlite") as calls:
        _, counts = run(programs(sample[0]), [Elasticsearch(sample[1], three.url, NAME)], calls)
        assert contents(calls) == one_node[1]
    assert counts["Retrieve"]["computed"] == len(one_node[1]) - len(before)
