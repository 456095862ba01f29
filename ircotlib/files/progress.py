"""Bars that show the progress of long work; none in a batch run (IRCOT_BATCH is set)."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm


def track(items: Iterable, label: str, total: int | None = None) -> Iterable:
    """The items, with a bar that counts them."""
    return tqdm(items, label, total, leave=False, disable=_in_batch())


@contextmanager
def show_progress(label: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Yield a callable progress(done, total) that moves a bar."""
    with tqdm(desc=label, total=total, leave=False, disable=_in_batch()) as bar:
        yield lambda done, total: bar.update(done - bar.n)


def _in_batch() -> bool:
    return bool(os.environ.get("IRCOT_BATCH"))
