"""Means of scores, bootstrap intervals, differences, and what many tests decide. Nothing here
depends on the order of the questions.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pandas as pd

from ircotlib.errors import DataError

RESAMPLES = 10_000
PIECE = 500  # resamples that are drawn at a time, so that memory does not grow with them
KEPT = 1_000  # questions for which the draws are kept: further groups share them
LEVEL, POWER = 0.05, 0.8
VERDICTS = ["holds", "does not hold", "cannot tell", "not tested", "not counted"]
# Values are rounded to so many steps of the largest: its halves to tenths, and to sixths, stay.
PAIRED, UNPAIRED = 2520, 60
EXACT = 600  # values in two groups: beyond, the exact test takes time as their number cubed
BY = ("profile", "dataset", "model", "system", "metric")


class Difference(NamedTuple):
    """The mean difference, its 95% interval, and the two-sided p-value for a difference of 0."""

    mean: float
    low: float
    high: float
    p: float


def bootstrap_interval(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """The low and high end of the 95% percentile bootstrap interval for the mean of the values
    (Efron 1979; in neither paper). Raises DataError for no values, or for NaN.
    """
    values = _read_values(values)
    low, high = np.percentile(resampled_means(values, seed), [2.5, 97.5])
    return float(low), float(high)


def mean_interval(scores: Sequence[float]) -> tuple[float, float]:
    """The low and high end of the 95% interval for the mean of scores from 0 to 1: the exact one
    for a share, where all scores are 0 or 1 (Clopper & Pearson 1934), else the bootstrap's.
    """
    scores = _read_values(scores)
    if not set(scores) <= {0, 1}:
        return bootstrap_interval(scores)
    from scipy.special import betaincinv

    right, wrong = scores.sum(), len(scores) - scores.sum()
    low = betaincinv(right, wrong + 1, 0.025) if right else 0.0
    return float(low), float(betaincinv(right + 1, wrong, 0.975) if wrong else 1.0)


def _read_values(values: Sequence[float]) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    missing = int(np.isnan(values).sum())
    if missing or not values.size:
        raise DataError(
            f"found {missing} NaN among {values.size} values, expected at least one value, no NaN: "
            "leave questions without gold paragraphs out"
        )
    return values


def paired_difference(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Difference:
    """How much higher `a` scores than `b` on the same questions in the same order, with a paired
    percentile bootstrap interval (Efron 1979) and p of `paired_p`; in neither paper.
    Raises DataError for different lengths, no values, or NaN.
    """
    if len(a) != len(b):
        raise DataError(f"found {len(a)} and {len(b)} scores, expected the same questions")
    differences = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    low, high = bootstrap_interval(differences, seed)
    return Difference(float(differences.mean()), low, high, paired_p(differences))


def unpaired_difference(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Difference:
    """How much higher `a` scores on some questions than `b` on others, as `paired_difference` but
    with p of `unpaired_p`; both groups are resampled.
    """
    a, b = _read_values(a), _read_values(b)
    means = resampled_means(a, seed) - resampled_means(b, seed + 1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Difference(float(a.mean() - b.mean()), float(low), float(high), unpaired_p(a, b))


def paired_p(differences: Sequence[float]) -> float:
    """The exact two-sided p-value for differences as often above as below 0: the share of all ways
    to choose their signs whose sum is at least as far from 0 (Fisher 1935). Of scores 0 and 1 it is
    that of the sign test of wins and losses (McNemar 1947). Differences are rounded (PAIRED).
    """
    steps = _in_steps(_read_values(differences), PAIRED)
    # a sum is at least as far from 0 if the differences of one sign add up to no more than this
    smaller = min(steps[steps > 0].sum(), -steps[steps < 0].sum())
    chances = np.eye(1, smaller + 1)[0]  # of each sum of the differences that get one of the signs
    for size in np.sort(abs(steps[steps != 0])):
        chances[size:] += chances[:-size]
        chances /= 2
    return float(min(1, 2 * chances.sum()))


def unpaired_p(a: Sequence[float], b: Sequence[float]) -> float:
    """The exact two-sided p-value for equal means on different questions: the share of all ways to
    divide the values into groups of these sizes whose means are at least as far apart (Fisher
    1935). Values are rounded (UNPAIRED). Of more than EXACT values, that share by the normal
    approximation, with the variance that the difference has over all these ways.
    """
    a, b = sorted((_read_values(a), _read_values(b)), key=len)
    values = np.concatenate([a, b])
    if len(values) > EXACT:
        deviation = np.sqrt(values.var(ddof=1) * (1 / len(a) + 1 / len(b)))
        apart = abs(a.mean() - b.mean())
        return 2 * NormalDist().cdf(-apart / deviation) if deviation else 1.0
    above, below = values - values.min(), values.max() - values  # are as far apart
    steps = _in_steps(min(above, below, key=np.sum), UNPAIRED)
    n = len(steps)
    total = steps.sum()
    own = steps[: len(a)].sum()
    chances = np.zeros((len(a) + 1, total + 1))  # of each number of values in the group, and sum
    chances[0, 0] = 1
    left = len(a) - np.arange(len(a))[:, None]  # places left in the group, by number of values
    most = 0  # the largest sum so far
    for i, step in enumerate(np.sort(steps)):  # n - i values are left, this one included
        rows = slice(max(0, len(a) - n + i), min(i + 1, len(a)))  # no other number is possible
        joins = chances[rows, : most + 1] * left[rows] / (n - i)
        chances[rows, : most + 1] -= joins
        most += step
        chances[rows.start + 1 : rows.stop + 1, step : most + 1] += joins
    distances = abs(n * np.arange(total + 1) - len(a) * total)
    return float(min(1, chances[-1, distances >= abs(n * own - len(a) * total)].sum()))


def _in_steps(values: np.ndarray, steps: int) -> np.ndarray:
    """The values as whole numbers: `steps` is the largest, then all are divided alike."""
    whole = np.rint(values / (abs(values).max() or 1) * steps).astype(int)
    return whole // (np.gcd.reduce(whole) or 1)


def resampled_means(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """The mean of each column over questions drawn with replacement, which all columns share."""
    n, ordered = len(values), np.sort(values, axis=0)
    pieces = _resample(n, seed) if n <= KEPT else _draw(n, seed)
    means = [counts.astype(float) @ ordered / n for counts in pieces]
    # Without rounding, a mean of 0 would be as often a little above as below it.
    return np.concatenate(means).round(12)


@lru_cache(maxsize=2)  # 20 kB a question
def _resample(n: int, seed: int) -> list[np.ndarray]:
    """What `_draw` yields, kept."""
    return list(_draw(n, seed))


def _draw(n: int, seed: int) -> Iterator[np.ndarray]:
    """How often each of n questions is drawn, resamples × questions, PIECE resamples at a time."""
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES // PIECE):
        drawn = rng.integers(n, size=(PIECE, n))
        drawn += n * np.arange(PIECE)[:, None]  # each resample counts in n bins of its own
        yield np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape).astype("u2")


def holm(p: Sequence[float]) -> np.ndarray:
    """Correct p-values for multiple testing (Holm 1979); none is above 1, and their order stays."""
    p = np.asarray(p, dtype=float)
    order = p.argsort(kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)).clip(max=1)
    return corrected


def p_against(scores: pd.DataFrame, rival: str) -> pd.Series:
    """The p of the paired difference of each other system (column) to one, corrected for all."""
    p = scores.drop(columns=rival).sub(scores[rival], axis=0).apply(paired_p)
    return pd.Series(holm(p), p.index)


def verdicts(p: pd.Series, differences: pd.Series) -> np.ndarray:
    """Whether claims of positive differences hold, or cannot be told: p is not below 0.05."""
    signs = np.where(differences > 0, "holds", "does not hold")
    return np.where(p < LEVEL, signs, "cannot tell")


def questions_needed(mean: float, deviation: float, level: float) -> float:
    """How many questions would decide with a probability of 80%, if the mean and the standard
    deviation of the differences stay, and p must be below `level`. By the normal approximation, for
    scores 0 and 1 as Connor (1987); infinite for a mean of 0.
    """
    if not mean:
        return float("inf")
    outer, inner = map(NormalDist().inv_cdf, (1 - level / 2, POWER))
    return ((outer * np.hypot(mean, deviation) + inner * deviation) / mean) ** 2


def detectable(n: int, deviation: float, level: float) -> float:
    """The smallest mean difference that n questions would find: then `questions_needed` is n."""
    outer, inner = map(NormalDist().inv_cdf, (1 - level / 2, POWER))
    if n <= outer**2:
        return float("inf")
    root = (n * inner**2 - (n - outer**2) * (inner**2 - outer**2)) ** 0.5
    return deviation * (n**0.5 * inner + root) / (n - outer**2)


def per_question(runs: pd.DataFrame, metric: str) -> pd.Series:
    """The mean of each question over demonstration sets; questions without a score are left out."""
    return runs.groupby("id")[metric].mean().dropna().sort_index()


def summarise(scores: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """The mean score of each group in percent, by the measure that the column `metric` names.
    `low`, `high`: 95% interval over questions (`mean_interval`), each with its mean over
    demonstration sets. `deviation`: the sample standard deviation of the sets' means, NaN for one
    (IRCoT §4.1) and where fewer than one was shown; beside it, if known, how many were.
    """
    by = list(dict.fromkeys([*by, "metric"]))
    rows = []
    shown = scores.columns.intersection(["demonstrations_shown"])
    for group, runs in scores.groupby(by, sort=False, dropna=False) if len(scores) else ():
        row = dict(zip(by, group, strict=True))
        values = per_question(runs, row["metric"])
        low, high = (100 * end for end in mean_interval(values.to_numpy()))
        # one mean for each of the three demonstration sets (IRCoT §4.1)
        sets = 100 * runs.groupby("demonstration_set", dropna=False)[row["metric"]].mean()
        counts = dict(runs[shown].astype(float).mean())
        few = any(count < 1 for count in counts.values())  # a deviation of no demonstrations
        deviation = float("nan") if few else sets.std()
        row |= {"mean": 100 * values.mean(), "low": low, "high": high, "deviation": deviation}
        rows.append(row | counts | {"n": len(values)})
    columns = [*by, "mean", "low", "high", "deviation", *shown, "n"]
    return pd.DataFrame(rows, columns=columns).round(2)


def describe(scores: pd.DataFrame, profile: str) -> str:
    """What a figure was made with, for its title: profile, models, and questions per data set."""
    if scores.empty:
        return f"profile {profile}, no run"
    models = [Path(model).name for model in scores["model"].unique()]
    counts = sorted(set(scores.groupby("dataset")["id"].nunique()))
    n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    made_with = f"model {models[0]}" if len(models) == 1 else f"{len(models)} models"
    return f"profile {profile}, {made_with}, n = {n} test questions a data set"
