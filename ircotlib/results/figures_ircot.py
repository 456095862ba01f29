"""Draws figures from tables and computes nothing; next to each picture is a CSV of its numbers."""

from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from ircotlib.files.paths import FIGURES
from ircotlib.results.drawing import color_of, draw_bars, finish, subplots, title_of

BACKENDS = {"embedded": "#3b6fb6", "Elasticsearch": "#e08e45", "bm25s": "#9aa5b1"}
# of the causes, in their order
CAUSES = ("#9aa5b1", "#a63d57", "#e08e45", "#c9b458", "#5a6fa8", "#7fb08a", "#c9a6c9")
SCALE = {
    "build, CPU": "seconds",
    "build, peak memory": "MB",
    "index on disk": "MB",
    "batches of 64, CPU": "queries a CPU-second",
}


def draw_with_reported(
    table: pd.DataFrame, title: str, label: str, reported_label: str | None = None
) -> plt.Figure:
    """Draw our means with their intervals on the left and the paper's numbers on the right (IRCoT
    Figures 3 and 4), in the same order.

    `table`: the columns of `results.reported.COLUMNS`, in percent; rows of the profile "paper" go
    to the right. `reported_label`: the label for the paper's numbers if they measure something
    else; None: they share our axis, 0 to 105.
    """
    ours, papers = table[table["profile"] != "paper"], table[table["profile"] == "paper"]
    datasets, models = list(dict.fromkeys(ours["dataset"])), list(dict.fromkeys(papers["model"]))
    for column in ("system", "dataset"):
        places = {name: place for place, name in enumerate(dict.fromkeys(ours[column]))}
        papers = papers.sort_values(column, key=lambda names: names.map(places), kind="stable")
    widths = [max(1.2, len(datasets)), *[3.2] * len(models)]
    shape = {"figsize": (2.4 + 1.5 * sum(widths), 3.6), "width_ratios": widths}
    figure, axes = subplots(1, 1 + len(models), squeeze=False, **shape)
    draw_bars(axes[0, 0], ours, "mean", label)
    axes[0, 0].set_title("measured here", fontsize="medium")
    for axis, model in zip(axes[0, 1:], models, strict=True):
        draw_bars(axis, papers[papers["model"] == model], "reported", reported_label or label)
        axis.set_title(f"paper, {model}", fontsize="medium")
    if not reported_label:
        for axis in axes[0, 1:]:
            axis.set_ylim(axes[0, 0].set_ylim(0, 105))
    return finish(figure, axes, title)


def draw_recall_by_k(table: pd.DataFrame, title: str) -> plt.Figure:
    """Draw recall in percent against K, one line per data set. `table`: columns dataset, k, recall,
    n, paragraphs.
    """
    figure, axis = subplots(figsize=(6, 3.6))
    for dataset, rows in table.groupby("dataset", sort=False):
        n, paragraphs = rows["n"].iloc[0], rows["paragraphs"].iloc[0]
        label = f"{title_of(dataset)} (n = {n:,}; {paragraphs:,} paragraphs)"
        axis.plot(rows["k"], rows["recall"], marker="o", label=label)
    axis.set(
        title=title,
        xlabel="K, paragraphs retrieved",
        ylabel="recall of gold paragraphs, %",
        ylim=(0, 100),
        xticks=sorted(table["k"].unique()),
    )
    axis.legend(frameon=False, fontsize="small")
    figure.tight_layout()
    return figure


def draw_recall_by_retriever(table: pd.DataFrame, title: str) -> plt.Figure:
    """Draw recall in percent against K, one panel per data set, one line per retriever. `table`: as
    for `draw_recall_by_k`, with a column retriever.
    """
    datasets, label = list(dict.fromkeys(table["dataset"])), "recall of gold paragraphs, %"
    shape = {"figsize": (1 + 2.8 * len(datasets), 3.6), "sharey": True, "squeeze": False}
    figure, axes = subplots(1, len(datasets), **shape)
    for axis, dataset in zip(axes[0], datasets, strict=True):
        rows = table[table["dataset"] == dataset]
        for retriever, line in rows.groupby("retriever", sort=False):
            axis.plot(line["k"], line["recall"], marker="o", label=retriever)
        axis.set(title=f"{title_of(dataset)} (n = {rows['n'].iloc[0]:,})", ylim=(0, 100))
        axis.set(xlabel="K, paragraphs retrieved", xticks=sorted(rows["k"].unique()))
    axes[0, 0].set_ylabel(label)
    return finish(figure, axes, title)


