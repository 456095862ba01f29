"""Means of scores, intervals, tests of differences, and corrections for many tests.
Nothing here depends on the order of the questions.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ircotlib.errors import DataError

RESAMPLES = 10_000
LEVEL = 0.05
SAME = 1e-9  # scores that differ by less are equal: 0.1 + 0.2 and 0.3
EQUAL = 3.0  # points; smaller differences count as none (ours)
# differences are rounded to so many steps of the largest: halves to tenths stay
STEPS = 2520
EXACT = 4_000_000_000  # additions of the exact paired test, which take a second
DRAWS = 19_999  # of signs or groups, where there are too many to count
BY = ("profile", "dataset", "model", "system", "metric")


class Difference(NamedTuple):
    """The mean difference, its 95% interval, and the two-sided p-value for a difference
    of 0.
    """

    mean: float
    low: float
    high: float
    p: float


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95% percentile bootstrap interval for the mean of values (Efron 1979; in no
    paper).
    """
    low, high = np.percentile(resampled_means(_read_values(values)), [2.5, 97.5])
    return float(low), float(high)


def resampled_means(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """The mean of each column over questions drawn with replacement, which all columns
    share.
    """
    n, ordered = len(values), np.sort(values, axis=0)
    means = [
        part.astype(float) @ ordered / n for part in np.array_split(_draw(n, seed), 20)
    ]
    # without rounding, a mean of 0 would be as often a little above as below it
    return np.concatenate(means).round(12)


@lru_cache(maxsize=2)  # 20 kB a question
def _draw(n: int, seed: int) -> np.ndarray:
    """How often each of n questions is drawn, a row for each resample."""
    rng = np.random.default_rng(seed)
    drawn = (rng.integers(n, size=n) for _ in range(RESAMPLES))
    return np.stack([np.bincount(row, minlength=n).astype("u2") for row in drawn])


def mean_interval(scores: Sequence[float]) -> tuple[float, float]:
    """The 95% interval for a mean: exact for shares (Clopper & Pearson 1934), or
    bootstrap's.
    """
    scores = _read_values(scores)
    if not set(scores) <= {0, 1}:
        return bootstrap_interval(scores)
    from scipy.stats import binomtest

    low, high = binomtest(int(scores.sum()), len(scores)).proportion_ci()
    return float(low), float(high)


def _read_values(values: Sequence[float]) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    missing = int(np.isnan(values).sum())
    if missing or not values.size:
        raise DataError(
            f"found {missing} NaN among {values.size} values, expected values, no NaN"
        )
    return values


def paired_difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    """How much higher `a` scores than `b` on the same questions in the same order
    (ours).
    """
    differences = np.array(
        [one - other for one, other in zip(a, b, strict=True)], dtype=float
    )
    interval = bootstrap_interval(differences)
    return Difference(float(differences.mean()), *interval, paired_p(differences))


def paired_p(differences: Sequence[float]) -> float:
    """The exact two-sided p-value for differences as often above as below 0: the share
    of all ways to choose their signs whose sum is at least as far from 0 (Fisher 1935).
    Where counting takes more than a second, it is of DRAWS random signs, with a
    standard error of 0.0015 at p = 0.05.
    """
    values = np.sort(_read_values(differences))
    values = values[abs(values) >= SAME]
    steps = np.rint(values / abs(values).max(initial=SAME) * STEPS).astype(int)
    steps //= np.gcd.reduce(steps) or 1
    # a sum is at least as far from 0 if the differences of one sign add up to no more
    # than this
    smaller = min(steps[steps > 0].sum(), -steps[steps < 0].sum())
    if len(steps) * smaller > EXACT:
        rng = np.random.default_rng(0)
        sums = np.array([rng.choice((-1, 1), len(steps)) @ steps for _ in range(DRAWS)])
        return float((1 + (abs(sums) >= abs(steps.sum())).sum()) / (1 + DRAWS))
    # of each sum of the differences that get one of the signs
    chances = np.eye(1, smaller + 1)[0]
    largest = 0  # sum so far
    for size in np.sort(abs(steps[steps != 0])):
        largest = min(largest + size, smaller)
        chances[size : largest + 1] += chances[: max(0, largest + 1 - size)]
        chances[: largest + 1] /= 2
    return float(min(1, 2 * chances.sum()))


def unpaired_p(a: Sequence[float], b: Sequence[float]) -> float:
    """The two-sided p for equal means on different questions: twice the share of all
    ways, or DRAWS of them, to divide the values that differ as much in this direction
    (Fisher 1935).
    """
    from scipy.stats import permutation_test

    groups = [np.sort(_read_values(values)) for values in (a, b)]
    if min(map(len, groups)) < 2:
        return 1.0
    options = {"vectorized": True, "n_resamples": DRAWS, "batch": 999, "rng": 0}
    found = permutation_test(
        groups, lambda a, b, axis: a.mean(axis) - b.mean(axis), **options
    )
    return float(found.pvalue)


def is_equal(differences: Sequence[float]) -> bool:
    """Whether paired scores differ on average by less than EQUAL points: two one-sided
    tests at 5%, with a win and a loss of all 100 points added (Bonett & Price 2012).
    """
    values = np.append(_read_values(differences), [100.0, -100.0])
    return bool(
        abs(values.mean()) + 1.645 * values.std(ddof=1) / len(values) ** 0.5 < EQUAL
    )


def holm(p: Sequence[float]) -> pd.Series:
    """Correct p-values for multiple testing (Holm 1979); none is above 1, and their
    order stays.
    """
    p = pd.Series(p, dtype=float)
    ordered = p.sort_values(kind="stable")
    corrected = (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1)
    return corrected.reindex(p.index)


def p_against(scores: pd.DataFrame, rival: str) -> pd.Series:
    """The p of the paired difference of each other system (column) to one, corrected."""
    differences = (
        scores.drop(columns=rival).sub(scores[rival], axis=0).dropna(axis=1, how="all")
    )
    return holm({name: paired_p(of.dropna()) for name, of in differences.items()})


def per_question(runs: pd.DataFrame, metric: str) -> pd.Series:
    """The mean of each question over demonstration sets; questions without a score are
    left out.
    """
    return runs.groupby("id")[metric].mean().dropna().sort_index()


def summarise(scores: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """The mean of each group in percent by the measure `metric` names, with its 95%
    interval. `deviation`: of the demonstration sets' means (IRCoT §4.1), NaN where none
    is shown.
    """
    by = list(dict.fromkeys([*by, "metric"]))
    rows = []
    shown = scores.columns.intersection(["demonstrations_shown"])
    for group, runs in (
        scores.groupby(by, sort=False, dropna=False) if len(scores) else ()
    ):
        row = dict(zip(by, group, strict=True))
        values = per_question(runs, row["metric"])
        low, high = (100 * end for end in mean_interval(values.to_numpy()))
        sets = (
            100 * runs.groupby("demonstration_set", dropna=False)[row["metric"]].mean()
        )
        counts = dict(runs[shown].astype(float).mean())
        deviation = float("nan") if any(n < 1 for n in counts.values()) else sets.std()
        row |= {
            "mean": 100 * values.mean(),
            "low": low,
            "high": high,
            "deviation": deviation,
        }
        rows.append(row | counts | {"n": len(values)})
    columns = [*by, "mean", "low", "high", "deviation", *shown, "n"]
    return pd.DataFrame(rows, columns=columns).round(2)


def describe(scores: pd.DataFrame, profile: str) -> str:
    """What a figure was made with: profile, models, and questions per data set."""
    if scores.empty:
        return f"profile {profile}, no run"
    models = [Path(model).name for model in scores["model"].unique()]
    counts = sorted(set(scores.groupby("dataset")["id"].nunique()))
    n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    made_with = f"model {models[0]}" if len(models) == 1 else f"{len(models)} models"
    return f"profile {profile}, {made_with}, n = {n} test questions a data set"
