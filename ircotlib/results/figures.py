"""Draws dots with intervals, lines, causes of errors and SearChain's tree; writes them
to files.
"""

from collections.abc import Iterable, Sequence
from itertools import cycle
from operator import itemgetter
from textwrap import fill

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from ircotlib.data import Node
from ircotlib.files import figure_path, write_table, writing
from ircotlib.parameters import Parameters
from ircotlib.results.shown import title_of
from ircotlib.results.statistics import LEVEL
from ircotlib.systems import CHAINED, CLOSED, ONCE, OWN, STEPWISE, all_systems
from ircotlib.systems.searchain import COMPLETION, VERIFICATION

# chosen to be distinct for the colour-blind
FAMILIES = {  # of systems: the shades of one hue, the darkest first
    CLOSED: ("#4a4f57", "#7d838c", "#a9aeb6"),
    ONCE: ("#b37400", "#e0a100", "#f0c75e"),
    STEPWISE: ("#084a91", "#3f86c6", "#8fbfe6"),
    CHAINED: ("#9c1f2e", "#cf5f57", "#e8a199"),
    OWN: ("black", "black", "black"),
}
# of wrong answers, in the order of their rules (`causes.CAUSES`)
CAUSE_COLORS = (
    "#bbbbbb",
    "#aa3377",
    "#ccbb44",
    "#66ccee",
    "#4477aa",
    "#ee6677",
    "#228833",
)
# of lines that are no systems
LINE_COLORS = ("#084a91", "#e0a100", "#cf5f57", "#7d838c", "black")
BAND = "#e9edf2"  # in the background
# of a node of a tree
FEEDBACK = {"": ("#d5dbe2", ""), VERIFICATION: ("#f0c9a4", "corrected")}
FEEDBACK |= {COMPLETION: ("#a9c1e0", "completed")}
PAPERS = ("IRCoT", "IRCoT QA", "SearChain")  # the two papers' own systems, in bold

# inches: a column and a page of a paper, a system's row
COLUMN, PAGE, ROW = 3.3, 6.3, 0.135
DOT = {"linestyle": "", "marker": "o", "markersize": 4}
PAPER = DOT | {
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markeredgewidth": 0.8,
}
# of a program with right replies
GOLD = {"linestyle": "", "marker": "|", "color": "black"}
CHANCE = {"color": "black", "linestyle": ":", "linewidth": 0.8}
CORRECT = {"edgecolor": "#2f7d4f", "linewidth": 1.5}  # a node on the correct path
SHAPES = "osD^vP"  # of marks: lines differ in these, too
STYLE = dict.fromkeys(("xtick.major.pad", "ytick.major.pad", "axes.labelpad"), 2)
STYLE |= {"axes.titlelocation": "left", "axes.titlepad": 4, "axes.linewidth": 0.6}
# "$" in a question is no formula
STYLE |= {"text.parse_math": False, "svg.fonttype": "none"}
STYLE |= {"svg.hashsalt": "ircotlib"}  # equal pictures have equal bytes


def subplots(*shape: int, **settings: object) -> tuple[Figure, plt.Axes]:
    """A figure and its axes in the style of all figures."""
    import seaborn  # takes a second

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
    size = COLUMN if len(names) == 1 else PAGE, height * down + 1.1
    figure, axes = subplots(down, across, figsize=size, squeeze=False, sharey=sharey)
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_title("\n".join(map(title_of, name.split("\n"))))
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    return figure, [(a, table[table[by] == name]) for a, name in zip(axes.flat, names)]


def finish(figure: Figure, title: str, handles: Iterable[Artist] = ()) -> Figure:
    """Put a title above all panels, and below it the legend of these handles."""
    handles = list(handles)
    letters, columns = (88, 4) if figure.get_figwidth() > COLUMN else (44, 2)
    title = "\n".join(fill(line, letters) for line in title.splitlines())
    look = {
        "title_fontsize": 9,
        "alignment": "left",
        "frameon": False,
        "borderaxespad": 0,
    }
    look |= {"loc": "outside upper left", "ncols": min(columns, len(handles)) or 1}
    figure.legend(handles=handles, title=title, **look)
    return figure


def save_figure(
    figure: Figure | None,
    table: pd.DataFrame,
    name: str,
    p: Parameters | None = None,
    about="",
) -> None:
    """Write NAME.csv and of a figure NAME.png and .svg. `about`, which stands below it:
    a finding in words, if any, and on a line of its own its origin, in small print.
    """
    made_with = (p.profile, p.trial) if p else ()
    write_table(figure_path(f"{name}.csv", *made_with), table)
    if figure is None:
        return
    finding, _, about = about.rpartition("\n")
    if p and not about.startswith("profile "):
        about = f"profile {p.profile}, {about}".removesuffix(", ")
    if p and p.trial:
        about += f"; with {p.trial.removeprefix('trials/')}"
    text, wide = (
        fill(about, int(19 * figure.get_figwidth())),
        int(15 * figure.get_figwidth()),
    )
    room = "\n" * (text.count("\n") + 1)  # for the small print
    figure.supxlabel(fill(finding, wide) + room, x=0.01, ha="left", fontsize=8)
    figure.text(0.01, 0.04 / figure.get_figheight(), text, fontsize=6.5, color="0.4")
    for ending, metadata in {"png": {"Software": None}, "svg": {"Date": None}}.items():
        with writing(figure_path(f"{name}.{ending}", *made_with)) as new:
            figure.savefig(new, format=ending, dpi=200, metadata=metadata)


