"""Cuts waiting requests into batches, and says which rows of a batch go on."""

from collections.abc import Sequence


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
