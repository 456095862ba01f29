"""Plays shares of runs on the nodes of a Ray cluster (https://docs.ray.io).

A worker is an actor that keeps the models it has read. Its replies travel, as they come, to the
call cache of the process that waits. Nodes that join are used; what a node that died was playing,
another plays, from the last reply on.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from socket import create_connection
from threading import Thread

from ircotlib.errors import Unavailable
from ircotlib.files.checksums import one_line
from ircotlib.files.extras import need
from ircotlib.playing.cache import Calls

MOST = 256  # workers at a time
DEATHS = 3  # workers that may die with the same share


@dataclass(eq=False)
class _Task:
    share: object
    result: Future = field(default_factory=Future)
    deaths: int = 0


class Cluster:
    """The workers on a Ray cluster, each on a GPU or, if there is none, on a core. `address`:
    "auto" or that of its head; this process must be on one of its nodes. `play(share, calls)`: what
    a worker does. `path`: the call cache. Raises Unavailable if there is no such cluster.
    """

    def __init__(self, address: str, play: Callable, path: str):
        need("ray", "ray")
        import ray

        quiet = {"log_to_driver": False, "configure_logging": False}
        try:
            if address != "auto":  # Ray would wait for minutes
                host, _, port = address.rpartition(":")
                create_connection((host, int(port)), timeout=10).close()
            ray.init(address, ignore_reinit_error=True, **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            reason = f"workers: found no Ray cluster at {address} ({one_line(error)})"
            raise Unavailable(f"{reason}; start one: ray start --head") from error
        self.ray = ray
        self.tasks = SimpleQueue()
        self.workers = {}
        self.closed = False
        gpus = int(ray.cluster_resources().get("GPU", 0) > 0)
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        kept = {"max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": here}
        self.replies = ray.remote(Calls).options(num_cpus=0, **kept).remote(path)
        self.worker = ray.remote(_Worker).options(num_cpus=1, num_gpus=gpus)
        self.play = play

    def submit(self, share: object) -> Future:
        """Start to play a share."""
        self.tasks.put(task := _Task(share))
        if len(self.workers) < MOST:
            name = len(self.workers)
            self.workers[name] = None
            Thread(target=self._work, args=(name,), daemon=True).start()
        return task.result

    def close(self) -> None:
        """End all workers, and free what they hold."""
        self.closed = True
        for _ in self.workers:
            self.tasks.put(None)
        for worker in filter(None, self.workers.values()):
            self.ray.kill(worker)
        self.ray.kill(self.replies)

    def _work(self, name: int) -> None:
        """Play shares with one worker, as soon as a node has room for it; with another after its
        death.
        """
        while True:
            self.workers[name] = worker = self.worker.remote(self.play, self.replies)
            task = None
            try:
                self.ray.get(worker.begin.remote())
                while task := self.tasks.get():
                    self._finish(task, worker)
                return
            except self.ray.exceptions.RayActorError as error:
                task = task or self.tasks.get()
                if self.closed or task is None:
                    return
                task.deaths += 1
                if task.deaths < DEATHS:
                    self.tasks.put(task)
                else:
                    task.result.set_exception(error)

    def _finish(self, task: _Task, worker: object) -> None:
        if task.result.cancelled():
            return
        try:
            computed = self.ray.get(worker.play.remote(task.share))
        except self.ray.exceptions.RayTaskError as error:
            task.result.set_exception(error.cause)
        else:
            task.result.set_result(computed)


class _Worker:
    """The actor that plays shares one by one."""

    def __init__(self, play: Callable, replies: object):
        self.play_share = play
        self.calls = _Replies(replies)

    def begin(self) -> None:
        """Answer as soon as the worker runs."""

    def play(self, share: object) -> int:
        """Play a share."""
        return self.play_share(share, self.calls)


class _Replies:
    """The call cache of the process that waits, as its workers see it."""

    def __init__(self, actor: object):
        import ray

        self.actor, self.get = actor, ray.get

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        """As Calls.get_many."""
        return self.get(self.actor.get_many.remote(list(keys)))

    def put_many(self, replies: Mapping[str, str]) -> dict[str, str]:
        """As Calls.put_many."""
        return self.get(self.actor.put_many.remote(dict(replies)))

    def check_missing(self, keys: Collection[str]) -> None:
        """As Calls.check_missing."""
