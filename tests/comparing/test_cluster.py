"""Two nodes of a Ray cluster on this machine, one of which is killed."""

import sqlite3
import time
from contextlib import closing

import pytest

pytest.importorskip("ray", reason="needs Ray: pip install -e '.[ray]'")

import ray
from ray.cluster_utils import Cluster as Nodes

from ircot_laboratory.make import make_laboratory
from ircotlib.errors import Unavailable
from ircotlib.experiment.compare import run_all
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import open_setup
from ircotlib.experiment.workers import open_workers
from ircotlib.parameters import read_parameters
from ircotlib.systems import choose_systems


@pytest.fixture
def parameters(tmp_path, monkeypatch):
    monkeypatch.setenv("IRCOT_BATCH", "1")
    few = {"dev": 0, "test": 8, "distractors": [], "max_steps": 3, "datasets": ["hotpotqa"]}
    few |= {"data_dir": str(make_laboratory(tmp_path / "small", 5, 100, 10))}
    return read_parameters("mini", few | {"model": "data/models/mini-base"})


@pytest.fixture
def start_nodes(monkeypatch):
    monkeypatch.setenv("RAY_worker_niceness", "0")
    few = {"num_cpus": 0, "include_dashboard": False}
    nodes = Nodes(initialize_head=True, connect=True, head_node_args=few)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def keys_of(folder) -> set[str]:
    with closing(sqlite3.connect(folder / "calls.sqlite")) as connection:
        return {key for (key,) in connection.execute("SELECT key FROM calls")}


def runs_of(p) -> list[Run]:
    bench = open_setup(p, "hotpotqa", "04_ircot")
    return [Run(bench, s, "test", {"k": 2}) for s in choose_systems(["IRCoT QA", "OneR QA"])]


def test_a_node_that_dies_costs_what_it_was_asked(tmp_path, at, parameters, request, capsys):
    at(tmp_path / "alone")
    alone = parameters.change(workers=1)
    tables = [run_all([played])[0] for played in runs_of(alone)]
    keys = keys_of(tmp_path / "alone")

    at(tmp_path / "shared")
    nodes = request.getfixturevalue("start_nodes")
    first = nodes.add_node(num_cpus=1)
    ircot, oner = runs_of(parameters.change(workers=f"ray:{nodes.address}"))
    with open_workers([ircot.bench]) as crew:
        crew.hand_out(ircot)
        deadline = time.monotonic() + 200
        while len(ircot.bench.calls) < 12 and time.monotonic() < deadline:
            time.sleep(0.01)
        nodes.remove_node(first, allow_graceful=False)
        time.sleep(3)  # a worker outlives its node by a second
        kept = keys_of(tmp_path / "shared")
        nodes.add_node(num_cpus=1)
        crew.hand_out(oner)
        for played in (ircot, oner):
            crew.wait(played)
    assert 12 <= len(kept) < len(keys) == len(kept) + crew.computed
    assert keys_of(tmp_path / "shared") == keys
    assert "failed" not in capsys.readouterr().err
    again = run_all([ircot, oner])
    for table, played in zip(tables, again, strict=True):
        assert played.equals(table)


def test_without_a_cluster_one_line_says_so(tmp_path, at, parameters):
    at(tmp_path)
    with pytest.raises(Unavailable, match="found no Ray cluster at 127.0.0.1:9 .*: ray start"):
        run_all(runs_of(parameters.change(workers="ray:127.0.0.1:9"))[:1])
