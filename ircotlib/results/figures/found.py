"""What systems can find on real text: at which cost, by K, and at which step (docs/gold.md)."""

import matplotlib.pyplot as plt
import pandas as pd

from ircotlib.results.figures import palette, panels
from ircotlib.results.figures.lines import draw_lines

FOUND = "all gold paragraphs found, %"
PERCENT = (-3, 104)


def draw_found(table: pd.DataFrame, title: str) -> plt.Figure | None:
    """How far each method gets, against the paragraphs that it reads, one panel per data set; the
    names are as high as the marks. `table`: columns dataset, method, system, mean, low, high,
    paragraphs, retrievals, n.
    """
    colors = palette.colors_of(dict.fromkeys(table["system"]))
    table = panels.with_titles(table)
    table["panel"] = [f"{row.dataset} (n = {row.n})" for row in table.itertuples()]

    def draw(rows, axis):
        for _, equal in rows.groupby(["paragraphs", "mean"], sort=False):
            row, names = equal.iloc[0], ", ".join(equal["method"])
            color, x = colors[row["system"]], row["paragraphs"]
            axis.plot([x, x], [row["low"], row["high"]], color=color, linewidth=0.8)
            said = f"{panels.say(names, row)}, {row['retrievals']:.1f} retrievals"
            panels.mark(axis, x, row["mean"], said, color=color, markersize=4.5)
            panels.name_end(axis, names, row["mean"], color)
        axis.set(xlabel="paragraphs read a question", ylabel=FOUND, ylim=PERCENT, xlim=(0, 16))

    return panels.draw_panels(table, "panel", draw, title, 2.5, 2)


def draw_found_by_k(table: pd.DataFrame, title: str) -> plt.Figure | None:
    """The share of questions of which all gold paragraphs are found against K, one panel per data
    set or wording of sub-questions, one line per system. `table`: of `average_by_wording`, by
    system and k.
    """
    table = panels.with_titles(table)
    about = zip(table["dataset"], table["wording"], table["n"], strict=True)
    table["panel"] = [
        f"{dataset}{'' if wording == 'all' else f', {wording}'} (n = {n})"
        for dataset, wording, n in about
    ]
    colors = palette.colors_of(dict.fromkeys(table["system"]))

    def draw(rows, axis):
        draw_lines(axis, rows, "k", "system", colors)
        axis.set(xlabel="K, paragraphs a retrieval", ylabel=FOUND, ylim=PERCENT)
        axis.set_xticks(sorted(set(rows["k"])))

    return panels.draw_panels(table, "panel", draw, title, 2.0, 2)


def draw_found_by_retriever(table: pd.DataFrame, title: str) -> plt.Figure | None:
    """The share of questions of which all gold paragraphs are found against the size of the
    corpus, one panel per data set and retriever, one line per system. `table`: of `average_found`,
    by dataset, retriever, searched and system.
    """
    table = panels.with_titles(table)
    table["panel"] = table["dataset"] + "\n" + table["retriever"].str.replace(": ", ":\n")
    colors = palette.colors_of(dict.fromkeys(table["system"]))

    def draw(rows, axis):
        draw_lines(axis, rows, "searched", "system", colors)
        ticks = sorted(set(rows["searched"]))
        axis.set(xlabel="paragraphs in the corpus", ylabel=FOUND, ylim=PERCENT)
        axis.set_xticks(ticks, map("{:,}".format, ticks))

    return panels.draw_panels(table, "panel", draw, title, 1.9, table["dataset"].nunique())


def draw_found_steps(table: pd.DataFrame, title: str) -> plt.Figure | None:
    """At which step a paragraph is lost: the share of questions of which that of each step is
    found, one panel per data set and number of steps, one line per system. `table`: of
    `average_steps`.
    """
    table = panels.with_titles(table)
    table["panel"] = [f"{r.dataset}, {r.hops} steps (n = {r.n})" for r in table.itertuples()]
    colors = palette.colors_of(dict.fromkeys(table["system"]))

    def draw(rows, axis):
        draw_lines(axis, rows, "step", "system", colors)
        axis.set(xlabel="step", ylabel="its paragraph found, %", ylim=PERCENT)
        axis.set_xticks(sorted(set(rows["step"])))

    return panels.draw_panels(table, "panel", draw, title, 1.9, 2)
