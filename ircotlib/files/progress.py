"""Shows the progress of long work, as a bar or, in a batch run, as a line every 30 seconds; and
tells it to the process that waits for this one (IRCOT_PROGRESS).
"""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer

from tqdm import tqdm
from tqdm.auto import tqdm as tqdm_auto

from ircotlib.text import plain

PATIENCE = 1.0  # seconds
WORK: list[str] = []  # what is being done in a batch run, each a part of the one before


@contextmanager
def show_progress(label: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Yield a callable progress(done, total); `total` is None if it is not known. In a batch run
    (IRCOT_BATCH is set) work of less than 30 seconds prints nothing.
    """
    label = plain(label)
    if os.environ.get("IRCOT_BATCH"):
        printed = time.monotonic()
        told = 0.0
        depth = len(WORK)

        def show(done: int, total: int) -> None:
            nonlocal printed, told
            now = time.monotonic()
            so_far = f"{done:,} of {total:,}" if total else f"{done:,}"
            WORK[depth:] = [f"{label}: {so_far}"]
            if now - printed > 30:
                printed = now
                print(f"{label}: {so_far}", file=sys.stderr, flush=True)
            if now - told > 0.5 and (folder := os.environ.get("IRCOT_PROGRESS")):
                told = now
                with suppress(OSError):  # a full disk ends no work here
                    Path(folder, str(os.getpid())).write_text(", ".join(WORK), encoding="utf-8")

        try:
            yield show
        finally:
            del WORK[depth:]
        return
    bar = (tqdm if sys.stderr.isatty() else tqdm_auto)(total=total, desc=label, leave=False)
    with bar:
        yield lambda done, total: bar.update(done - bar.n)


@contextmanager
def say_if_long(line: str) -> Iterator[None]:
    """Print a line to stderr if the work takes longer than PATIENCE; nothing in a batch run."""
    timer = Timer(PATIENCE, tqdm.write, (line, sys.stderr))  # stands above a bar
    if not os.environ.get("IRCOT_BATCH"):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def track(items: Iterable, label: str, total: int | None = None, every: int = 1000) -> Iterator:
    """Yield the items, `total` or as many as they are, and show how many are done, updated after
    every `every` items.
    """
    total = len(items) if total is None and hasattr(items, "__len__") else total
    with show_progress(label, total) as progress:
        for done, item in enumerate(items, start=1):
            yield item
            if done % every == 0 or done == total:
                progress(done, total)
