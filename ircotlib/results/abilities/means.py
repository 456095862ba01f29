"""The means of simulations, and what changes are worth."""

from collections.abc import Mapping, Sequence

import pandas as pd

from ircotlib.parameters import Parameters
from ircotlib.results.abilities.simulation import Simulation, simulate
from ircotlib.results.statistics import paired_difference, summarise


def average(scores: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The mean score of each group in percent, with its 95% bootstrap interval over the questions
    of all its data sets and seeds.
    """
    ids = scores["dataset"] + " " + scores["id"]
    scores = scores.assign(id=ids, metric="score", demonstration_set=0)
    return summarise(scores, by).drop(columns=["metric", "deviation"])


def weigh(p: Parameters, changes: Sequence[tuple[Mapping, Simulation, Simulation]]) -> pd.DataFrame:
    """What changes are worth: a row for each, with its labels; the mean scores `before` and `after`
    in percent, and the `gain` in points, with the 95% interval of the paired difference.
    """
    points = []
    for number, (_, before, after) in enumerate(changes):
        points += [({"change": number, "at": 0}, before), ({"change": number, "at": 1}, after)]
    scores = simulate(p, points)
    rows = []
    for (labels, *_), (_, both) in zip(changes, scores.groupby("change"), strict=True):
        before, after = (
            100 * both[both["at"] == at].set_index("id")["score"].sort_index() for at in (0, 1)
        )
        gain = paired_difference(after, before)
        row = {"n": len(both) // 2, "before": before.mean(), "after": after.mean()}
        rows.append({**labels} | row | {"gain": gain.mean, "low": gain.low, "high": gain.high})
    return pd.DataFrame(rows).round(2)
