"""Draws means and lines, and writes figures to files."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ircotlib.files import figure_path, write_table, writing
from ircotlib.parameters import Parameters
from ircotlib.results.tables import title_of
from ircotlib.systems import CHAINED, CLOSED, ONCE, OWN, STEPWISE, all_systems

Look = dict[str, Any]  # keywords of matplotlib
# chosen to be distinct for the colour-blind
FAMILIES = {  # of systems: the shades of one hue, the darkest first
    CLOSED: ("#4a4f57", "#7d838c", "#a9aeb6"),
    ONCE: ("#b37400", "#e0a100", "#f0c75e"),
    STEPWISE: ("#084a91", "#3f86c6", "#8fbfe6"),
    CHAINED: ("#9c1f2e", "#cf5f57", "#e8a199"),
    OWN: ("black", "black", "black"),
}
MARKERS = {CLOSED: "s", ONCE: "^", STEPWISE: "o", CHAINED: "D", OWN: "P"}  # for grey
LINE_COLORS = ("#084a91", "#e0a100", "#cf5f57", "#7d838c", "black")  # not of systems
SHAPES = "osD^vP"  # of marks: lines differ in these, too
PAPERS = ("IRCoT", "IRCoT QA", "SearChain")  # the two papers' own systems, in bold

COLUMN = 3.3  # inches: a column of a paper
PAGE = 6.3  # its page
ROW = 0.135  # a system's row
DOT: Look = {"linestyle": "", "marker": "o", "markersize": 4}
HOLLOW: Look = DOT | {"mfc": "none", "mec": "black", "mew": 0.8}
CHANCE: Look = {"color": "black", "linestyle": ":", "linewidth": 0.8}
STYLE: Look = {
    "xtick.major.pad": 2, "ytick.major.pad": 2, "axes.labelpad": 2, "axes.titlepad": 4,
    "axes.titlelocation": "left", "axes.linewidth": 0.6,
    "legend.frameon": False, "legend.borderaxespad": 0, "legend.title_fontsize": 9,
    "text.parse_math": False,  # "$" in a question is no formula
    "svg.fonttype": "none", "svg.hashsalt": "ircotlib",  # equal pictures: equal bytes
}  # fmt: skip


def subplots(*shape: int, **settings: Any) -> tuple[Figure, Any]:
    """A figure and its axes, as `matplotlib.pyplot.subplots`, in one style."""
    import seaborn  # takes a second

    plt.rcdefaults()  # whatever a user's matplotlibrc says, such as text.usetex
    seaborn.set_theme("paper", "whitegrid", font_scale=0.8, rc=STYLE)
    return plt.subplots(*shape, layout="constrained", **settings)


def make_panels(
    table: pd.DataFrame, by: str, height: float, across: int, sharey: bool = False
) -> tuple[Figure, list[tuple[plt.Axes, pd.DataFrame]]]:
    """A figure with a panel for each value of the column `by`, each `height` inches
    high and at most `across` in a row; and each panel's axes with its rows.
    """
    names = list(dict.fromkeys(table[by])) or [""]
    across = min(across, len(names))
    down = -(-len(names) // across)
    size = (COLUMN if len(names) == 1 else PAGE, height * down + 1.1)
    figure, axes = subplots(down, across, figsize=size, squeeze=False, sharey=sharey)
    panels = []
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_title("\n".join(map(title_of, name.split("\n"))))
        panels.append((axis, table[table[by] == name]))
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    return figure, panels


def finish(figure: Figure, title: str, handles: Iterable = ()) -> Figure:
    """Put a title above all panels, and below it the legend of these handles."""
    handles = list(handles)
    letters, most = (88, 4) if figure.get_figwidth() > COLUMN else (44, 2)
    title = "\n".join(fill(line, letters) for line in title.splitlines())
    columns = min(most, len(handles)) or 1
    place: Look = {"loc": "outside upper left", "alignment": "left", "ncols": columns}
    figure.legend(handles=handles, title=title, **place)
    return figure


def save_figure(
    figure: Figure | None,
    table: pd.DataFrame,
    name: str,
    p: Parameters | None = None,
    about: str = "",
) -> None:
    """Write NAME.csv and of a figure NAME.png and .svg. `about`, which stands below it:
    a finding in words, if any, and on a line of its own its origin, in small print.
    """
    made_with = (p.profile, p.trial) if p else ()
    write_table(figure_path(f"{name}.csv", *made_with), table)
    if figure is None:
        return
    finding, _, origin = about.rpartition("\n")
    # outputs that were made elsewhere have no profile
    if p and not origin.startswith(("profile ", "outputs ")):
        origin = f"profile {p.profile}, {origin}".removesuffix(", ")
    if p and p.trial:
        origin += f"; with {p.trial.removeprefix('trials/')}"
    origin = fill(origin, int(19 * figure.get_figwidth()))
    finding = fill(finding, int(15 * figure.get_figwidth()))
    room = "\n" * (origin.count("\n") + 1)  # for the small print
    figure.supxlabel(finding + room, x=0.01, ha="left", fontsize=8)
    figure.text(0.01, 0.04 / figure.get_figheight(), origin, fontsize=6.5, color="0.4")
    # without the time and the version, the same figure has the same bytes
    for ending, metadata in {"png": {"Software": None}, "svg": {"Date": None}}.items():
        with writing(figure_path(f"{name}.{ending}", *made_with)) as new:
            figure.savefig(new, format=ending, dpi=200, metadata=metadata)


def family_of(system: str) -> tuple[str, Look]:
    """The family of a system, by name, and its mark; of one that is unknown, OWN's."""
    records = all_systems()
    family, shade = records[system].family if system in records else (OWN, 0)
    color = FAMILIES[family][shade]
    return family, DOT | {"marker": MARKERS[family], "color": color}


