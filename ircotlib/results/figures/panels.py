"""The look of all figures, and their files: a picture and its numbers."""

from collections.abc import Iterable
from textwrap import fill

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist

from ircotlib.files.paths import figure_path, writing
from ircotlib.files.tables import write_table
from ircotlib.parameters import Parameters
from ircotlib.results.shown import title_of

COLUMN, PAGE = 3.3, 6.3  # inches: how wide a column and a page of a paper are
STYLE = dict.fromkeys(("xtick.major.pad", "ytick.major.pad", "axes.labelpad"), 2)
STYLE |= {"axes.titlelocation": "left", "axes.titlepad": 4, "axes.linewidth": 0.6}
STYLE |= {"text.parse_math": False, "svg.fonttype": "none"}  # "$" in a question is no formula
STYLE |= {"svg.hashsalt": "ircotlib"}  # equal pictures have equal bytes


def subplots(*shape: int, **settings):
    """A figure and its axes in the style of all figures."""
    import seaborn  # takes a second

    seaborn.set_theme("paper", "whitegrid", font_scale=0.8, rc=STYLE)
    return plt.subplots(*shape, layout="constrained", **settings)


def make_panels(
    table: pd.DataFrame, by: str, height: float, across: int = 4, **look
) -> tuple[plt.Figure, list[tuple[plt.Axes, pd.DataFrame]]]:
    """A figure with a panel for each value of the column `by`, which is its title, each `height`
    inches high and at most `across` in a row; and each panel's axes with its rows.
    """
    names = list(dict.fromkeys(table[by])) or [""]
    across = min(across, len(names))
    down = -(-len(names) // across)
    size = COLUMN if len(names) == 1 else PAGE, height * down + 0.8
    figure, axes = subplots(down, across, **{"figsize": size, "squeeze": False} | look)
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_title("\n".join(map(title_of, name.split("\n"))))
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    rows = (table[table[by] == name] for name in names)
    return figure, list(zip(axes.flat, rows, strict=False))


def finish(figure: plt.Figure, title: str, handles: Iterable[Artist] = ()) -> plt.Figure:
    """Put a title above all panels, and below it the legend of these handles."""
    handles = list(handles)
    letters, columns = (88, 4) if figure.get_figwidth() > COLUMN else (44, 2)
    title = "\n".join(fill(line, letters) for line in title.splitlines())
    look = {"title_fontsize": 9, "alignment": "left", "frameon": False, "borderaxespad": 0}
    look |= {"loc": "outside upper left", "ncols": min(columns, len(handles)) or 1}
    figure.legend(handles=handles, title=title, **look)
    return figure


def save_figure(
    figure: plt.Figure | None,
    table: pd.DataFrame,
    name: str,
    p: Parameters | None = None,
    about: str = "",
) -> None:
    """Write NAME.csv and, if there is a figure, NAME.png and NAME.svg; `figure_path` says where.
    Equal numbers give equal bytes. `about`: what it was made with, in small print.
    """
    made_with = (p.profile, p.trial) if p else ()
    write_table(figure_path(f"{name}.csv", *made_with), table)
    if figure is None:
        return
    if p and not about.startswith("profile "):
        about = f"profile {p.profile}, {about}".removesuffix(", ")
    if p and p.trial:
        about += f"; with {p.trial.removeprefix('trials/')}"
    text = fill(about, int(19 * figure.get_figwidth()))
    figure.supxlabel(text, x=0.01, ha="left", fontsize=6.5, color="0.4")
    for ending, metadata in {"png": {"Software": None}, "svg": {"Date": None}}.items():
        with writing(figure_path(f"{name}.{ending}", *made_with)) as new:
            figure.savefig(new, format=ending, dpi=200, metadata=metadata)
