"""Bootstrap intervals for the mean of scores and for the difference of two systems."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

RESAMPLES = 10_000
BATCH = 500  # resamples drawn at a time, to save memory


def bootstrap_interval(
    values: Sequence[float], seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """The low and high end of the 95% percentile bootstrap interval for the mean of the values
    (Efron 1979; in neither paper). Raises ValueError for no values, or for NaN.
    """
    means = resampled_means(_check_values(values), seed, resamples)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


class Difference(NamedTuple):
    """The mean difference, its 95% interval, and the two-sided p-value for a difference of 0."""

    mean: float
    low: float
    high: float
    p: float


def paired_difference(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Difference:
    """How much higher `a` scores than `b` on the same questions in the same order: a paired
    percentile bootstrap over the questions (Efron 1979; in neither paper).

    p is twice the share of the resampled means, with the observed mean counted as one of them, that
    lie at 0 or on the less frequent side of it, at most 1. If all differences are equal, p is that
    of a sign test. Raises ValueError for different lengths, no values, or NaN.
    """
    if len(a) != len(b):
        raise ValueError(
            f"expected the scores of two systems on the same questions, found {len(a)} and {len(b)}"
        )
    differences = _check_values(np.asarray(a, dtype=float) - np.asarray(b, dtype=float))
    mean = float(differences.mean())
    if (differences == differences[0]).all():
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 2 * 0.5**differences.size)
    means = resampled_means(differences, seed)
    return Difference(mean, *map(float, np.percentile(means, [2.5, 97.5])), float(p_value(means)))


def resampled_means(values: np.ndarray, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """The mean of each column of values over questions drawn with replacement, once for each
    resample. `values`: questions, or questions × systems, which then share their resamples.
    """
    # Without rounding, a mean of 0 would be as often a little above as below it.
    return (_resample(len(values), seed, resamples) @ values / len(values)).round(12)


@lru_cache(maxsize=2)  # 80 kB a question
def _resample(n: int, seed: int, resamples: int) -> np.ndarray:
    """How often each of n questions is drawn: resamples × questions."""
    random, drawn = np.random.default_rng(seed), []
    for done in range(0, resamples, BATCH):
        rows = min(BATCH, resamples - done)
        places = random.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        drawn.append(np.bincount(places.ravel(), minlength=rows * n).reshape(rows, n))
    return np.concatenate(drawn).astype(float)


def p_value(means: np.ndarray) -> np.ndarray:
    """The two-sided p-value for a mean of 0 from resampled means, of each column: see
    `paired_difference`.
    """
    fewer = np.minimum((means <= 0).sum(axis=0), (means >= 0).sum(axis=0))
    return np.minimum(1.0, 2 * (fewer + 1) / (len(means) + 1))


def _check_values(values: Sequence[float]) -> np.ndarray:
    observed = np.asarray(values, dtype=float)
    if observed.size == 0:
        raise ValueError("an interval needs at least one value, found none")
    if missing := int(np.isnan(observed).sum()):
        raise ValueError(
            f"an interval needs numbers, found {missing} NaN among {observed.size} values: leave"
            " questions without gold paragraphs out"
        )
    return observed
