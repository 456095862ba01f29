"""Cuts waiting requests into batches, and answers batches in parallel."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event


def cut_batches(
    lengths: Sequence[int], rows: int, tokens: int, counts: Sequence | None = None, order=None
) -> list[list[int]]:
    """The indices of all lengths, in batches: as many in each as `rows` and `tokens`, padding
    included, allow, and at least one. `counts`: the rows that each takes; None: one each.
    `order`: of the indices; None: the shortest first.
    """
    batches = []
    filled = longest = 0  # of the last batch: its rows, and the tokens of its longest
    for index in sorted(range(len(lengths)), key=lengths.__getitem__) if order is None else order:
        count = 1 if counts is None else counts[index]
        filled += count
        longest = max(longest, lengths[index])
        if not batches or filled > rows or filled * longest > tokens:
            batches.append([])
            filled, longest = count, lengths[index]
        batches[-1].append(index)
    return batches


def close_up(goes_on: Sequence[bool]) -> list[int]:
    """The indices of the rows that go on; the last take the places of those that have ended."""
    kept = sum(goes_on)
    last = [row for row in range(kept, len(goes_on)) if goes_on[row]]
    return [row if goes_on[row] else last.pop() for row in range(kept)]


def side_by_side(works: Iterable[Iterator], threads: int) -> Iterator:
    """Run iterators in parallel, at most `threads` at once, and yield their items as they come.
    After an error, which is then raised here, and when the caller stops early, the others stop
    after their current item.
    """
    works = list(works)
    if threads == 1 or len(works) < 2:
        for work in works:
            yield from work
        return
    items = SimpleQueue()
    stopped = Event()
    ended = object()  # put by each iterator after its last item

    def play(work: Iterator) -> None:
        try:
            while not stopped.is_set() and (item := next(work, ended)) is not ended:
                items.put(item)
        except BaseException:
            stopped.set()
            raise
        finally:
            items.put(ended)

    with ThreadPoolExecutor(threads, "batch") as pool:
        jobs = [pool.submit(play, work) for work in works]
        try:
            for _ in jobs:
                yield from iter(items.get, ended)  # until one of them has ended
        finally:
            stopped.set()
        for job in jobs:
            job.result()  # raises its error
