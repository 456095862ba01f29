"""Several rankings in one, without anything heavy: DSP's program fuses too."""

from collections.abc import Iterable
from typing import TypeVar

CONSTANT = 60  # added to each rank (ours, as in Cormack et al.)
T = TypeVar("T")


def fuse(rankings: Iterable[Iterable[T]]) -> dict[T, float]:
    """The score of each item by reciprocal rank fusion: the sum of 1 / (60 + rank) over the
    rankings that have it (Cormack et al., SIGIR 2009).
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0) + 1 / (CONSTANT + rank)
    return scores
