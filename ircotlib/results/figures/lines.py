"""Lines: scores by size, recall by K, training curves."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D

from ircotlib.results.figures import palette
from ircotlib.results.figures.panels import finish, make_panels
from ircotlib.systems import all_systems

SHAPES = "osD^vP"  # lines are also told by the shape of their marks


def draw_lines(
    table: pd.DataFrame,
    title: str,
    label: str,
    x: str,
    line: str = "system",
    panel: str = "dataset",
    across: int = 2,
    parts: Sequence[str] = (),
    **look,
) -> plt.Figure:
    """The column `mean`, in percent, against the column `x`, one panel for each value of the column
    `panel`, a line for each of `line`, with a band for low to high, if there are such columns.
    `parts`: columns whose values part a line. `look`: of the axes, such as xlabel.
    """
    names = list(dict.fromkeys(table[line]))
    own = all_systems()
    colors = palette.colors_of(names) if set(names) <= {*own} else None
    colors = colors or dict(zip(names, cycle(palette.LINES), strict=False))
    figure, panels = make_panels(table, panel, 1.9, across, sharey=True)
    for axis, rows in panels:
        draw_line(axis, rows, x, line, colors, parts)
        axis.set(**{"xlabel": x, "ylim": (-3, 103)} | look)
    for axis, _ in panels[::across]:
        axis.set_ylabel(label)
    handles = [
        Line2D([], [], color=colors[name], marker=shape, markersize=4, label=str(name))
        for name, shape in zip(names, cycle(SHAPES), strict=False)
    ]
    return finish(figure, title, handles)


def draw_line(
    axis: plt.Axes,
    rows: pd.DataFrame,
    x: str,
    line: str,
    colors: Mapping[str, str],
    parts: Sequence[str] = (),
) -> None:
    """A line for each value of the column `line`, on one panel; each has a shape of its own."""
    shapes = dict(zip(colors, cycle(SHAPES), strict=False))
    for (name, *_), part in rows.groupby([line, *parts], sort=False):
        look = {"color": colors[name], "marker": shapes[name], "markersize": 3.5}
        axis.plot(part[x], part["mean"], **look)
        if "low" in part:
            axis.fill_between(part[x], part["low"], part["high"], color=colors[name], alpha=0.13)
