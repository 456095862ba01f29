"""Shows the progress of long work, as a bar or, in a batch run, as a line every 30 seconds."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from tqdm import tqdm
from tqdm.auto import tqdm as tqdm_auto


@contextmanager
def show_progress(label: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Yield a callable progress(done, total); `total` is None if it is not known. In a batch run
    (IRCOT_BATCH is set) work of less than 30 seconds prints nothing.
    """
    if os.environ.get("IRCOT_BATCH"):
        printed = time.monotonic()

        def show(done: int, total: int) -> None:
            nonlocal printed
            if time.monotonic() - printed > 30:
                printed = time.monotonic()
                so_far = f"{done:,} of {total:,}" if total else f"{done:,}"
                print(f"{label}: {so_far}", file=sys.stderr, flush=True)

        yield show
        return
    bar = (tqdm if sys.stderr.isatty() else tqdm_auto)(total=total, desc=label, leave=False)
    with bar:
        yield lambda done, total: bar.update(done - bar.n)


def track(items: Iterable, label: str, total: int | None = None, every: int = 1000) -> Iterator:
    """Yield the items, `total` or as many as they are, and show how many are done, updated after
    every `every` items.
    """
    total = len(items) if total is None else total
    with show_progress(label, total) as progress:
        for done, item in enumerate(items, start=1):
            yield item
            if done % every == 0 or done == total:
                progress(done, total)
