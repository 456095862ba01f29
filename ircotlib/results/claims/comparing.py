"""Values of two sides on questions, their differences, and each pair of systems by itself."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ircotlib.results import statistics
from ircotlib.running.predictions import expect_one_measure
from ircotlib.systems import all_systems

PLACE = ("dataset", "model", "demonstrations")
# Values by question id: of each place, those of the sides by name. Their name is their metric.
Values = Mapping[tuple[str, ...], Mapping[str, pd.Series]]


def compare(scores: pd.DataFrame, by: Sequence[str] = ("dataset",)) -> pd.DataFrame:
    """Test the claims of the systems' records (`System.better_than`), each by itself, by
    `paired_difference` in points, separately for each value of the columns `by`.
    """
    rows = []
    for place, sides in values_of(scores, by).items():
        for better, system in all_systems().items():
            for worse in system.better_than:
                if better in sides and worse in sides:
                    row = dict(zip(by, place, strict=True)) | {"claim": f"{better} > {worse}"}
                    rows.append(row | difference(sides[better], sides[worse]))
    table = pd.DataFrame(rows, columns=[*by, "claim", "metric", "mean", "low", "high", "p", "n"])
    table["verdict"] = statistics.verdicts(table["p"], table["mean"])
    return table.round({"mean": 2, "low": 2, "high": 2, "p": 4})


def values_of(scores: pd.DataFrame, by: Sequence[str] = PLACE) -> Values:
    """The scores of systems in percent, by their metric, as values that claims are about."""
    values = {}
    if scores.empty:  # then it may lack the columns, too
        return values
    for (*place, name), runs in scores.groupby([*by, "system"], sort=False):
        metric = runs["metric"].iloc[0]
        values.setdefault(tuple(place), {})[name] = 100 * statistics.per_question(runs, metric)
    return values


def difference(
    better: pd.Series, worse: pd.Series, paired: bool = True, margin: float = 0.0
) -> dict:
    """The test of one pair of sides, on the questions that both have values of, or on those of
    each: whether the difference is above -margin. `deviation`: the standard deviation of the
    differences, for `questions_needed`; of two groups, as if they were one. Raises UserError if
    the sides are not values by the same measure, which is their name.
    """
    expect_one_measure([better.name, worse.name])
    if paired:
        both = pd.concat([better, worse], axis=1, join="inner").astype(float)
        a, b = both.to_numpy().T
        test, n, variance = statistics.paired_difference(a + margin, b), len(both), (a - b).var()
    else:
        test, n = statistics.unpaired_difference(better + margin, worse), len(better) + len(worse)
        variance = sum(n / len(side) * side.var(ddof=0) for side in (better, worse))
    moved = {name: getattr(test, name) - margin for name in ("mean", "low", "high")}
    row = {"metric": better.name, "n": n, "deviation": variance**0.5, "above": 0.0 - margin}
    return row | {"p": test.p} | moved
