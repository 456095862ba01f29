"""Bars: means and shares with their intervals, beside the papers' numbers; causes, stacked."""

import matplotlib.pyplot as plt
import pandas as pd

from ircotlib.results.figures import palette, panels
from ircotlib.results.runs import in_order
from ircotlib.systems import all_systems

OUTLINES = {"saturation": 1, "err_kws": {"linewidth": 1, "color": "black"}}


def draw_bars(
    table: pd.DataFrame, by: str, title: str, x: str = "dataset", width=4.2, **labels
) -> plt.Figure:
    """One panel per value of `by`, a group of bars per value of `x`, one bar per system, with its
    interval, if it has one, and its number above. `labels`: settings of the axes.
    """

    def draw(rows, axis):
        look = {"palette": panels.colors_of(rows["system"]), "gap": 0.05, "capsize": 0.2} | OUTLINES
        panels.draw_means("barplot", rows, axis, x=x, y="value", hue="system", **look)
        ends = rows["high"].fillna(rows["mean"]).groupby(rows["system"], sort=False)
        above = {"textcoords": "offset points", "ha": "center", "fontsize": "x-small"}
        for bars, (_, tops) in zip(axis.containers, ends, strict=True):
            for bar, top in zip(bars, tops, strict=True):
                middle = bar.get_x() + bar.get_width() / 2
                axis.annotate(f"{bar.get_height():.1f}", (middle, top), (0, 3), **above)
        axis.margins(y=0.15)
        axis.set(**{"xlabel": ""} | labels)

    return panels.draw_panels(table, by, draw, title, width)


def draw_with_reported(
    table: pd.DataFrame, title: str, label: str, reported_label: str | None = None
) -> plt.Figure | None:
    """Our means with their intervals, and beside them the paper's numbers in the same order (IRCoT
    Figures 3 and 4). `table`: columns `results.reported.COLUMNS`, in percent; the paper's rows have
    no mean, whatever our profile is called. All are on one scale, 0 to 105. `reported_label`: what
    theirs measure, if something else. None without means of ours.
    """
    ours, papers = table[table["mean"].notna()], table[table["mean"].isna()]
    if ours.empty:
        return panels.draw_nothing(title)
    papers = in_order(in_order(papers, "system", ours["system"]), "dataset", ours["dataset"])
    papers = papers.assign(panel="paper, " + papers["model"]).drop(columns="mean")
    papers = papers.rename(columns={"reported": "mean"})
    rows = pd.concat([ours.assign(panel="measured here"), papers])
    widths = [max(1.8, 1.5 * ours["dataset"].nunique()), *[4.8] * papers["model"].nunique()]
    figure = draw_bars(rows, "panel", title, width=widths, ylabel=label, ylim=(0, 105))
    for axis in figure.axes[1:]:
        axis.set_ylabel(reported_label or "")
    return figure


def draw_by_demonstrations(table: pd.DataFrame, title: str, label: str) -> plt.Figure:
    """Means with intervals, one panel per evaluated data set, one group of bars per data set whose
    demonstrations are shown (IRCoT Figures 5 and 6). `table`: columns dataset, demonstrations,
    system, and mean, low, high in percent.
    """
    table = table.assign(panel="questions of " + panels.with_titles(table)["dataset"])
    labels = {"xlabel": "demonstrations of", "ylabel": label, "ylim": (0, 110)}
    return draw_bars(table, "panel", title, "demonstrations", **labels)


def draw_factual_errors(table: pd.DataFrame, title: str, label: str) -> plt.Figure:
    """Shares with intervals, one panel per annotator, with the number of chains (IRCoT Figure 7).
    `table`: columns judged_by, dataset, system, n, and mean, low, high in percent; it may be empty.
    """
    chains = table.groupby("judged_by")["n"].agg(lambda n: " to ".join(map(str, sorted({*n}))))
    panel = "judged by: " + table["judged_by"] + ", " + table["judged_by"].map(chains)
    labels = {"width": 6.5, "ylabel": label, "ylim": (0, 110)}
    return draw_bars(table.assign(panel=panel + " chains a bar"), "panel", title, **labels)


