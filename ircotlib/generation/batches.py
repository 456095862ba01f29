"""Cuts waiting requests into batches, and answers batches in parallel."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple


class _Ended(NamedTuple):
    """The end of one iterator, and the error that ended it, if any."""

    error: BaseException | None = None


def cut_batches(
    lengths: Sequence[int],
    rows: int,
    tokens: int,
    counts: Sequence[int] | None = None,
    order: Iterable[int] | None = None,
) -> list[list[int]]:
    """The places of all lengths, in batches: as many in each as `rows` and `tokens`, padding
    included, allow, and at least one. `counts`: the rows that each takes; None: one each.
    `order`: the order of the places; None: the shortest first.
    """
    batches, filled, longest = [], 0, 0
    for place in sorted(range(len(lengths)), key=lengths.__getitem__) if order is None else order:
        count = 1 if counts is None else counts[place]
        filled, longest = filled + count, max(longest, lengths[place])
        if not batches or filled > rows or filled * longest > tokens:
            batches.append([])
            filled, longest = count, lengths[place]
        batches[-1].append(place)
    return batches


def close_up(goes_on: Sequence[bool]) -> list[int]:
    """The places of the rows that go on, in a new order: those at the end take the places of rows
    that have ended, so that few rows move.
    """
    kept = sum(goes_on)
    last = [place for place in range(kept, len(goes_on)) if goes_on[place]]
    return [place if goes_on[place] else last.pop() for place in range(kept)]


def count_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(works: Iterable[Iterator], threads: int) -> Iterator:
    """Run iterators in parallel, at most `threads` at once, and yield their items as they come.

    An error in one of them is raised here. After an error, and when the caller stops early, the
    others stop after their current item.
    """
    works = list(works)
    if threads == 1 or len(works) < 2:
        for work in works:
            yield from work
        return
    found, stopped = SimpleQueue(), Event()
    with ThreadPoolExecutor(threads, "batch") as pool:
        for work in works:
            pool.submit(_play, work, found, stopped)
        try:
            yield from _until_all_ended(found, len(works))
        finally:
            stopped.set()


def _play(work: Iterator, found: SimpleQueue, stopped: Event) -> None:
    error = None
    try:
        for item in () if stopped.is_set() else work:
            found.put(item)
            if stopped.is_set():
                break
    except BaseException as raised:
        error = raised
    found.put(_Ended(error))


def _until_all_ended(found: SimpleQueue, count: int) -> Iterator:
    while count:
        item = found.get()
        if not isinstance(item, _Ended):
            yield item
        elif item.error is not None:
            raise item.error
        else:
            count -= 1
