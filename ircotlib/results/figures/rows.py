"""A row for each system: means as dots with their intervals, and the papers' as hollow marks."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from ircotlib.results.figures import palette
from ircotlib.results.figures.panels import PAGE, finish, make_panels, subplots
from ircotlib.results.statistics import LEVEL
from ircotlib.systems import OWN, all_systems

ROW = 0.135  # inches
DOT = {"linestyle": "", "marker": "o", "markersize": 4}
PAPER = DOT | {"markerfacecolor": "none", "markeredgecolor": "black", "markeredgewidth": 0.8}
CHANCE = {"color": "black", "linestyle": ":", "linewidth": 0.8}


def draw_dots(
    table: pd.DataFrame,
    title: str,
    label: str,
    panel: str = "dataset",
    row: str = "system",
    across: int = 4,
    names: Sequence[str] = (),
) -> plt.Figure:
    """Means in percent with their 95% intervals, one panel for each value of the column `panel`, a
    row for each of `row`, in the colour of its `system`. Hollow: the paper's value, in a column
    `reported`; dotted: `chance`, if there is such a column. `names`: the rows from above.
    """
    names = list(names) or list(dict.fromkeys(table[row]))
    figure, panels = make_panels(table, panel, 0.65 + ROW * len(names), across, sharey=True)
    for axis, rows in panels:
        _draw_rows(axis, rows, names, row)
        axis.set_xlabel(label)
        if "chance" in rows:
            axis.axvline(rows["chance"].max(), **CHANCE)
    return finish(figure, title, _explain(table))


def _draw_rows(axis: plt.Axes, rows: pd.DataFrame, names: Sequence[str], by: str) -> None:
    colors = palette.colors_of(rows["system"])
    for values in rows.to_dict("records"):
        y, color = names.index(values[by]), colors[values["system"]]
        axis.plot([values["low"], values["high"]], [y, y], color=color, solid_capstyle="butt")
        axis.plot(values["mean"], y, color=color, **DOT)
        axis.plot(values.get("reported", float("nan")), y, **PAPER)
    axis.set(ylim=(len(names) - 0.4, -0.6), xlim=(-4, 104))
    axis.set_yticks(range(len(names)), names)
    for text, name in zip(axis.get_yticklabels(), names, strict=False):
        text.set_fontweight("bold" if name in palette.PAPERS else "normal")


def _explain(table: pd.DataFrame) -> list[Line2D]:
    """The legend: families of the systems that are drawn, the paper's values, and chance."""
    records = all_systems()
    families = {records[name].family[0] if name in records else OWN for name in table["system"]}
    drawn = {name: shades[0] for name, shades in palette.FAMILIES.items() if name in families}
    handles = [Line2D([], [], color=color, label=name, **DOT) for name, color in drawn.items()]
    if "reported" in table and table["reported"].notna().any():
        handles.append(Line2D([], [], label="in the paper", **PAPER))
    if "chance" in table:
        handles.append(Line2D([], [], label="chance", **CHANCE))
    return handles


def draw_front(means: pd.DataFrame, title: str) -> plt.Figure:
    """All systems, the best first: the mean of each with its interval, and beside it the tokens
    that it takes. A band: no significant difference from SearChain. `means`: of
    `head_to_head.average`, with the columns of `compare_means`.
    """
    rows = means.sort_values(["mean", "tokens"], ascending=[False, True], kind="stable")
    shape = {"figsize": (PAGE, 1.2 + ROW * len(rows)), "width_ratios": [2, 1], "sharey": True}
    figure, (left, right) = subplots(1, 2, **shape)
    _draw_rows(left, rows, list(rows["system"]), "system")
    left.set_xlabel("right answers, %")
    colors = palette.colors_of(rows["system"])
    right.scatter(rows["tokens"], range(len(rows)), 16, [colors[name] for name in rows["system"]])
    right.set(xlabel="tokens a question", xscale="log")
    right.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    right.xaxis.set_major_formatter("{x:,.0f}")
    right.minorticks_off()
    for y in (rows["p_holm"].to_numpy() >= LEVEL).nonzero()[0]:
        for axis in (left, right):
            axis.axhspan(y - 0.5, y + 0.5, color=palette.BAND, linewidth=0, zorder=0)
    band = Patch(color=palette.BAND, label="no significant difference from SearChain")
    return finish(figure, title, [*_explain(means), band])


def draw_causes(causes: pd.DataFrame, title: str) -> plt.Figure:
    """The shares of wrong answers by cause, over all data sets: a stacked bar for each system, the
    one with the fewest above. `causes`: of `count_causes`.
    """
    sums = causes.groupby(["system", "cause"], sort=False)[["n", "answers"]].sum()
    shares = (100 * sums["n"] / sums["answers"]).unstack("cause")
    shares = shares[list(dict.fromkeys(causes["cause"]))]  # in the order of their rules
    shares = shares.loc[shares.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    figure, axis = subplots(figsize=(PAGE, 1 + 1.2 * ROW * len(shares)))
    if len(shares):
        look = {"color": palette.CAUSES, "legend": False, "xlabel": "wrong answers, %"}
        shares.plot.barh(ax=axis, stacked=True, width=0.8, xlim=(0, 100), ylabel="", **look)
    axis.grid(False, axis="y")
    return finish(figure, title, axis.containers)
