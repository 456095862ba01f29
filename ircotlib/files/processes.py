"""Processes that share the work of this one, and end with it."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread


def open_pool(processes: int) -> ProcessPoolExecutor:
    """A pool of so many processes. They are spawned, not forked: a fork might copy a lock that
    another thread holds.
    """
    return ProcessPoolExecutor(processes, get_context("spawn"), _end_with_parent)


def _end_with_parent() -> None:
    """End this process with its parent, even a killed one: the pool would leave it behind."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it silently

    def end() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=end, daemon=True).start()