def family_of(system: str) -> tuple[str, str]:
    """The family of a system, by name, and its shade; black for a plug-in, or if it is
    gone.
    """
    records = all_systems()
    family, shade = records[system].family if system in records else (OWN, 0)
    return family, FAMILIES[family][shade]


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
    figure, panels = make_panels(
        table, panel, 0.65 + ROW * len(names), across, sharey=True
    )
    for axis, rows in panels:
        _draw_rows(axis, rows, names, row)
        axis.set_xlabel(label)
        if "chance" in rows:
            axis.axvline(rows["chance"].max(), **CHANCE)
    return finish(figure, title, _explain(table))


def _draw_rows(
    axis: plt.Axes, rows: pd.DataFrame, names: Sequence[str], by: str
) -> None:
    for values in rows.to_dict("records"):
        y, (_, color) = names.index(values[by]), family_of(values["system"])
        axis.plot(
            [values["low"], values["high"]], [y, y], color=color, solid_capstyle="butt"
        )
        axis.plot(values["mean"], y, color=color, **DOT)
        axis.plot(values.get("reported", float("nan")), y, **PAPER)
    axis.set(ylim=(len(names) - 0.4, -0.6), xlim=(-4, 104))
    axis.set_yticks(range(len(names)), names)
    for text, name in zip(axis.get_yticklabels(), names, strict=False):
        text.set_fontweight("bold" if name in PAPERS else "normal")


def _explain(table: pd.DataFrame) -> list[Line2D]:
    """The legend: families of the systems that are drawn, the paper's values, and
    chance.
    """
    families = {family_of(name)[0] for name in table["system"]}
    drawn = {
        f: shades[0]
        for f, shades in FAMILIES.items()
        if f in families and len(families) > 1
    }
    handles = [
        Line2D([], [], color=color, label=name, **DOT) for name, color in drawn.items()
    ]
    if "reported" in table and table["reported"].notna().any():
        handles.append(Line2D([], [], label="in the paper", **PAPER))
    if "chance" in table:
        handles.append(Line2D([], [], label="chance", **CHANCE))
    return handles


def draw_means(means: pd.DataFrame, apart: pd.DataFrame, title: str) -> Figure:
    """All systems, the best first: the mean of each with its interval, the data sets
    `apart` with two classes, and the tokens. `means`: of `head_to_head.average`, with
    the columns of `compare_means` and `gold`, the mean with right replies; `apart`:
    rows of `compare_all`.
    """
    rows = means.sort_values(["mean", "tokens"], ascending=[False, True], kind="stable")
    names, sets = list(rows["system"]), list(dict.fromkeys(apart["dataset"]))
    shape = {"figsize": (PAGE, 1.2 + ROW * len(rows)), "sharey": True}
    shape["width_ratios"] = [2, *(0.7 for _ in sets), 1]
    figure, (left, *middle, right) = subplots(1, 2 + len(sets), **shape)
    _draw_rows(left, rows, names, "system")
    left.plot(rows["gold"], range(len(rows)), **GOLD)
    left.set_xlabel("correct answers, %")
    for axis, name in zip(middle, sets, strict=True):
        of_set = apart[(apart["dataset"] == name) & apart["system"].isin(names)]
        _draw_rows(axis, of_set.drop(columns="reported"), names, "system")
        axis.axvline(50, **CHANCE)
        axis.set_xlabel(f"{title_of(name)}, %")
    right.scatter(
        rows["tokens"], range(len(rows)), 16, [family_of(name)[1] for name in names]
    )
    right.set(xlabel="tokens per question", xscale="log")
    right.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    right.xaxis.set_major_formatter("{x:,.0f}")
    right.minorticks_off()
    for y in (rows["p_holm"].to_numpy() >= LEVEL).nonzero()[0]:
        for axis in (left, right):
            axis.axhspan(y - 0.5, y + 0.5, color=BAND, linewidth=0, zorder=0)
    marks = [Line2D([], [], label="chance", **CHANCE)] if sets else []
    if rows["gold"].notna().any():
        marks.append(Line2D([], [], label="with right replies", **GOLD))
    marks.append(Patch(color=BAND, label="no significant difference from SearChain"))
    return finish(figure, title, [*_explain(rows), *marks])


