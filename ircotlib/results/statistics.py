"""Means of scores, bootstrap intervals, paired differences, and what many tests decide."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ircotlib.errors import DataError

RESAMPLES = 10_000
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
    values = np.asarray(values, dtype=float)
    missing = int(np.isnan(values).sum())
    if missing or not values.size:
        raise DataError(
            f"found {missing} NaN among {values.size} values, expected at least one value, no NaN: "
            "leave questions without gold paragraphs out"
        )
    low, high = np.percentile(resampled_means(values, seed), [2.5, 97.5])
    return float(low), float(high)


def paired_difference(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Difference:
    """How much higher `a` scores than `b` on the same questions in the same order: a paired
    percentile bootstrap over the questions (Efron 1979; in neither paper), with p of `p_values`.
    Raises DataError for different lengths, no values, or NaN.
    """
    if len(a) != len(b):
        raise DataError(f"found {len(a)} and {len(b)} scores, expected the same questions")
    differences = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    low, high = bootstrap_interval(differences, seed)
    return Difference(float(differences.mean()), low, high, float(p_values(differences, seed)))


def p_values(differences: np.ndarray, seed: int = 0) -> np.ndarray:
    """The two-sided p-value for a mean of 0, of each column of differences on the same questions:
    twice the share of the resampled means, with the observed one among them, that lie at 0 or on
    the less frequent side of it, at most 1; of a sign test if all differences are equal.
    """
    means = resampled_means(differences, seed)
    fewer = np.minimum((means <= 0).sum(axis=0), (means >= 0).sum(axis=0))
    p = np.minimum(1.0, 2 * (fewer + 1) / (len(means) + 1))
    sign_test = np.where(differences[0] == 0, 1.0, 2 * 0.5 ** len(differences))
    return np.where((differences == differences[:1]).all(axis=0), sign_test, p)


def resampled_means(values: np.ndarray, seed: int = 0) -> np.ndarray:
    """The mean of each column over questions drawn with replacement, which all columns share."""
    # Without rounding, a mean of 0 would be as often a little above as below it.
    return (_resample(len(values), seed) @ values / len(values)).round(12)


@lru_cache(maxsize=2)  # 80 kB a question
def _resample(n: int, seed: int) -> np.ndarray:
    """How often each of n questions is drawn: resamples × questions."""
    drawn = np.random.default_rng(seed).integers(n, size=(RESAMPLES, n))
    drawn += n * np.arange(RESAMPLES)[:, None]
    return np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(float)


def holm(p: Sequence[float]) -> np.ndarray:
    """Correct p-values for multiple testing (Holm 1979); none is above 1, and their order stays."""
    p = np.asarray(p, dtype=float)
    order, corrected = p.argsort(kind="stable"), np.empty_like(p)
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)).clip(max=1)
    return corrected


def verdicts(p: pd.Series, differences: pd.Series) -> np.ndarray:
    """Whether claims of positive differences hold, or cannot be told: p is not below 0.05."""
    signs = np.where(differences > 0, "holds", "does not hold")
    return np.where(p < 0.05, signs, "cannot tell")


def per_question(runs: pd.DataFrame, metric: str) -> pd.Series:
    """The mean of each question over demonstration sets; questions without a score are left out."""
    return runs.groupby("id")[metric].mean().dropna().sort_index()


def summarise(scores: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """The mean score of each group in percent, by the measure that the column `metric` names.
    `low`, `high`: 95% bootstrap interval over questions, each with its mean over demonstration
    sets. `deviation`: the sample standard deviation of the sets' means, NaN for one (IRCoT §4.1).
    """
    by, rows = list(dict.fromkeys([*by, "metric"])), []
    for group, runs in scores.groupby(by, sort=False, dropna=False):
        row = dict(zip(by, group, strict=True))
        values = 100 * per_question(runs, row["metric"])
        low, high = bootstrap_interval(values.to_numpy())
        sets = 100 * runs.groupby("demonstration_set", dropna=False)[row["metric"]].mean()
        row |= {"mean": values.mean(), "low": low, "high": high, "deviation": sets.std()}
        rows.append(row | {"n": len(values)})
    return pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "deviation", "n"]).round(2)


def describe(scores: pd.DataFrame, profile: str) -> str:
    """What a figure was made with, for its title: profile, models, and questions per data set."""
    models = [Path(model).name for model in scores["model"].unique()]
    counts = sorted(set(scores.groupby("dataset")["id"].nunique()))
    n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    made_with = f"model {models[0]}" if len(models) == 1 else f"{len(models)} models"
    return f"profile {profile}, {made_with}, n = {n} test questions a data set"