def draw_by_size(table: pd.DataFrame, title: str, label: str) -> plt.Figure:
    """Draw means with intervals by model, one panel per data set, one line per system through all
    models of the same style (IRCoT Figures 8 and 9).

    `table`: columns dataset, model, parameters (millions), style, system, and mean, low, high in
    percent; models are drawn in the order of the rows.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    sizes = table.drop_duplicates("model").set_index("model")["parameters"]
    places = pd.Series(range(len(sizes)), sizes.index)
    names = [Path(model).name.removeprefix("mini-") for model in sizes.index]
    ticks = [f"{name}\n{size:.2g} M" for name, size in zip(names, sizes, strict=True)]
    shape = {"figsize": (1 + 0.9 * len(sizes) * len(datasets), 3.6), "sharey": True}
    figure, axes = subplots(1, len(datasets), squeeze=False, **shape)
    for axis, dataset in zip(axes[0], datasets, strict=True):
        seen, lines = set(), table[table["dataset"] == dataset]
        for (system, _), rows in lines.groupby(["system", "style"], sort=False):
            errors = [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
            look = {"marker": "o", "capsize": 3, "color": color_of(system)}
            look |= {} if system in seen else {"label": system}
            axis.errorbar(places[rows["model"]], rows["mean"], errors, **look)
            seen.add(system)
        axis.set(title=title_of(dataset), xlim=(-0.5, len(sizes) - 0.5), ylim=(0, 102))
        axis.set_xticks(places, ticks, fontsize="small")
    axes[0, 0].set_ylabel(label)
    return finish(figure, axes, title)


def draw_by_demonstrations(table: pd.DataFrame, title: str, label: str) -> plt.Figure:
    """Draw means with intervals, one panel per evaluated data set, one group of bars per data set
    whose demonstrations are shown (IRCoT Figures 5 and 6).

    `table`: columns dataset, demonstrations, system, and mean, low, high in percent.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    figure, axes = subplots(
        1, len(datasets), figsize=(1 + 3.6 * len(datasets), 3.6), sharey=True, squeeze=False
    )
    for axis, dataset in zip(axes[0], datasets, strict=True):
        rows = table[table["dataset"] == dataset].drop(columns="dataset")
        rows = rows.rename(columns={"demonstrations": "dataset"})
        draw_bars(axis, rows, "mean", label if axis is axes[0, 0] else "")
        about = f"questions of {title_of(dataset)}"
        axis.set(title=about, ylim=(0, 110), xlabel="demonstrations of")
    return finish(figure, axes, title)


def draw_factual_errors(table: pd.DataFrame, title: str, label: str) -> plt.Figure:
    """Draw shares with intervals, one panel per annotator, one below the other, with the number of
    chains (IRCoT Figure 7).

    `table`: columns judged_by, dataset, system, n, and mean, low, high in percent; it may be empty.
    """
    who = list(dict.fromkeys(table["judged_by"])) or ["nobody yet"]
    figure, axes = subplots(len(who), 1, figsize=(8, 1 + 2.6 * len(who)), squeeze=False)
    for axis, name in zip(axes[:, 0], who, strict=True):
        rows = table[table["judged_by"] == name]
        draw_bars(axis, rows, "mean", label)
        counts = " to ".join(dict.fromkeys(map(str, sorted(rows["n"])[:: max(1, len(rows) - 1)])))
        axis.set(title=f"judged by: {name}, {counts or 'no'} chains a bar", ylim=(0, 110))
    return finish(figure, axes, title)


def draw_tuning(table: pd.DataFrame, title: str, chosen: pd.DataFrame | None = None) -> plt.Figure:
    """Draw the mean of each setting on the dev questions, one panel per data set and system, with K
    to the right and M upwards; a frame marks the best setting, the first of equals (IRCoT §4.1).

    `table`: columns dataset, system, k, m, and value in percent; m is empty if it is not tuned.
    `chosen`: from `analysis.name_edges`; panels whose best value is on an edge say so.
    """
    named = pd.DataFrame(columns=["dataset", "system", "edge"]) if chosen is None else chosen
    edges = named.set_index(["dataset", "system"])["edge"]
    systems, datasets = table["system"].unique(), table["dataset"].unique()
    shape = {"figsize": (1 + 2.3 * len(datasets), 0.6 + 1.2 * len(systems))}
    figure, axes = subplots(len(systems), len(datasets), squeeze=False, **shape)
    for row, system in zip(axes, systems, strict=True):
        for axis, dataset in zip(row, datasets, strict=True):
            rows = table[(table["system"] == system) & (table["dataset"] == dataset)]
            edge = edges.get((dataset, system), "")
            note = f" (best at the edge: {edge.upper()})" if edge else ""
            axis.set_title(f"{system}, {title_of(dataset)}{note}", fontsize="small")
            axis.set_axis_off() if rows.empty else _draw_heat(axis, rows.fillna({"k": 0, "m": 0}))
    figure.suptitle(title, y=1.0)
    figure.supxlabel("K, paragraphs of a retrieval", fontsize="medium")
    figure.supylabel("M, distractors in demonstrations", fontsize="medium")
    figure.tight_layout()
    return figure


