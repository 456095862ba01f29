"""Plays runs in several processes, each a share of the questions.

A worker only fills the call cache. Whoever waits for a run then replays it from there, so that
runs, tables and figures are the same with any number of workers; and whatever a worker could not
answer is asked again where its error is reported.
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ircotlib.comparing.cluster import MOST, Cluster
from ircotlib.comparing.pool import Pool, list_gpus, open_processes
from ircotlib.comparing.waves import Waves
from ircotlib.errors import DataError
from ircotlib.files.checksums import one_line
from ircotlib.files.paths import DATA
from ircotlib.files.processes import count_cores
from ircotlib.files.progress import show_progress
from ircotlib.generation.config import SMALL
from ircotlib.parameters import WITHOUT_WEIGHTS, Parameters
from ircotlib.playing.cache import Calls
from ircotlib.playing.scheduler import find_missing, run
from ircotlib.running.bench import Bench
from ircotlib.running.run import Run, open_run

FEWEST = 20  # questions of a share; fewer would not fill the batches of a small model
TRIED = 10  # questions, at most, that tell whether a run is in the call cache
DEATHS = 3  # after so many killed workers, the rest is left to whoever waits


class Share(NamedTuple):
    """A share of the questions of a run: all that a worker must know to play it. `run`: its
    identity; `fingerprints`: of the backends of whoever waits; `small`: whether the model is.
    """

    run: dict
    fingerprints: list[str | None]
    small: bool
    ids: frozenset[str]


def play_share(share: Share, calls: Calls | None = None) -> int:
    """Play a share of a run, whose replies are then in `calls` (None: the call cache of this
    machine); return how many requests were computed. Raises DataError if this worker has other
    models or another corpus than the process that waits.
    """
    played = open_run(share.run, calls)
    bench = played.bench
    if (fingerprints := fingerprints_of(bench)) != share.fingerprints:
        expected = f"expected those of the process that waits, {share.fingerprints}"
        raise DataError(f"{bench.dataset.name}: found corpus and models {fingerprints}, {expected}")
    if share.small:
        bench.model.threads = 1  # the other cores belong to other workers
    build = played.program
    programs = {q.id: build(q) for q in played.questions if q.id in share.ids}
    _, counts = run(programs, bench.backends, bench.calls)
    return sum(kind["computed"] for kind in counts.values())


class Workers:
    """Those who play runs, opened by `open_workers`: `hand_out` has a run played, `wait` waits for
    it. `count`: how many play at the same time; with fewer than two, runs are left to whoever
    waits for them. `computed`: the requests that they have answered so far.
    """

    def __init__(self, p: Parameters, count: int):
        self.parameters = p
        self.count = count
        self.deaths = 0
        self.computed = 0
        self.shares: dict[Path, dict[Future, Share]] = {}  # not yet played, by the run's folder

    @cached_property
    def engine(self) -> Pool | Cluster:
        """Where they work, opened when the first share is handed out."""
        if address := ray_address(self.parameters):
            return Cluster(address, play_share, str(DATA / "calls.sqlite"))
        return open_processes(play_share, self.count)

    def hand_out(self, played: Run) -> None:
        """Have a run played, unless all its replies are in the call cache."""
        if self.count < 2 or not played.is_as_named or _is_stored(played):
            return
        small = is_small(played.bench)
        about = played.identity, fingerprints_of(played.bench), small
        fewest = FEWEST if small else played.bench.model.batch_rows
        number = max(1, min(self.count, len(played.questions) // fewest))
        ids = [frozenset(q.id for q in played.questions[start::number]) for start in range(number)]
        shares = [Share(*about, of_one) for of_one in ids]
        self.shares[played.folder] = {self.engine.submit(share): share for share in shares}

    def wait(self, played: Run) -> None:
        """Wait for a run that was handed out. An error of a worker is only reported: whoever plays
        the run now meets it too, or does without the worker.
        """
        waiting = self.shares.get(played.folder, {})
        total = len(played.questions)
        with show_progress(played.label, total) as progress:
            while waiting:
                ended = next(as_completed(waiting))
                error = ended.exception()
                if isinstance(error, BrokenProcessPool) and self.deaths < DEATHS:
                    self._start_again()
                    continue
                waiting.pop(ended)
                progress(total - sum(len(share.ids) for share in waiting.values()), total)
                if not error:
                    self.computed += ended.result()
                else:
                    reason = one_line(f"{type(error).__name__}: {error}", most=None)
                    failed = f"{played.label}: a worker failed ({reason}); played here instead"
                    print(failed, file=sys.stderr, flush=True)

    def _start_again(self) -> None:
        """Start all shares again after a worker was killed, which ends the others too."""
        self.deaths += 1
        wait([share for waiting in self.shares.values() for share in waiting])
        for waiting in self.shares.values():
            for ended in [future for future in waiting if future.exception()]:
                share = waiting.pop(ended)
                waiting[self.engine.submit(share)] = share


@contextmanager
def open_workers(benches: Sequence[Bench]) -> Iterator[Workers | Waves | None]:
    """The workers for runs on benches, or waves if there are batch files. Shares that have not
    begun at the end are dropped.
    """
    if not benches or benches[0].parameters.batch:
        yield Waves() if benches else None
        return
    workers = Workers(benches[0].parameters, min(map(count_workers, benches)))
    try:
        yield workers
    finally:
        for waiting in workers.shares.values():
            for share in waiting:
                share.cancel()
        if "engine" in vars(workers):
            workers.engine.close()


def count_workers(bench: Bench) -> int:
    """How many processes play a bench's runs: one per GPU or, for a small model without one, per
    core; one where a server, the simulated or the gold reader answers.
    """
    p = bench.parameters
    if p.server or p.model in WITHOUT_WEIGHTS or bench.model is None:
        return 1
    if ray_address(p):
        return MOST
    if p.workers != "auto":
        return p.workers
    return len(list_gpus()) or (count_cores() if is_small(bench) else 1)


def ray_address(p: Parameters) -> str:
    """The address of the Ray cluster whose nodes play runs; "": none does."""
    return p.workers.removeprefix("ray:") if str(p.workers).startswith("ray:") else ""


def is_small(bench: Bench) -> bool:
    """Whether its model is so small that a second core speeds up no batch."""
    return 0 < bench.model.parameters < SMALL  # 0: not known


def fingerprints_of(bench: Bench) -> list[str | None]:
    """The fingerprints of its backends."""
    return [backend.fingerprint for backend in bench.backends]


def _is_stored(played: Run) -> bool:
    """Whether the replies of a run are in the call cache, as a few of its questions tell."""
    build = played.program
    few = played.questions[:: 1 + len(played.questions) // TRIED]
    programs = {question.id: build(question) for question in few}
    return not find_missing(programs, played.bench.backends, played.bench.calls)
