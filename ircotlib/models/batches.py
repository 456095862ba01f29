"""Cuts waiting requests into batches."""

from collections.abc import Sequence


def cut_batches(
    lengths: Sequence[int], rows: int, tokens: int, counts: Sequence | None = None, order=None
) -> list[list[int]]:
    """The indices of all lengths, in batches: as many in each as `rows` and `tokens`, padding
    included, allow, and at least one. `counts`: the rows of each; `order`: by default by length.
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
