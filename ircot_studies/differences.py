"""What the studies share: paired differences as rows of tables, tests of them corrected
together, and their figure.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ircotlib.results.figures import CHANCE, DOT, HOLLOW, ROW, finish, make_panels
from ircotlib.results.statistics import (
    DRAWS,
    Values,
    holm,
    paired_difference,
)


def compare_pair(first: pd.Series, second: pd.Series) -> dict[str, float]:
    """Two scores of the same questions, by id, as fields of a row of a table: `n`, the
    means, and `first` minus `second` (`paired_difference`).
    """
    difference, low, high, p = paired_difference(first, second.loc[first.index])
    means = {"mean_first": first.mean(), "mean_second": second.mean()}
    test = {"difference": difference, "low": low, "high": high, "p": p}
    return {"n": len(first), **means, **test}


def unpaired_p(a: Values, b: Values) -> float:
    """The two-sided p for equal means on different questions: twice the share of all
    ways, or DRAWS of them, to divide the values that differ as much in this direction
    (Fisher 1935).
    """
    from scipy.stats import permutation_test

    groups = [np.sort(np.asarray(values, dtype=float)) for values in (a, b)]
    if min(map(len, groups)) < 2:
        return 1.0
    options = {"vectorized": True, "n_resamples": DRAWS, "batch": 999, "rng": 0}

    def difference(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
        return a.mean(axis) - b.mean(axis)

    return float(permutation_test(groups, difference, **options).pvalue)


def correct(tests: list[dict], by: str) -> pd.DataFrame:
    """A table of tests with `p_holm`: p corrected for all that have the same `by`."""
    table = pd.DataFrame(tests)
    if len(table):
        table["p_holm"] = table.groupby(by)["p"].transform(holm)
    return table


def draw_differences(
    table: pd.DataFrame,
    title: str,
    panel: str,
    names: Mapping[Any, str],
    handles: Iterable = (),
) -> Figure:
    """Differences with their 95% intervals, in the colours of the column `color`; of
    those that are not `tested`, hollow. `names`: what stands beside the rows (column
    `row`) from top to bottom; in bold if no difference has that row.
    """
    places = {row: y for y, row in enumerate(names)}
    figure, panels = make_panels(table, panel, 0.5 + ROW * len(names), 4, sharey=True)
    for axis, rows in panels:
        for row in rows.to_dict("records"):
            y, color = places[row["row"]], row["color"]
            mark = DOT if row["tested"] else HOLLOW | {"mec": color}
            axis.plot([row["low"], row["high"]], [y, y], color=color)
            axis.plot(row["difference"], y, color=color, **mark)
        axis.axvline(0, **CHANCE)
        axis.grid(False, axis="y")
        axis.set_yticks(range(len(names)), names.values())
    axis.set_ylim(len(names) - 0.4, -0.6)
    for label, row in zip(figure.axes[0].get_yticklabels(), names, strict=True):
        label.set_fontweight("normal" if row in {*table["row"]} else "bold")
    return finish(figure, title, handles)
