"""Processes that share the work of this one, and end with it; the cores that they may use."""

import os
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread


def count_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_pool(
    processes: int, environments: Sequence[Mapping[str, str]] = ()
) -> ProcessPoolExecutor:
    """A pool of so many processes. They are spawned, not forked: a fork might copy a lock that
    another thread holds. `environments`: what to set in the environment of each; none: nothing.
    """
    context = get_context("spawn")
    each = context.SimpleQueue()
    for number in range(processes):
        each.put(dict(environments[number]) if environments else {})
    return ProcessPoolExecutor(processes, context, _begin, (each,))


def _begin(environments) -> None:
    """Begin a process of a pool: set its environment, and end it with its parent, even a killed
    one: the pool would leave it behind.
    """
    os.environ |= environments.get()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it silently

    def end() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=end, daemon=True).start()
