"""Plays shares of runs in processes of this machine."""

import os
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path

from ircotlib.files.processes import count_cores, open_pool


def list_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name for name in visible.split(",") if name.strip()]
    return [str(number) for number in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]


@cache
def open_processes(play: Callable, count: int) -> "Pool":
    """The processes of this one, kept with the models that they have read."""
    return Pool(play, count)


class Pool:
    """Workers on this machine: processes, each with a GPU of its own if there are any. `play`: what
    one does with a share.
    """

    def __init__(self, play: Callable, count: int):
        self.play = play
        gpus = list_gpus()
        threads = str(max(1, count_cores() // count))
        self.environments = [{"OMP_NUM_THREADS": threads} for _ in range(count)]
        for number, environment in enumerate(self.environments):
            environment |= {"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)]} if gpus else {}
        self.open()

    def open(self) -> None:
        """Start the processes."""
        self.processes = open_pool(len(self.environments), self.environments)

    def submit(self, share: object) -> Future:
        """Start to play a share."""
        try:
            return self.processes.submit(self.play, share)
        except BrokenProcessPool:
            self.open()
            return self.processes.submit(self.play, share)

    def close(self) -> None:
        """Keep the processes for what comes next."""
