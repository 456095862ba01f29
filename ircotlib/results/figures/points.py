"""Lines and points: recall by K, scores by size or cost, settings tried, and training curves."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import EngFormatter

from ircotlib.results.figures import palette, panels
from ircotlib.results.statistics import LEVEL

WORST = (palette.BRICK, palette.BLUE, palette.ORANGE)
SCALE = {"build, CPU": "seconds", "build, peak memory": "MB", "index on disk": "MB"}
SCALE["batches of 64, CPU"] = "queries a CPU-second"


def draw_lines(
    table: pd.DataFrame, by: str, x: str, y: str, line: str, title: str, width: float = 3.2, **look
) -> plt.Figure:
    """One panel per value of `by`, with a line per value of the column `line` and a point per row.
    `look`: settings of the axes, and the palette of the lines.
    """
    hues = look.pop("palette", None)

    def draw(rows, axis):
        import seaborn

        drawn = {"marker": "o", "estimator": None, "palette": hues}
        seaborn.lineplot(rows, x=x, y=y, hue=line, ax=axis, **drawn)
        axis.set(**look)

    return panels.draw_panels(table, by, draw, title, width)


def draw_recall(table: pd.DataFrame, line: str, title: str) -> plt.Figure:
    """Recall in percent against K, one panel per data set, one line per value of the column `line`.
    `table`: columns dataset, k, recall, n, paragraphs.
    """
    about = "{0.dataset} (n = {0.n:,}; {0.paragraphs:,} paragraphs)"
    about = [about.format(row) for row in panels.with_titles(table).itertuples()]
    labels = {"xlabel": "K, paragraphs retrieved", "ylabel": "recall of gold paragraphs, %"}
    labels |= {"ylim": (0, 100), "xticks": sorted(table["k"].unique())}
    return draw_lines(table.assign(panel=about), "panel", "k", "recall", line, title, **labels)


def draw_training(curves: pd.DataFrame, title: str) -> plt.Figure:
    """How the shipped models learned to read: the share of right answers against minutes of
    training. `curves`: from `analysis.read_training`.
    """
    curves = curves.assign(panel="", minutes=curves["seconds"] / 60, right=100 * curves["answer"])
    labels = {"ylabel": "answers exactly right, %", "ylim": (0, 102), "width": 5}
    return draw_lines(curves, "panel", "minutes", "right", "model", title, **labels)


def draw_forms(table: pd.DataFrame, title: str) -> plt.Figure:
    """Accuracy against how many of the last steps the model must know by heart, one line per number
    of hops (SearChain Figure 10), with the number of questions at each point. In the prompt, the
    other steps are (a) answered, (b) only asked. `table`: of `knowledge.count_forms`.
    """
    names = {"a": "(a) others answered\nlast i steps known (S_i)"}
    names["a of b"] = "as (a), on the questions of (b)\nall steps known (S_all)"
    names["b"] = "(b) others only asked\nall steps known (S_all)"
    table = table.sort_values(["panel", "hops"], kind="stable").replace({"panel": names})
    table["hops"] = table["hops"].map("{} hops".format)
    labels = {"xlabel": "i, steps known by heart", "xticks": sorted(set(table["i"]))}
    labels |= {"ylim": (-0.02, 1.02), "width": 3.2}
    figure = draw_lines(table, "panel", "i", "accuracy", "hops", title, **labels)
    for axis, (_, points) in zip(figure.axes if figure else (), table.groupby("panel", sort=False)):
        for i, accuracy, n in points[["i", "accuracy", "n"]].itertuples(index=False):
            beside = {"textcoords": "offset points", "fontsize": "x-small"}
            axis.annotate(f"{n}", (i, accuracy), (3, 3), **beside)
    return figure


def draw_retrieval_scale(table: pd.DataFrame) -> plt.Figure:
    """The costs of building and searching an index against the size of the corpus, one panel per
    measure of SCALE, one line per backend. `table`: columns backend, paragraphs, measure, value.
    """
    table = pd.concat([table[table["measure"] == measure] for measure in SCALE])
    table["measure"] = table["measure"].map(lambda measure: f"{measure}, {SCALE[measure]}")
    title = "retrieval by the size of the corpus"
    look = {"palette": palette.BACKENDS, "ylabel": "", "xscale": "log", "yscale": "log"}
    figure = draw_lines(table, "measure", "paragraphs", "value", "backend", title, **look)
    for axis in figure.axes:
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.yaxis.set_major_formatter("{x:,g}")
    return figure


def draw_by_size(table: pd.DataFrame, title: str, label: str) -> plt.Figure:
    """Means with intervals by model, one panel per data set, one line per system through all models
    of the same style (IRCoT Figures 8 and 9). `table`: columns dataset, model, parameters
    (millions), style, system, and mean, low, high in percent; models are drawn in its order.
    """
    names = table["model"].map(lambda name: fill(Path(name).name.removeprefix("mini-"), 16))
    millions = table["parameters"].map("\n{:.2g} M".format, na_action="ignore").fillna("")
    table = table.assign(size=names + millions)
    sizes = list(dict.fromkeys(table["size"]))

    def draw(rows, axis):
        look = {"hue": "system", "palette": panels.colors_of(rows["system"]), "order": sizes}
        look |= {"capsize": 0.08, "linewidth": 1.5, "err_kws": {"linewidth": 1}}
        look |= {"dodge": 0.15} if rows["system"].nunique() > 1 else {}  # seaborn divides by n - 1
        for _, line in rows.groupby("style", sort=False):
            panels.draw_means("pointplot", line, axis, x="size", y="value", **look)
        axis.set(xlabel="", ylabel=label, ylim=(0, 102))

    return panels.draw_panels(table, "dataset", draw, title, 0.9 * len(sizes), sharey=True)


def draw_front(means: pd.DataFrame, title: str) -> plt.Figure | None:
    """Each system's mean, with its interval, against the tokens it takes, with the Pareto front,
    and against its mean in the paper, if it has one; one row per retriever. The legend explains the
    numbers of the points. A ring: not told apart from SearChain. `means`: from
    `head_to_head.average`, with the columns of `compare_means`.
    """
    if means.empty:
        return panels.draw_nothing(title)
    colors = panels.colors_of(means["system"])
    retrievers = means["retriever"].unique()
    names = {name: f"{number} {name}" for number, name in enumerate(colors, start=1)}
    hues = {names[name]: color for name, color in colors.items()}
    across = 2 if means["reported"].notna().any() else 1
    shape = {"figsize": (4 + 4.5 * across, 0.6 + 5.2 * len(retrievers)), "squeeze": False}
    figure, axes = panels.subplots(len(retrievers), across, **shape)
    for (left, *beside), retriever in zip(axes, retrievers, strict=True):
        points = means[means["retriever"] == retriever].replace({"system": names})
        front = points[points["on_front"]].sort_values("tokens")
        left.plot(front["tokens"], front["mean"], color=palette.GREY, zorder=0)
        left.set(title="Pareto front; ring: not told apart from SearChain", xscale="log")
        left.xaxis.set_major_formatter("{x:,.0f}")
        _scatter(left, points, "tokens", hues)
        for right in beside:
            _scatter(right, points.dropna(subset="reported"), "reported", hues)
            right.set(xlabel="mean in the paper, gpt-3.5-turbo, %", ylabel="")
            right.set_title("beside the paper (SearChain Table 1)")
        label = f"mean over data sets, %: {retriever}"
        left.set(xlabel="tokens read and written a question", ylabel=label)
    return panels.finish(figure, title, "right", 1)


def _scatter(axis: plt.Axes, points: pd.DataFrame, x: str, hues: dict[str, str]) -> None:
    """Points with their numbers, each where it hides no other point or number, if it can."""
    import seaborn

    look = {"hue": "system", "palette": hues, "hue_order": hues, "s": 32, "linewidth": 0}
    seaborn.scatterplot(points, x=x, y="mean", ax=axis, zorder=3, **look)
    axis.vlines(points[x], points["low"], points["high"], color=palette.GREY, linewidth=1, zorder=1)
    alike = points[points["p_holm"] >= LEVEL]
    axis.scatter(alike[x], alike["mean"], s=90, facecolor="none", edgecolor="black", linewidth=0.8)
    axis.margins(0.08)
    if points["mean"].nunique() == 1:  # no scale of its own
        axis.set_ylim(-4, 104)
    axis.figure.draw_without_rendering()
    positions = axis.transData.transform(points[[x, "mean"]]) * 72 / axis.figure.dpi
    taken = [*positions]
    shifts = (8, 7), (8, -7), (-8, 7), (-8, -7)  # points to its corners
    for name, point, position in zip(points["system"], points[[x, "mean"]].values, positions):
        beside = [position + shift for shift in shifts]
        # 11 x 6 points: the size of a number of two digits
        free = [spot for spot in beside if (abs(spot - taken) > (11, 6)).any(axis=1).all()]
        taken += (free or beside)[:1]
        text = {"textcoords": "offset points", "ha": "center", "va": "center", "fontsize": "small"}
        axis.annotate(name.split()[0], point, taken[-1] - position, **text)


def draw_tuning(
    table: pd.DataFrame, title: str, chosen: pd.DataFrame | None = None
) -> plt.Figure | None:
    """The mean of each setting on the dev questions, one panel per data set and system, with K to
    the right and M upwards, on one scale of colours. A frame marks the best setting, the first of
    equals (IRCoT §4.1). If further parameters were tuned, a cell has the best of their values.
    `table`: columns dataset, system, k, m, and value in percent; m is empty if it is not tuned.
    `chosen`: from `analysis.name_edges`; panels whose best value is on an edge say so.
    """
    if table.empty:
        return panels.draw_nothing(title)
    panel = table["system"] + ", " + panels.with_titles(table)["dataset"]
    if chosen is not None:
        keys = ["dataset", "system"]
        edges = table[keys].merge(chosen, "left", keys)["edge"].fillna("").str.upper()
        panel += [f"\nbest at the edge: {edge}" if edge else "" for edge in edges]
    table = table.assign(panel=panel).fillna({"k": 0, "m": 0})

    def draw(rows, axis):
        heat = rows.pivot_table("value", "m", "k", aggfunc="max")[::-1]
        # seaborn's heatmap draws the whole figure once for each of its panels
        axis.pcolormesh(heat, cmap="Blues", vmin=0, vmax=180)
        axis.invert_yaxis()
        for (y, x), value in np.ndenumerate(heat):
            if value == value:  # tried
                look = {"color": "black", "ha": "center", "va": "center"}
                axis.text(x + 0.5, y + 0.5, f"{value:.1f}", **look)
        for ticks, on in ((axis.set_xticks, heat.columns), (axis.set_yticks, heat.index)):
            ticks(np.arange(len(on)) + 0.5, [f"{x:.0f}" if x else "–" for x in on])
        axis.grid(False)
        for spine in axis.spines.values():
            spine.set_visible(False)
        best = rows.loc[rows["value"].idxmax()]
        corner = heat.columns.get_loc(best["k"]), heat.index.get_loc(best["m"])
        frame = {"fill": False, "edgecolor": "black", "linewidth": 1.5, "clip_on": False}
        axis.add_patch(plt.Rectangle(corner, 1, 1, **frame))
        axis.set(xlabel="", ylabel="")
        axis.tick_params(rotation=0)

    across = table["dataset"].nunique()
    figure = panels.draw_panels(table, "panel", draw, title, 2.5, 1.25, across)
    figure.supxlabel("K, paragraphs of a retrieval", fontsize="medium")
    figure.supylabel("M, distractors in demonstrations", fontsize="medium")
    return figure


def draw_predicted(table: pd.DataFrame, ways: Sequence[str], title: str) -> plt.Figure | None:
    """Each system's predicted against its measured score in each data set, one panel per way of
    predicting, a column of the table; None if there is no row. The three systems that are predicted
    worst on average are in colour, with their mean error in points.
    """
    if table.empty:
        return panels.draw_nothing(title)
    figure, axes = panels.subplots(1, len(ways), figsize=(1 + 4.4 * len(ways), 4.6), sharey=True)
    for axis, way in zip(axes, ways, strict=True):
        errors = (table[way] - table["measured"]).groupby(table["system"]).mean()
        worst = errors.sort_values(key=abs, ascending=False).index[:3]
        rest = table[~table["system"].isin(worst)]
        axis.plot([0, 100], [0, 100], color=palette.GREY, linewidth=1, zorder=0)
        axis.scatter(rest["measured"], rest[way], s=14, color=palette.GREY, linewidth=0)
        for name, color in zip(worst, WORST, strict=False):
            rows = table[table["system"] == name]
            label = f"{name}, {errors[name]:+.0f}"
            axis.scatter(rows["measured"], rows[way], s=26, color=color, linewidth=0, label=label)
        axis.legend(loc="lower right", fontsize="small")
        axis.set(xlabel="measured, %", xlim=(-2, 102), ylim=(-2, 102), title=way, aspect="equal")
    axes[0].set_ylabel("predicted, %")
    figure.suptitle(title)
    return figure