def _draw_heat(axis: plt.Axes, rows: pd.DataFrame) -> None:
    """Draw one panel, on the colour scale of all panels. If further parameters were tuned, a cell
    shows their best value.
    """
    heat = rows.pivot_table("value", "m", "k", aggfunc="max")
    axis.imshow(heat, cmap="Blues", vmin=0, vmax=180, origin="lower", aspect="auto")
    for y, x in product(*map(range, heat.shape)):
        axis.text(x, y, f"{heat.iat[y, x]:.1f}", ha="center", va="center", fontsize="small")
    best = rows.iloc[rows["value"].argmax()]
    corner = heat.columns.get_loc(best["k"]) - 0.48, heat.index.get_loc(best["m"]) - 0.48
    axis.add_patch(plt.Rectangle(corner, 0.96, 0.96, fill=False, linewidth=1.5))
    axis.set_xticks(range(len(heat.columns)), [f"{k:.0f}" if k else "–" for k in heat])
    axis.set_yticks(range(len(heat)), [f"{m:.0f}" if m else "–" for m in heat.index])
    axis.grid(False)


def draw_census(table: pd.DataFrame, title: str) -> plt.Figure:
    """Draw the shares of wrong answers by cause, one panel per data set, one stacked bar per
    system.

    `table`: from `causes.count_causes`; the causes are stacked in their order, the first at
    the bottom.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    size = (1 + 3.2 * len(datasets), 3.8)
    figure, axes = subplots(1, len(datasets), figsize=size, sharey=True, squeeze=False)
    for axis, dataset in zip(axes[0], datasets, strict=True):
        rows = table[table["dataset"] == dataset]
        shares = rows.pivot_table("share", "system", "cause", sort=False)
        below = 0 * shares.iloc[:, 0]
        for cause, color in zip(shares, CAUSES, strict=False):
            axis.bar(shares.index, shares[cause], 0.7, below, color=color, label=cause)
            below = below + shares[cause]
        axis.set(title=title_of(dataset), ylim=(0, 100))
        axis.set_xticks(range(len(shares)), shares.index, rotation=20, ha="right")
        axis.grid(False, axis="x")
    axes[0, 0].set_ylabel("wrong answers, %")
    return finish(figure, axes, title)


def draw_training(curves: pd.DataFrame, title: str) -> plt.Figure:
    """Draw how the shipped models learned to read: the share of right answers against minutes of
    training. `curves`: from `analysis.read_training`.
    """
    figure, axis = subplots(figsize=(6, 3.6))
    for model, rows in curves.groupby("model", sort=False):
        axis.plot(rows["seconds"] / 60, 100 * rows["answer"], marker="o", markersize=3, label=model)
    axis.set(title=title, xlabel="minutes", ylabel="answers exactly right, %", ylim=(0, 102))
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


def draw_retrieval_scale(table: pd.DataFrame) -> plt.Figure:
    """Draw the costs of building and searching an index against the size of the corpus, one panel
    per measure of SCALE, one line per backend.

    `table`: columns backend, paragraphs, measure, value.
    """
    figure, axes = subplots(1, len(SCALE), figsize=(1 + 3 * len(SCALE), 3.4), squeeze=False)
    for axis, (measure, label) in zip(axes[0], SCALE.items(), strict=True):
        for backend, rows in table[table["measure"] == measure].groupby("backend", sort=False):
            rows = rows.sort_values("paragraphs")
            look = {"marker": "o", "color": BACKENDS.get(backend), "label": backend}
            axis.plot(rows["paragraphs"], rows["value"], **look)
        axis.set(title=measure, xlabel="paragraphs", ylabel=label, xscale="log", yscale="log")
        for one in (axis.xaxis, axis.yaxis):
            one.set_major_formatter("{x:,g}")
    return finish(figure, axes, "retrieval by the size of the corpus")


def save_figure(
    figure: plt.Figure | None, table: pd.DataFrame, name: str, profile: str = "mini"
) -> None:
    """Write figures/NAME.csv and, if there is a figure, figures/NAME.png; equal numbers give equal
    bytes. For profiles other than mini the name is NAME_PROFILE.
    """
    FIGURES.mkdir(parents=True, exist_ok=True)
    name = name if profile == "mini" else f"{name}_{profile}"
    table.to_csv(FIGURES / f"{name}.csv", index=False, lineterminator="\n")
    if figure is not None:
        drawn = {"dpi": 160, "bbox_inches": "tight", "metadata": {"Software": None}}
        figure.savefig(FIGURES / f"{name}.png", **drawn)