def draw_causes(table: pd.DataFrame, title: str) -> plt.Figure:
    """The shares of wrong answers by cause, one panel per data set, one stacked bar per system.
    `table`: columns dataset, system, cause, n, answers; causes are stacked in their order.
    """
    systems = list(dict.fromkeys(table["system"]))

    def draw(rows, axis):
        sums = rows.groupby(["system", "cause"], sort=False)[["n", "answers"]].sum()
        shares = (100 * sums["n"] / sums["answers"]).unstack("cause").reindex(systems[::-1])
        shares.plot.barh(stacked=True, ax=axis, width=0.75, color=palette.CAUSES, linewidth=0)
        axis.set(xlabel="wrong answers, %", ylabel="", xlim=(0, 100))
        axis.grid(False, axis="y")

    width = 9 if table["dataset"].nunique() == 1 else 3
    height = 1.4 + 0.24 * len(systems)
    return panels.draw_panels(table, "dataset", draw, title, width, height, sharey=True)


def draw_by_dataset(table: pd.DataFrame, title: str) -> plt.Figure:
    """All systems, one panel per data set: the mean with its interval, and the paper's value, if
    there is one, as a circle. `table`: of `head_to_head.compare_all`, one measure per data set.
    """
    systems = panels.colors_of(dict.fromkeys(table["system"]))

    def draw(rows, axis):
        _draw_across(rows, axis, systems, width=0.75)
        circles = {"s": 14, "facecolor": "none", "edgecolor": "black", "zorder": 3}
        known = rows.dropna(subset="reported")
        axis.scatter(known["reported"].astype(float), known["system"], **circles)
        axis.set(xlim=(0, 102), xlabel=rows["metric"].iloc[0], ylabel="")
        axis.set_ylim(len(systems) - 0.4, -0.6)

    title += "; circles: the papers'"
    height = 1.2 + 0.22 * len(systems)
    return panels.draw_panels(table, "dataset", draw, title, 2, height, sharey=True)


def _draw_across(rows: pd.DataFrame, axis: plt.Axes, hues: dict[str, str], **look) -> None:
    """Means as bars to the right, one system below the other in the order of their colours."""
    look |= {"order": hues, "hue": "system", "palette": hues, "legend": False, **OUTLINES}
    panels.draw_means("barplot", rows, axis, x="value", y="system", **look)


def draw_measures(table: pd.DataFrame, title: str) -> plt.Figure:
    """All systems, one row of panels per data set and one column per measure: the mean, written
    beside its bar, with its interval. What differs from the usual system stands after a comma in
    its name. `table`: columns dataset, system, metric, and mean, low, high in percent.
    """
    records = panels.colors_of(all_systems())
    bases = {name: name.partition(",")[0] for name in table["system"]}
    names = sorted(bases, key=lambda name: [*records].index(bases[name]))
    hues = {name: records[bases[name]] for name in names}
    tops = 1.25 * table.groupby("metric")["high"].max().clip(upper=80)
    metrics = table["metric"].replace({"f1": "F1", "cover_em": "cover-EM"})
    panel = panels.with_titles(table)["dataset"] + ": " + metrics + ", %"

    def draw(rows, axis):
        _draw_across(rows, axis, hues)
        for name, mean, high in rows[["system", "mean", "high"]].itertuples(index=False):
            beside = {"textcoords": "offset points", "va": "center", "fontsize": "x-small"}
            axis.annotate(f"{mean:.0f}", (high, names.index(name)), (3, 0), **beside)
        axis.set(xlim=(0, tops[rows["metric"].iloc[0]]), xlabel="", ylabel="")

    look = {"height": 1 + 0.2 * len(names), "across": table["metric"].nunique(), "sharey": True}
    return panels.draw_panels(table.assign(panel=panel), "panel", draw, title, 3, **look)
