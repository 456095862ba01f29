"""Processes that share a profile's folders, some of them killed: nothing is lost."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from itertools import product
from multiprocessing import get_context

import psutil
import pytest

from ircot_laboratory.make import make_laboratory
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import compare_systems
from ircotlib.experiment.runs import EARLIER, FILES, read_about, read_file, write_about
from ircotlib.files.paths import replace_files
from ircotlib.parameters import read_parameters
from ircotlib.results.runs import read_runs
from ircotlib.systems import choose_systems

SYSTEMS = ("OneR", "NoR QA", "IRCoT QA")
DATASETS = ("hotpotqa",)
CONTEXT = get_context("forkserver")  # a fork of this process could not use torch
CONTEXT.set_forkserver_preload(["ircotlib.generation.weights"])


@pytest.fixture(scope="module")
def parameters(tmp_path_factory):
    folder = make_laboratory(tmp_path_factory.mktemp("world") / "small", 5, 100, 10)
    few = {"dev": 2, "test": 3, "distractors": [], "ircot_k": [2, 3], "oner_k": [2]}
    few |= {"data_dir": str(folder), "model": "data/models/mini-base", "max_steps": 3}
    return read_parameters("mini", few | {"datasets": list(DATASETS)})


def make_runs(p, folder, seed: int) -> None:
    """Make all runs in a random order, and read them."""
    setup.DATA = folder  # of a process of its own
    orders = list(product(DATASETS, SYSTEMS))
    random.Random(seed).shuffle(orders)
    for dataset, system in orders:
        bench = setup.open_setup(p, dataset, "together")
        compare_systems([bench], choose_systems([system]), 1)
        assert len(read_runs(p.change(datasets=[dataset]), "together"))
    os._exit(0)


def start(p, folder, seed: int):
    process = CONTEXT.Process(target=make_runs, args=(p, folder, seed))
    process.start()
    return process


def read_all(folder) -> tuple[dict, dict, int]:
    """Replies by key, files of runs by name, and how many requests the runs computed."""
    with closing(sqlite3.connect(folder / "calls.sqlite")) as connection:
        replies = dict(connection.execute("SELECT key, reply FROM calls"))
    runs, computed = {}, 0
    for path in folder.rglob("run.json"):
        about = read_about(path.parent)
        computed += sum(kind["computed"] for kind in about["counts"].values())
        name = path.parent.relative_to(folder / "runs").as_posix()
        runs |= {f"{name} {file}": read_file(path.parent, about, file) for file in FILES}
    return replies, runs, computed


def test_of_processes_that_are_killed_nothing_is_lost(tmp_path, parameters):
    alone, tried = tmp_path / "alone", tmp_path / "tried"
    warm = CONTEXT.Process(target=time.sleep, args=(0,))  # the server's imports take seconds
    warm.start()
    warm.join()
    started = time.monotonic()
    (undisturbed := start(parameters, alone, 0)).join()
    assert undisturbed.exitcode == 0
    longest, chance = time.monotonic() - started, random.Random(3)
    kept, killed = set(), 0
    for number in range(4):
        processes = [start(parameters, tried, chance.random()) for _ in range(3)]
        for process in processes[: 3 if number < 3 else 2]:
            process.join(chance.uniform(0.05, 0.2) * longest)
            process.kill()
            process.join()
            killed += process.exitcode == -signal.SIGKILL
        processes[2].join()
        if (tried / "calls.sqlite").exists():
            replies, runs, _ = read_all(tried)
            now = {*replies.items(), *runs.items()}
            assert kept <= now
            kept = now
    assert killed >= 4 and processes[2].exitcode == 0
    whole, left = read_all(alone), read_all(tried)
    assert left[:2] == whole[:2] and len(whole[0]) > 20 and len(whole[1]) > 8
    assert not list(tried.glob("runs/**/partial-*"))


@pytest.mark.parametrize("contents", [(["a" * 9000, "b"], ["c", "d"]), (["a", "b"], ["a", "b"])])
def test_who_reads_a_run_that_is_replaced_reads_the_old_or_the_new_one(tmp_path, contents):
    folder, stop = tmp_path / "run", threading.Event()
    idle, go = threading.Event(), threading.Semaphore(0)  # at most one replacement in each read

    def write(n: int) -> None:
        with replace_files(folder, "run.json", EARLIER) as partial:
            for name, content in zip(FILES, contents[n % 2], strict=True):
                (partial / name).write_text(content)
            write_about(partial, {"n": n})

    def replace() -> None:
        n = 0
        while go.acquire() and not stop.is_set():
            write(n := n + 1)
            idle.set()

    write(0)
    idle.set()
    writer = threading.Thread(target=replace)
    writer.start()
    seen, until = set(), time.monotonic() + 0.5
    try:
        while time.monotonic() < until or (len(seen) <= 3 and writer.is_alive()):
            if idle.is_set():
                idle.clear()
                go.release()
            about = read_about(folder)
            text = [read_file(folder, about, name).decode() for name in FILES]
            assert text == contents[about["n"] % 2]
            seen.add(about["n"])
    finally:
        stop.set()
        go.release()
        writer.join()
    assert len(seen) > 3
    assert (folder / EARLIER).exists() == (contents[0] != contents[1])


WORKERS = """
import time
from ircotlib.files.processes import open_pool
if __name__ == "__main__":
    with open_pool(2) as pool:
        list(pool.map(time.sleep, [0.01] * 2))
        print("ready", flush=True)
        list(pool.map(time.sleep, [600] * 2))
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    (tmp_path / "work.py").write_text(WORKERS)
    command = [sys.executable, str(tmp_path / "work.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "ready\n"
        workers = psutil.Process(parent.pid).children(recursive=True)
        parent.kill()
    assert len(workers) > 1
    assert psutil.wait_procs(workers, timeout=20)[1] == []
