"""The benchmark of systems: what is timed, and what is not."""

import time

from bench import systems as bench_systems
from ircot_laboratory.make import make_laboratory
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.parameters import read_parameters
from ircotlib.systems import choose_systems


class Setup:
    """A stand-in with the fields of a bench that time_system reads."""

    def __init__(self, dataset, test):
        self.dataset, self.test, self.backends = dataset, test, ()

    def grid(self, system):
        return {"k": [2, 4]}


def test_the_seconds_of_a_question_nothing_remembered(monkeypatch):
    questions = [type("Q", (), {"id": str(n)}) for n in range(4)]
    settings, sizes = [], []

    def run(programs, backends, calls):
        assert len(calls) == 0 and calls.path == ":memory:"
        sizes.append(len(programs))
        time.sleep(0.04)

    def program_of(bench, system, **setting):
        settings.append(setting)
        return lambda question: None

    monkeypatch.setattr(bench_systems, "run", run)
    monkeypatch.setattr(bench_systems, "program_of", program_of)
    [system] = choose_systems(["CoT"])
    seconds = bench_systems.time_system(Setup("hotpotqa", questions), system)
    assert 0.01 <= seconds < 0.5 and sizes == [4] and settings == [{"k": 2}]


def test_a_row_a_data_set_and_system_on_the_first_questions(monkeypatch):
    opened, timed = [], []

    def open_setup(p, dataset, experiment):
        opened.append(dataset)
        return Setup(dataset, list(range(50)))

    def time_system(bench, system, again=False):
        timed.append((system.name, len(bench.test)))
        return 0.12345

    monkeypatch.setattr(bench_systems, "open_setup", open_setup)
    monkeypatch.setattr(bench_systems, "time_system", time_system)
    monkeypatch.setattr(bench_systems, "replace", lambda bench, test: Setup(bench.dataset, test))
    p = read_parameters("mini", {"datasets": ["zsre", "fever"], "systems": ["CoT", "SearChain"]})
    rows = list(bench_systems.time_all(p, 10))
    first = [("SearChain", 1), ("CoT", 10), ("SearChain", 10)]
    assert opened == ["zsre", "fever"] and timed == 2 * first
    pairs = [(dataset, system) for dataset in opened for system in ("CoT", "SearChain")]
    assert [(row["dataset"], row["system"]) for row in rows] == pairs
    assert {"model", "retriever", "profile"} < set(rows[0])
    assert {(row["seconds"], row["n"]) for row in rows} == {(0.123, 10)}


def test_the_driver_is_timed_without_retrieving(tmp_path, monkeypatch):
    """With the simulated reader, on a real bench."""
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    folder = make_laboratory(tmp_path / "small", seed=5, size=300, questions=10)
    changes = {"model": "simulated", "data_dir": str(folder), "datasets": ["zsre"], "dev": 0}
    p = read_parameters("mini", changes | {"systems": ["CoT", "ReAct", "SearChain"], "test": 4})
    rows = list(bench_systems.time_all(p, 4, driver=True))
    assert [row["system"] for row in rows] == ["CoT", "ReAct", "SearChain"]
    assert all(0 < row["ms"] < 1000 and row["n"] == 4 for row in rows)
    assert {row["model"] for row in rows} == {"simulated reader"}