def draw_dots(
    table: pd.DataFrame,
    title: str,
    label: str,
    panel: str = "dataset",
    row: str = "system",
    across: int = 4,
    names: Sequence[str] = (),
) -> Figure:
    """Means in percent with their 95% intervals, in the colours of the column `system`;
    hollow: the column `reported`; dotted: the column `chance`. `names`: the rows from
    top to bottom.
    """
    names = list(names) or list(dict.fromkeys(table[row]))
    height = 0.65 + ROW * len(names)
    figure, panels = make_panels(table, panel, height, across, sharey=True)
    for axis, rows in panels:
        draw_rows(axis, rows, names, row)
        axis.set_xlabel(label)
        if "chance" in rows:
            axis.axvline(rows["chance"].max(), **CHANCE)
    return finish(figure, title, explain(table))


def draw_rows(
    axis: plt.Axes, rows: pd.DataFrame, names: Sequence[str], by: str
) -> None:
    """Draw a panel of `draw_dots`; `by`: the column that has the `names`."""
    for row in rows.to_dict("records"):
        y = names.index(row[by])
        _, mark = family_of(row["system"])
        ends = [row["low"], row["high"]]
        axis.plot(ends, [y, y], color=mark["color"], solid_capstyle="butt")
        axis.plot(row["mean"], y, **mark)
        axis.plot(row.get("reported", float("nan")), y, **HOLLOW)
    axis.set(ylim=(len(names) - 0.4, -0.6), xlim=(-4, 104))
    axis.set_yticks(range(len(names)), names)
    for text, name in zip(axis.get_yticklabels(), names, strict=False):
        text.set_fontweight("bold" if name in PAPERS else "normal")


def explain(table: pd.DataFrame) -> list[Line2D]:
    """The legend: families, if several are drawn, the paper's values, and chance."""
    drawn = {family_of(name)[0] for name in table["system"]}
    handles: list[Line2D] = []
    for family, [color, *_] in FAMILIES.items():
        if family in drawn and len(drawn) > 1:
            mark = DOT | {"marker": MARKERS[family], "color": color}
            handles.append(Line2D([], [], label=family, **mark))
    if "reported" in table and table["reported"].notna().any():
        handles.append(Line2D([], [], label="in the paper", **HOLLOW))
    if "chance" in table:
        handles.append(Line2D([], [], label="chance", **CHANCE))
    return handles


def draw_lines(
    table: pd.DataFrame,
    title: str,
    label: str,
    x: str,
    line: str = "system",
    panel: str = "dataset",
    part: str = "",
    **look: Any,
) -> Figure:
    """The column `mean`, in percent, against the column `x`, with a band from `low` to
    `high`. `part`: a column whose values split a line. `look`: of the axes, such as
    xlabel.
    """
    names = list(dict.fromkeys(table[line]))
    colors = dict(zip(names, cycle(LINE_COLORS)))
    if {*names} <= {*all_systems()}:
        colors = {name: family_of(name)[1]["color"] for name in names}
    shapes = dict(zip(names, cycle(SHAPES)))
    figure, panels = make_panels(table, panel, 1.9, across=4)
    for axis, rows in panels:
        parts = [line, part] if part else [line]
        for (name, *_), points in rows.groupby(parts, sort=False):
            color = colors[name]
            mark: Look = {"marker": shapes[name], "markersize": 3.5, "label": name}
            axis.plot(points[x], points["mean"], color=color, **mark)
            if "low" in points:
                low, high = points["low"], points["high"]
                axis.fill_between(points[x], low, high, color=color, alpha=0.13)
        axis.set(**{"xlabel": x, "ylabel": label, "ylim": (-3, 103)} | look)
    handles = {line.get_label(): line for axis, _ in panels for line in axis.lines}
    return finish(figure, title, handles.values())
