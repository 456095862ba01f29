"""Workers: their runs are the same as those without, and what a killed one left is played."""

import os
import time
from concurrent.futures import wait
from dataclasses import replace

import psutil
import pytest
from ircotlib.experiment.cluster import MOST
from ircotlib.experiment.pool import Pool, open_processes

from ircot_laboratory.make import make_laboratory
from ircotlib.experiment import workers
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import FILES, Run
from ircotlib.experiment.setup import open_setup
from ircotlib.experiment.workers import count_workers, open_workers
from ircotlib.files.processes import count_cores
from ircotlib.parameters import read_parameters
from ircotlib.systems import choose_systems


@pytest.fixture(scope="module")
def parameters(tmp_path_factory):
    folder = make_laboratory(tmp_path_factory.mktemp("world") / "small", 5, 100, 10)
    few = {"dev": 2, "test": 6, "distractors": [], "max_steps": 3, "datasets": ["hotpotqa"]}
    few |= {"data_dir": str(folder), "model": "data/models/mini-base"}
    return read_parameters("mini", few)


@pytest.fixture(autouse=True)
def small_shares(monkeypatch):
    open_processes.cache_clear()  # those of another test have its folder
    monkeypatch.setattr(workers, "FEWEST", 6)
    monkeypatch.setenv("IRCOT_BATCH", "1")


def files_of(folder) -> dict[str, bytes]:
    """The files of all runs in a folder, by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.name in FILES
    }


@pytest.mark.parametrize("agent", [False, True])
def test_workers_play_the_runs_of_the_model_and_of_the_agent(tmp_path, at, parameters, agent):
    at(tmp_path)
    p = parameters.change(workers=2)
    bench = open_setup(p.for_agent() if agent else p, "hotpotqa", "13_head_to_head")
    [system] = choose_systems(["CoT" if agent else "OneR QA"])
    played = Run(bench, system, "test", {} if agent else {"k": 2})
    with open_workers([bench]) as crew:
        crew.hand_out(played)
        assert crew.shares[played.folder]
        crew.wait(played)
    assert crew.computed == len(bench.calls) > 5


def test_what_a_killed_worker_left_is_played_and_runs_are_as_without(
    tmp_path, at, parameters, capsys
):
    [system] = choose_systems(["IRCoT QA"])
    at(tmp_path / "alone")
    alone = open_setup(parameters.change(workers=1), "hotpotqa", "04_ircot")
    run_system(alone, system, k=2)
    at(tmp_path / "shared")
    bench = open_setup(parameters.change(workers=2), "hotpotqa", "04_ircot")
    played = Run(bench, system, "test", {"k": 2})
    others = set(psutil.Process(os.getpid()).children())
    with open_workers([bench]) as crew:
        crew.hand_out(played)
        [share] = crew.shares[played.folder]
        deadline = time.monotonic() + 60
        while len(bench.calls) < 8 and time.monotonic() < deadline:
            time.sleep(0.001)
        begun = set(psutil.Process(os.getpid()).children()) - others
        [worker] = [child for child in begun if "spawn_main" in str(child.cmdline())]
        worker.kill()
        wait([share])
        kept = len(bench.calls)
        crew.wait(played)
    assert 8 <= kept < len(bench.calls) == kept + crew.computed == len(alone.calls)
    assert not crew.shares[played.folder]
    run_system(bench, system, k=2)
    assert files_of(tmp_path / "shared") == files_of(tmp_path / "alone")
    assert "failed" not in capsys.readouterr().err
    with open_workers([bench]) as crew:
        crew.hand_out(played)
        for mine in (replace(system), replace(system, name="Mine")):  # no worker knows these
            crew.hand_out(played._replace(system=mine))
        assert not crew.shares and "engine" not in vars(crew)


def test_each_gpu_or_core_gets_a_worker(tmp_path, at, parameters, monkeypatch):
    at(tmp_path)
    bench = open_setup(parameters, "hotpotqa", "04_ircot")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5,7")
    assert count_workers(bench) == 3
    gpus = [own["CUDA_VISIBLE_DEVICES"] for own in Pool(print, 4).environments]
    assert gpus == ["2", "5", "7", "2"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert count_workers(bench) == count_cores()
    assert Pool(print, 1).environments == [{"OMP_NUM_THREADS": str(count_cores())}]
    monkeypatch.setattr(workers, "SMALL", 1)
    assert count_workers(bench) == 1
    served = {"server": "http://127.0.0.1:9", "model": "x", "models": ["x"], "workers": 5}
    simulated = {"model": "simulated", "workers": 5}
    cases = ({"workers": 5}, 5), ({"workers": "ray:auto"}, MOST), (served, 1), (simulated, 1)
    for changes, count in cases:
        assert count_workers(replace(bench, parameters=parameters.change(**changes))) == count
