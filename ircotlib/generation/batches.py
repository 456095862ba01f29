"""Cutting what waits into batches."""

from collections.abc import Sequence


def take_shortest(lengths: Sequence[int], rows: int, tokens: int) -> list[int]:
    """The places of the shortest, as many as `rows` and `tokens`, padding included, allow; at least
    one.
    """
    taken: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__)[:rows]:
        if taken and (len(taken) + 1) * lengths[place] > tokens:
            break
        taken.append(place)
    return taken
