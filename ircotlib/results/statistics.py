"""Means of scores, intervals, tests of differences, and corrections for many tests.
Nothing here depends on the order of the questions.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ircotlib.errors import DataError

Values: TypeAlias = Sequence[float] | np.ndarray | pd.Series
RESAMPLES = 10_000
LEVEL = 0.05
SAME = 1e-9  # scores that differ by less are equal: 0.1 + 0.2 and 0.3
# differences are rounded to so many steps of the largest: halves to tenths stay
STEPS = 2520
# additions of the paired test that counts all signs, which take a second
EXACT = 4_000_000_000
DRAWS = 19_999  # of signs, where there are too many to count
BY = ("profile", "dataset", "model", "system", "metric")


class Difference(NamedTuple):
    """A mean difference, its 95% interval, and the two-sided p-value for none."""

    mean: float
    low: float
    high: float
    p: float


def resampled_means(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """RESAMPLES means of each column over drawn questions: each column's own, which say
    nothing of two columns together.
    """
    # sorted one by one, since the order of the questions must not matter
    ordered = np.sort(values, axis=0)
    n = len(ordered)
    parts = np.array_split(_draw(n, seed), 20)  # as floats, all would need much memory
    means = np.concatenate([part.astype(float) @ ordered / n for part in parts])
    # without rounding, a mean of 0 would be as often a little above as below it
    return means.round(12)


@lru_cache(maxsize=2)  # 20 kB a question
def _draw(n: int, seed: int) -> np.ndarray:
    """How often each of n questions is drawn, a row for each resample."""
    rng = np.random.default_rng(seed)
    drawn = (rng.integers(n, size=n) for _ in range(RESAMPLES))
    return np.stack([np.bincount(row, minlength=n).astype("u2") for row in drawn])


def mean_interval(scores: Values) -> tuple[float, float]:
    """The 95% interval for a mean: for shares, exact (Clopper & Pearson 1934); for
    others, of percentiles of the bootstrap (Efron 1979).
    """
    values = _read_values(scores)
    if set(values) <= {0, 1}:
        from scipy.stats import binomtest

        low, high = binomtest(int(values.sum()), len(values)).proportion_ci()
    else:
        low, high = np.percentile(resampled_means(values), [2.5, 97.5])
    return float(low), float(high)


def _read_values(values: Values) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    missing = int(np.isnan(array).sum())
    if missing or not array.size:
        raise DataError(
            f"found {missing} NaN among {array.size} values, expected values, no NaN"
        )
    return array


def paired_difference(a: Values, b: Values) -> Difference:
    """How much higher `a` scores than `b` on the same questions in order (ours)."""
    differences = np.array([x - y for x, y in zip(a, b, strict=True)], dtype=float)
    low, high = paired_interval(differences)
    return Difference(float(differences.mean()), low, high, paired_p(differences))


def paired_interval(
    differences: Values, weights: Values | None = None
) -> tuple[float, float]:
    """The 95% interval for a mean difference that inverts the test of `paired_p`: all
    means that it does not reject, by DRAWS random signs. `weights`: of the questions.

    The signs divide the questions in two parts, and a mean is as far from 0 as the true
    one exactly if it is between the means of the two parts (Hartigan 1969).
    """
    values = _read_values(differences)
    shares = np.ones(len(values)) if weights is None else np.asarray(weights, float)
    order = np.lexsort((shares, values))  # that of the questions must not matter
    weighed = np.stack([values * shares, shares])[:, order]
    # a row for each choice of signs: the sums of the questions that get a plus
    parts = np.array_split(_choose(len(values)), 20)  # as floats, all need much memory
    sums = np.concatenate([part.astype(float) @ weighed.T for part in parts])
    total = weighed.sum(1)
    with np.errstate(invalid="ignore"):  # a part may be empty
        means = np.stack([part[:, 0] / part[:, 1] for part in (sums, total - sums)])
    low = np.quantile(np.fmin(*means), LEVEL)
    high = np.quantile(np.fmax(*means), 1 - LEVEL)
    return float(low.round(12)), float(high.round(12))


@lru_cache(maxsize=2)  # 20 kB a question
def _choose(n: int) -> np.ndarray:
    """Which of n questions get a plus, a row for each of DRAWS choices."""
    return np.random.default_rng(0).random((DRAWS, n), dtype=np.float32) < 0.5


def paired_p(differences: Values) -> float:
    """The two-sided p-value for differences as often above as below 0: the share of all
    ways to choose their signs whose sum is at least as far from 0 (Fisher 1935). It is
    of the differences in STEPS of the largest: of right and wrong answers, as they are.
    Where counting takes more than a second, it is of DRAWS random signs, with a
    standard error of 0.0015 at p = 0.05.

    >>> paired_p([1, 1, 1, 1, 1, 0])  # five wins: 2 of 2**5 choices of signs
    0.0625
    """
    values = np.sort(_read_values(differences))
    values = values[abs(values) >= SAME]
    steps = np.rint(values / abs(values).max(initial=SAME) * STEPS).astype(int)
    steps //= np.gcd.reduce(steps) or 1
    # the differences of one sign add up to no more than this exactly if the sum is at
    # least as far from 0 as ours
    smaller = min(steps[steps > 0].sum(), -steps[steps < 0].sum())
    if len(steps) * smaller > EXACT:
        sums = 2 * (_choose(len(steps)) @ steps) - steps.sum()
        as_far = int((abs(sums) >= abs(steps.sum())).sum())
        return (1 + as_far) / (1 + DRAWS)  # ours is one of the ways, so never 0
    # chances[s]: that the differences which get one of the signs add up to s
    chances = np.eye(1, smaller + 1)[0]
    largest = 0  # sum so far
    for size in np.sort(abs(steps[steps != 0])):
        largest = min(largest + size, smaller)
        chances[size : largest + 1] += chances[: max(0, largest + 1 - size)]
        chances[: largest + 1] /= 2
    return float(min(1, 2 * chances.sum()))


def holm(p: Values | Mapping[str, float]) -> pd.Series:
    """Correct p-values for multiple testing; none is above 1, and their order stays
    (Holm 1979).

    >>> holm([0.03, 0.005, 0.01]).round(3).tolist()
    [0.03, 0.015, 0.02]
    """
    values = pd.Series(p, dtype=float)
    ordered = values.sort_values(kind="stable")
    corrected = (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1)
    return corrected.reindex(values.index)


def p_against(scores: pd.DataFrame, rival: str) -> pd.Series:
    """The corrected p of the paired difference of each other column to the rival."""
    differences = scores.drop(columns=rival).sub(scores[rival], axis=0)
    differences = differences.dropna(axis=1, how="all")
    return holm({name: paired_p(rows.dropna()) for name, rows in differences.items()})


def per_question(runs: pd.DataFrame, metric: str) -> pd.Series:
    """The mean of each question with a score over demonstration sets, ordered by id."""
    return runs.groupby("id")[metric].mean().dropna().sort_index()


def summarise(
    scores: pd.DataFrame, by: Sequence[str] = BY, digits: int = 2
) -> pd.DataFrame:
    """The mean of each group in percent by the measure `metric` names, with its 95%
    interval, rounded. `deviation`: of the demonstration sets' means (IRCoT §4.1), NaN
    where none is shown.
    """
    by = list(dict.fromkeys([*by, "metric"]))
    shown = scores.columns.intersection(["demonstrations_shown"])
    groups = scores.groupby(by, sort=False, dropna=False) if len(scores) else ()
    rows = []
    for names, runs in groups:
        row = dict(zip(by, names, strict=True))
        values = per_question(runs, row["metric"])
        low, high = mean_interval(values.to_numpy())
        sets = runs.groupby("demonstration_set", dropna=False)[row["metric"]].mean()
        counts = dict(runs[shown].astype(float).mean())
        none_shown = any(count < 1 for count in counts.values())
        row["mean"] = 100 * values.mean()
        row["low"] = 100 * low
        row["high"] = 100 * high
        row["deviation"] = float("nan") if none_shown else (100 * sets).std()
        rows.append(row | counts | {"n": len(values)})
    columns = [*by, "mean", "low", "high", "deviation", *shown, "n"]
    return pd.DataFrame(rows, columns=columns).round(digits)


def describe(scores: pd.DataFrame, profile: str) -> str:
    """What a figure was made with: profile, models, and questions per data set."""
    if scores.empty:
        return f"profile {profile}, no run"
    models = [Path(model).name for model in scores["model"].unique()]
    made_with = f"model {models[0]}" if len(models) == 1 else f"{len(models)} models"
    counts = sorted(set(scores.groupby("dataset")["id"].nunique()))
    n = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return f"profile {profile}, {made_with}, n = {n} test questions per data set"
