"""Answers shares of the questions of runs in several processes. The one that waits for
them stores the replies, and replays the runs: with the same results for any number.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout
from joblib import Parallel, cpu_count, delayed, parallel_config

from ircotlib import models, retrieval
from ircotlib.data import Question
from ircotlib.engine.cache import Replies
from ircotlib.engine.scheduler import find_missing
from ircotlib.engine.scheduler import run as run_programs
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import Setup, open_calls, open_setup
from ircotlib.files import DATA, need, track
from ircotlib.models.folders import SMALL
from ircotlib.parameters import Parameters
from ircotlib.plugins import CELLS
from ircotlib.systems import all_systems, find_system

# questions of a share: fewer would not fill the batches of a small model
FEWEST, MOST = 20, 100
TRIED = 10  # questions, at most, that tell whether a run is in the call cache
RAY = "ray"  # in place of a number of workers: those of a Ray cluster


class Share(NamedTuple):
    """What a worker is sent."""

    parameters: Parameters
    setup: dict[str, Any]  # `Setup.identity`
    run: tuple[str, str, dict]  # its system, part and setting
    ids: list[str]  # of the questions to answer
    known: dict[str, str]  # replies, by key


class WorkerReplies(dict):
    """A worker's call cache; of the replies in `stored` it keeps what is asked for."""

    def __init__(self, known: Mapping[str, str], stored: Replies | None):
        super().__init__(known)
        self.stored = stored

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        keys = [*keys]
        if self.stored is not None:
            self.update(self.stored.get_many(keys))
        return {key: self[key] for key in keys if key in self}

    def put_many(self, replies: Mapping[str, str]) -> dict[str, str]:
        self.update({**replies, **self.get_many(replies)})
        return self.get_many(replies)


def prefill_cache(runs: Sequence[Run]) -> None:
    """Have workers, if there are two or more, answer the questions of runs as far as
    they can.
    """
    setups = {id(run.setup): run.setup for run in runs}.values()
    count = min(map(count_workers, setups), default=1)
    if count == 1:
        return
    waiting = [
        (run, questions)
        for run in runs
        if is_missing(run)
        for questions in split(run.questions, count)
    ]
    # the replies of a round are stored before the next
    for first in track(range(0, len(waiting), count), "rounds of workers"):
        some = waiting[first : first + count]
        shares = [make_share(run, questions) for run, questions in some]
        replies = call_workers(shares, count, runs[0].setup.parameters.workers)
        for (run, _), new in zip(some, replies, strict=True):
            run.setup.calls.put_many(new)


def count_workers(setup: Setup) -> int:
    """How many processes answer questions: one per GPU or, for a small model without
    one, per core. One where a server answers, or if others cannot open the same setup.
    """
    p = setup.parameters
    if p.server or setup.model is None:
        return 1
    if any(backend.fingerprint is None for backend in setup.backends):
        return 1
    in_cell = retrieval.find_retriever(p.retriever).module == CELLS
    if in_cell or models.find_model(p.model, served=False).module == CELLS:
        return 1  # no other process knows them
    if open_setup(p, **setup.identity) != setup:
        return 1
    if p.workers == RAY:
        return int(list_ray().get("GPU") or list_ray()["CPU"])
    if isinstance(p.workers, int):
        return p.workers
    # 0 parameters: their number is not known
    is_small = 0 < getattr(setup.model, "parameters", 0) < SMALL
    return len(list_gpus()) or (cpu_count() if is_small else 1)


def is_missing(run: Run) -> bool:
    """Whether workers know a run's system, and a few questions are not in the cache."""
    known = all_systems().get(run.system.name) is run.system
    if not known or run.system.program.__module__ == CELLS:
        return False
    few = run.questions[:: 1 + len(run.questions) // TRIED]
    return bool(make_share(run, few).ids)


def split(questions: Sequence[Question], count: int) -> list[Sequence[Question]]:
    """The questions in shares of about the same size, for `count` workers."""
    parts = max(1, min(count, len(questions) // FEWEST), len(questions) // MOST)
    return [questions[first::parts] for first in range(parts)]


def make_share(run: Run, questions: Sequence[Question]) -> Share:
    """A share of a run: the questions that lack a reply in the call cache."""
    setup = run.setup
    known = WorkerReplies({}, setup.calls)
    missing = find_missing(run.programs(questions), setup.backends, known)
    named = run.system.name, run.part, run.setting
    return Share(setup.parameters, setup.identity, named, missing, dict(known))


def call_workers(
    shares: Sequence[Share], count: int, workers: int | str
) -> list[dict[str, str]]:
    """The replies to shares, each answered by a process here or of a Ray cluster."""
    options: dict[str, Any] = {"backend": "loky"}
    if workers == RAY:
        from ray.util.joblib import register_ray

        register_ray()
        gpu = {"num_gpus": 1} if list_ray().get("GPU") else {}
        options = {"backend": RAY, "ray_remote_args": gpu}
    with parallel_config(**options):
        return Parallel(n_jobs=count)(delayed(answer_share)(share) for share in shares)


def answer_share(share: Share) -> dict[str, str]:
    """What a worker does: answer questions of a run; return the replies that were not
    known. Errors are left to the process that waits, which meets them again.
    """
    claim_gpu()
    # on this machine; a node of a cluster was sent what it lacks
    path = DATA / "calls.sqlite"
    replies = WorkerReplies(share.known, open_calls(path) if path.exists() else None)
    name, part, setting = share.run
    setup = open_setup(share.parameters, **share.setup, calls=replies)
    run = Run(setup, find_system(name), part, setting)
    asked = [question for question in run.questions if question.id in share.ids]
    with suppress(RuntimeError):
        run_programs(run.programs(asked), setup.backends, replies)
    return {key: reply for key, reply in replies.items() if key not in share.known}


@cache
def list_ray() -> dict[str, float]:
    """The resources of the Ray cluster that RAY_ADDRESS names, or of one made here."""
    need("ray", "ray")
    import ray

    ray.init(ignore_reinit_error=True)
    return ray.cluster_resources()


def list_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        devices = Path("/dev").glob("nvidia[0-9]*")
        return [str(number) for number, _ in enumerate(devices)]
    names = [name.strip() for name in visible.split(",")]
    return [name for name in names if name not in ("", "-1")]  # -1: none (CUDA)


@cache
def claim_gpu() -> FileLock | None:
    """Have this worker use a GPU that no other one uses, until it ends."""
    for gpu in list_gpus():
        lock = FileLock(DATA / f"gpu-{gpu}.lock")
        with suppress(Timeout):
            lock.acquire(timeout=0)
            os.environ["CUDA_VISIBLE_DEVICES"] = gpu
            return lock
    return None