def draw_causes(causes: pd.DataFrame, title: str) -> Figure:
    """The shares of wrong answers by cause, over all data sets, of each system
    (`count_causes`).
    """
    sums = causes.groupby(["system", "cause"], sort=False)[["n", "answers"]].sum()
    shares = (100 * sums["n"] / sums["answers"]).unstack("cause")
    shares = shares[list(dict.fromkeys(causes["cause"]))]  # in the order of their rules
    colors = dict(zip(shares, CAUSE_COLORS, strict=False))
    shares = shares.loc[:, shares.sum() > 0]
    shares = shares.loc[
        shares.sum(axis=1).sort_values(ascending=False, kind="stable").index
    ]
    figure, axis = subplots(figsize=(PAGE, 1.3 + 1.2 * ROW * len(shares)))
    if len(shares):
        look = {"color": colors, "legend": False, "xlabel": "wrong answers, % of all"}
        shares.plot.barh(
            ax=axis, stacked=True, width=0.8, xlim=(0, 100), ylabel="", **look
        )
    axis.grid(False, axis="y")
    return finish(figure, title, axis.containers)


def draw_lines(
    table: pd.DataFrame,
    title: str,
    label: str,
    x: str,
    line: str = "system",
    panel: str = "dataset",
    part: str = "",
    **look: object,
) -> Figure:
    """The column `mean`, in percent, against the column `x`, with a band from `low` to
    `high`. `part`: a column whose values split a line. `look`: of the axes, such as
    xlabel. The lines' names stand right of the last panel that has them all, where
    these end.
    """
    are_systems, looks = {*table[line]} <= {*all_systems()}, {}
    for name, color, shape in zip(
        dict.fromkeys(table[line]), cycle(LINE_COLORS), cycle(SHAPES)
    ):
        looks[name] = {
            "color": family_of(name)[1] if are_systems else color,
            "marker": shape,
        }
    figure, panels = make_panels(table, panel, 1.9, across=4)
    for axis, rows in panels:
        for (name, *_), points in rows.groupby(
            [line, part] if part else [line], sort=False
        ):
            axis.plot(
                points[x], points["mean"], markersize=3.5, label=name, **looks[name]
            )
            if "low" in points:
                band = {"color": looks[name]["color"], "alpha": 0.13}
                axis.fill_between(points[x], points["low"], points["high"], **band)
        axis.set(**{"xlabel": x, "ylabel": label, "ylim": (-3, 103)} | look)
    axis, at = (
        max((a for a, _ in panels[::-1]), key=lambda a: len(a.lines)),
        float("-inf"),
    )
    ends = {line.get_label(): line.get_ydata()[-1] for line in axis.lines}
    for name, y in sorted(ends.items(), key=itemgetter(1)):
        at = max(at + 0.1 * axis.get_ylim()[1], y)  # no two names overlap
        place = (1, at), (4, 0), ("axes fraction", "data"), "offset points"
        axis.annotate(name, *place, va="center", color=looks[name]["color"])
    return finish(figure, title)


def draw_tree(nodes: Sequence[Node], title: str) -> Figure:
    """The tree of reasoning of one question (SearChain Figure 1). A chain is a column
    that begins below the node whose feedback it follows. Dotted: nodes that were not
    compared with a passage.
    """
    rounds = sorted({node.round for node in nodes})
    places = []
    for node in nodes:
        depth = 0 if node.after is None else places[node.after][1] - 1
        places.append((rounds.index(node.round), depth))
    high = 1 - min((y for _, y in places), default=0)
    figure, axis = subplots(figsize=(PAGE, 1 + 0.75 * high))
    letters = int(104 / max(len(rounds), 3))
    for node, place in zip(nodes, places, strict=True):
        color, said = FEEDBACK[node.feedback]
        mark = f"[{node.mark}] " if node.mark else ""
        extracted = f" ({said}: {node.found or 'nothing'})" if node.feedback else ""
        lines = mark + node.query, f"→ {node.answer or '?'}{extracted}"
        text = "\n".join(fill(line, letters, max_lines=3) for line in lines)
        box = {"boxstyle": "round", "facecolor": color}
        box |= CORRECT if node.mark else {"edgecolor": "0.5", "linewidth": 0.8}
        box["linestyle"] = "-" if node.passage else ":"
        look = {"ha": "center", "va": "center", "fontsize": 7, "zorder": 3}
        axis.text(*place, text, bbox=box, **look)
        if node.after is not None:
            axis.plot(
                *zip(places[node.after], place, strict=True), color="0.5", zorder=1
            )
    dotted = {
        "edgecolor": "0.5",
        "linestyle": ":",
        "label": "not compared with a passage",
    }
    green = {
        "label": "on the correct path, whose marks [1] the answer refers to"
    } | CORRECT
    handles = [Patch(facecolor="none", **look) for look in (green, dotted)]
    axis.set(xlim=(-0.52, max(1, len(rounds)) - 0.48), ylim=(0.5 - high, 0.5))
    axis.set_axis_off()
    if not nodes:
        axis.text(0, 0, "no query could be read", ha="center")
    return finish(figure, title, handles)
