"""Workers: the files of runs are the same with any number of them."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec

import psutil
import pytest
from joblib import cpu_count
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ircotlib.errors import Unavailable
from ircotlib.experiment import workers
from ircotlib.experiment.compare import compare
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import open_setup
from ircotlib.experiment.stored import find_folders, read_about
from ircotlib.experiment.workers import claim_gpu, count_workers, is_missing, list_gpus
from ircotlib.systems import all_systems

S = all_systems()
NO_RAY = pytest.mark.skipif(
    not find_spec("ray"), reason="needs Ray: pip install -e '.[ray]'"
)


@pytest.fixture(autouse=True)
def small_shares(monkeypatch, p):
    """Shares of few questions; and no worker of another test, which has its folder."""
    monkeypatch.setattr(workers, "FEWEST", 2)
    get_reusable_executor().shutdown(wait=True)
    yield
    get_reusable_executor().shutdown(wait=True)


# -1 is none (CUDA's guide, "Environment Variables")
VISIBLE = {"-1": [], "0, 3": ["0", "3"], "GPU-89,MIG-1/2/0": ["GPU-89", "MIG-1/2/0"]}


def make_runs(p) -> dict[str, bytes]:
    """The files of the runs of a comparison, by name."""
    setup = open_setup(p, "hotpotqa", "04_ircot")
    compare([setup], [S["OneR QA"], S["IRCoT QA"]])
    names = ("predictions.jsonl", "scores.csv")
    paths = [folder / name for folder in find_folders(setup.runs) for name in names]
    return {str(path.relative_to(setup.runs)): path.read_bytes() for path in paths}


def kill_one() -> None:
    """Kill the first worker that is there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for child in psutil.Process(os.getpid()).children(recursive=True):
            if "popen_loky" in " ".join(child.cmdline()):
                return child.kill()
        time.sleep(0.05)


@pytest.mark.parametrize("count", [2, pytest.param("ray", marks=NO_RAY)])
def test_the_files_of_runs_are_the_same_with_any_number_of_workers(
    p, tmp_path, at, request, count
):
    """The next start answers the questions that a killed worker left."""
    p = p.change(ircot_k=[2, 3], oner_k=[2])
    alone = make_runs(p)
    at(tmp_path / "shared")
    if count == "ray":
        ray = pytest.importorskip("ray")
        ray.init(num_cpus=2, include_dashboard=False)
        request.addfinalizer(ray.shutdown)
    else:
        with ThreadPoolExecutor(1) as pool, pytest.raises(TerminatedWorkerError):
            pool.submit(kill_one)
            make_runs(p.change(workers=count))
    assert make_runs(p.change(workers=count)) == alone and len(alone) > 6
    setup = open_setup(p.change(workers=count), "hotpotqa", "04_ircot")
    abouts = [read_about(folder) for folder in find_folders(setup.runs)]
    counts = [kind["computed"] for about in abouts for kind in about["counts"].values()]
    run = Run(setup, S["IRCoT QA"], "test", {"k": 2})
    assert not is_missing(run) and sum(counts) == 0  # this process only replayed
    mine = replace(S["IRCoT QA"], name="Mine")
    assert not is_missing(replace(run, system=mine))  # which no worker knows


@pytest.mark.skipif(bool(find_spec("ray")), reason="Ray is installed")
def test_workers_of_a_cluster_need_ray():
    with pytest.raises(Unavailable, match="ray is not installed: pip install .*ray"):
        workers.list_ray()


def test_each_gpu_or_core_gets_a_worker(p, monkeypatch):
    setup = open_setup(p.change(workers="auto"), "hotpotqa", "04_ircot")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5,7")
    assert count_workers(setup) == 3
    first = claim_gpu()
    claim_gpu.cache_clear()  # as in another process
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5,7")
    second = claim_gpu()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "5"
    for lock in (first, second):
        lock.release()
    claim_gpu.cache_clear()
    for visible, gpus in VISIBLE.items():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert list_gpus() == gpus
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert count_workers(setup) == cpu_count()
    monkeypatch.setattr(workers, "SMALL", 1)
    assert count_workers(setup) == 1
    five = replace(setup, parameters=p.change(workers=5))
    assert count_workers(five) == 5
    # another process would open all questions
    assert count_workers(replace(five, test=setup.test[:1])) == 1
    served = p.change(workers=5, server="http://h:9", model="x")
    assert count_workers(replace(setup, parameters=served)) == 1
    assert count_workers(open_setup(p, "hotpotqa", "04_ircot", with_model=False)) == 1


SHARES = [(19, 8, [19]), (60, 8, [20] * 3), (90, 2, [45] * 2), (1000, 2, [100] * 10)]


@pytest.mark.parametrize(("questions", "count", "sizes"), SHARES)
def test_shares_are_of_one_size_and_neither_too_small_nor_too_large(
    monkeypatch, questions, count, sizes
):
    monkeypatch.setattr(workers, "FEWEST", 20)
    shares = workers.split(range(questions), count)
    assert [len(share) for share in shares] == sizes
    assert sorted(n for share in shares for n in share) == [*range(questions)]
