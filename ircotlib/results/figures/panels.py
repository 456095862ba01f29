"""What all figures share: their style, one panel per group of rows, and how they are saved."""

from collections.abc import Callable, Iterable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.files.paths import figure_path, write_partial
from ircotlib.files.tables import write_table
from ircotlib.parameters import Parameters
from ircotlib.systems import all_systems


def subplots(*shape: int, **settings):
    """A figure and its axes in the style of all figures."""
    set_style()
    return plt.subplots(*shape, layout="constrained", **settings)


def set_style() -> None:
    """Set the style of all figures, for those that are made next."""
    import seaborn  # takes a second

    style = {"font.sans-serif": ["DejaVu Sans"], "text.parse_math": False}  # "$" is no formula
    seaborn.set_theme("paper", "whitegrid", rc=style)


def draw_panels(
    table: pd.DataFrame, by: str, draw: Callable, title: str, width=3, height=3.4, across=20, **look
) -> plt.Figure | None:
    """One panel per value of the column `by`, at most `across` side by side, with the value above
    it; `draw(rows, axis)` draws its rows, with the names of data sets as the papers print them.
    `width`, `height`: of a panel; a sequence has the width of each. `look`: as of `plt.subplots`.
    None if there is no row (`draw_nothing`), as for all functions that draw by this one.
    """
    if table.empty:
        return draw_nothing(title)
    table = with_titles(table)
    names = list(dict.fromkeys(table[by]))
    widths = np.broadcast_to(width, min(across, len(names)))
    down = -(-len(names) // len(widths))
    shape = {"figsize": (1 + sum(widths), height * down), "width_ratios": widths, **look}
    figure, axes = subplots(down, len(widths), squeeze=False, **shape)
    for axis, name in zip(axes.flat, names, strict=False):
        rows = table[table[by] == name]
        axis.set_title(name, fontsize="medium")
        draw(rows, axis)
    for axis in axes.flat[1:]:
        if axis.get_ylabel() == axes[0, 0].get_ylabel():
            axis.set_ylabel("")
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    return finish(figure, title)


def draw_nothing(title: str) -> None:
    """Say, in one line, that there is nothing of which a figure could be made."""
    print(f"nothing to draw: {title.splitlines()[0]}")


def finish(figure: plt.Figure, title: str, loc: str = "lower center", ncols: int = 6) -> plt.Figure:
    """Put a title above all panels, and one legend instead of those of the panels."""
    handles = {}
    for legend in filter(None, [axis.get_legend() for axis in figure.axes]):
        handles |= {t.get_text(): h for t, h in zip(legend.get_texts(), legend.legend_handles)}
        legend.remove()
    ncols = 4 if len(handles) > ncols > 4 else ncols
    figure.legend(handles.values(), handles, loc=f"outside {loc}", ncols=ncols, frameon=False)
    figure.suptitle(title)
    return figure


def with_titles(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the names of data sets as the papers print them."""
    titles = {name: dataset.title for name, dataset in all_datasets().items()}
    return table.replace({"dataset": titles, "demonstrations": titles})


def draw_means(kind: str, rows: pd.DataFrame, axis: plt.Axes, **look) -> None:
    """Draw the means of the rows with their intervals by a function of seaborn, such as "barplot",
    as the column `value`. The mean is the median of itself and both ends, which are their range.
    """
    import seaborn

    ends = ["mean", "low", "high"]
    values = rows.melt(rows.columns.drop(ends), ends)
    draw = getattr(seaborn, kind)
    draw(values, ax=axis, estimator="median", errorbar=("pi", 100), **look)


def colors_of(systems: Iterable[str]) -> dict[str, str]:
    """The color in each system's record; black if its file is gone."""
    records = all_systems()
    return {name: records[name].color if name in records else "black" for name in systems}


def save_figure(
    figure: plt.Figure | None, table: pd.DataFrame, name: str, p: Parameters | None = None
) -> None:
    """Write NAME.csv and, if there is a figure, NAME.png; if there is none, remove one that was
    drawn of other numbers. Equal numbers give equal bytes. `figure_path` says where; what is not
    mini as it is shipped is written above the picture.
    """
    made_with = (p.profile, p.trial) if p else ("mini", "")
    write_table(figure_path(f"{name}.csv", *made_with), table)
    path = figure_path(f"{name}.png", *made_with)
    look = {"format": "png", "dpi": 160, "bbox_inches": "tight"}
    if figure is None:
        path.unlink(missing_ok=True)
        return
    if made_with != ("mini", ""):
        said = " ".join(["profile", *filter(None, made_with)]).replace("trials/", "with ")
        figure.text(0.5, 1.01, said, ha="center", va="bottom", color="gray")
    with write_partial(path) as partial:
        figure.savefig(partial, metadata={"Software": None}, **look)
