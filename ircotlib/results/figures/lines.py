"""Lines: scores by size, by a setting, by an ability, recall by K, and training curves."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.ticker import EngFormatter

from ircotlib.results.figures import palette, panels

SCALE = {"build, CPU": "seconds", "build, peak memory": "MB", "index on disk": "MB"}
SCALE["batches of 64, CPU"] = "queries a CPU-second"


def draw_lines(
    axis: plt.Axes, rows: pd.DataFrame, x: str, line: str, colors: Mapping[str, str], parts=()
) -> None:
    """A line for each value of the column `line`, with its name at its end, a mark at each `mean`,
    and a band for its interval, if there are columns low and high. Every other line is dashed, so
    that one below it is seen. `parts`: columns whose values part a line.
    """
    for n, (name, color) in enumerate(colors.items()):
        points = rows[rows[line] == name].sort_values(x, kind="stable")
        for _, part in points.groupby([*parts] or line, sort=False):
            dashes = {"dashes": (3, 1.5)} if n % 2 else {}
            axis.plot(part[x], part["mean"], color=color, **dashes)
            if "low" in part:
                axis.fill_between(part[x], part["low"], part["high"], color=color, alpha=0.13, lw=0)
                if len(part) == 1:
                    axis.vlines(part[x], part["low"], part["high"], color=color)
        for row in points.to_dict("records"):
            said = panels.say(f"{name}, {row[x]}", row)
            panels.mark(axis, row[x], row["mean"], said, color=color, markersize=3)
        if len(points):
            panels.name_end(axis, name, points["mean"].iloc[-1], color)


def _colors(names: pd.Series) -> dict[str, str]:
    """A colour for each of some lines that are no systems."""
    return dict(zip(dict.fromkeys(names), palette.LINES * 9, strict=False))


def draw_recall(table: pd.DataFrame, line: str, title: str) -> plt.Figure | None:
    """Recall in percent against K, one panel per data set, one line per value of the column `line`.
    `table`: columns dataset, k, recall, n, paragraphs.
    """
    about = "{0.dataset} (n = {0.n:,}; {0.paragraphs:,} paragraphs)"
    about = [about.format(row) for row in panels.with_titles(table).itertuples()]
    colors, ks = _colors(table[line]), sorted(table["k"].unique())

    def draw(rows, axis):
        draw_lines(axis, rows, "k", line, colors)
        axis.set(xlabel="K, paragraphs retrieved", ylabel="recall, %")
        axis.set(ylim=(0, 103), xticks=ks)

    table = table.assign(panel=about, mean=table["recall"])
    return panels.draw_panels(table, "panel", draw, title, 1.9, 2)


def draw_training(curves: pd.DataFrame, title: str) -> plt.Figure | None:
    """How the shipped models learned to read: the share of right answers against minutes of
    training. `curves`: from `analysis.read_training`.
    """
    curves = curves.assign(panel="", minutes=curves["seconds"] / 60, mean=100 * curves["answer"])

    def draw(rows, axis):
        draw_lines(axis, rows, "minutes", "model", _colors(rows["model"]))
        axis.set(xlabel="minutes", ylabel="answers exactly right, %", ylim=(0, 103))

    return panels.draw_panels(curves, "panel", draw, title, 2.3)


def draw_forms(table: pd.DataFrame, title: str) -> plt.Figure | None:
    """Accuracy against how many of the last steps the model must know by heart, one line per number
    of hops (SearChain Figure 10), with the number of questions behind its name. In the prompt, the
    other steps are (a) answered, (b) only asked. `table`: of `knowledge.count_forms`.
    """
    names = {"a": "(a) others answered\nlast i steps known (S_i)"}
    names["a of b"] = "as (a), questions of (b)\nall steps known (S_all)"
    names["b"] = "(b) others only asked\nall steps known (S_all)"
    table = table.sort_values(["panel", "hops"], kind="stable").replace({"panel": names})
    colors = _colors(table["hops"])
    table = table.assign(**{end: 100 * table[end] for end in ("low", "high")})
    table["mean"] = 100 * table["accuracy"]

    def draw(rows, axis):
        ends = rows.groupby("hops")["n"].agg(["min", "max"])
        names = {h: f"{h} hops ({low}{f' to {n}' * (n > low)})" for h, low, n in ends.itertuples()}
        rows = rows.assign(line=rows["hops"].map(names))
        draw_lines(axis, rows, "i", "line", {name: colors[h] for h, name in names.items()})
        axis.set(xlabel="i, steps known by heart", ylabel="right, %", ylim=(-2, 103))
        axis.set(xticks=sorted(set(table["i"])))

    return panels.draw_panels(table, "panel", draw, title, 2.3, 3)


def draw_retrieval_scale(table: pd.DataFrame) -> plt.Figure | None:
    """The costs of building and searching an index against the size of the corpus, one panel per
    measure of SCALE, one line per backend. `table`: columns backend, paragraphs, measure, value.
    """
    table = pd.concat([table[table["measure"] == measure] for measure in SCALE])
    table = table.rename(columns={"value": "mean"})
    table["measure"] = table["measure"].map(lambda measure: f"{measure}, {SCALE[measure]}")

    def draw(rows, axis):
        draw_lines(axis, rows, "paragraphs", "backend", palette.BACKENDS)
        axis.set(xlabel="paragraphs", xscale="log", yscale="log")
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.yaxis.set_major_formatter("{x:,g}")
        axis.minorticks_off()

    return panels.draw_panels(table, "measure", draw, "Retrieval by the size of the corpus", 1.9, 2)


def draw_by_size(table: pd.DataFrame, title: str, label: str) -> plt.Figure | None:
    """Means with intervals by model, one panel per data set, one line per system through all models
    of the same style (IRCoT Figures 8 and 9). `table`: columns dataset, model, parameters
    (millions), style, system, and mean, low, high in percent; models are drawn in its order.
    """
    names = table["model"].map(lambda name: Path(name).name.removeprefix("mini-")[:16])
    millions = table["parameters"].map("\n{:.2g} M".format, na_action="ignore").fillna("")
    table = table.assign(size=names + millions)
    sizes = {size: n for n, size in enumerate(dict.fromkeys(table["size"]))}
    systems = palette.colors_of(dict.fromkeys(table["system"]))
    shift = {name: 0.08 * (n - (len(systems) - 1) / 2) for n, name in enumerate(systems)}
    table["x"] = table["size"].map(sizes) + table["system"].map(shift)

    def draw(rows, axis):
        draw_lines(axis, rows, "x", "system", systems, ["style"])
        axis.set(ylabel=label, ylim=(-2, 103))
        axis.set_xticks(range(len(sizes)), sizes)

    return panels.draw_panels(table, "dataset", draw, title, 1.9, 2)
