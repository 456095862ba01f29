"""Lines: scores by size, recall by K, training curves."""

from itertools import cycle

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D

from ircotlib.results.figures import palette
from ircotlib.results.figures.panels import finish, make_panels
from ircotlib.systems import all_systems

SHAPES = "osD^vP"  # of marks: lines are also told by these


def draw_lines(
    table: pd.DataFrame,
    title: str,
    label: str,
    x: str,
    line: str = "system",
    panel: str = "dataset",
    across: int = 3,
    part: str = "",
    **look,
) -> plt.Figure:
    """The column `mean`, in percent, against the column `x`, one panel for each value of the column
    `panel`, a line for each of `line`, with a band from low to high, if there are such columns.
    `part`: a column whose values part a line. `look`: of the axes, such as xlabel.
    """
    names = list(dict.fromkeys(table[line]))
    is_system = set(names) <= {*all_systems()}
    colors = palette.colors_of(names).values() if is_system else cycle(palette.LINES)
    looks = zip(colors, cycle(SHAPES), strict=False)
    looks = dict(zip(names, ({"color": c, "marker": m} for c, m in looks), strict=False))
    figure, panels = make_panels(table, panel, 1.9, across)
    for axis, rows in panels:
        for (name, *_), points in rows.groupby([line, part] if part else [line], sort=False):
            axis.plot(points[x], points["mean"], markersize=3.5, **looks[name])
            if "low" in points:
                band = {"color": looks[name]["color"], "alpha": 0.13}
                axis.fill_between(points[x], points["low"], points["high"], **band)
        axis.set(**{"xlabel": x, "ylabel": label, "ylim": (-3, 103)} | look)
    handles = [Line2D([], [], label=str(name), **look) for name, look in looks.items()]
    return finish(figure, title, handles)
