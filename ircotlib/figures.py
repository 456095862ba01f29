"""Figures: draws what a table holds and computes nothing; the numbers drawn lie beside each picture
as CSV.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.paths import FIGURES
from ircotlib.systems import all_systems

OURS = {"font.sans-serif": ["DejaVu Sans"], "lines.markeredgewidth": 1}
LOOK = ["seaborn-v0_8-whitegrid", "seaborn-v0_8-paper", OURS]
BACKENDS = {"embedded": "#3b6fb6", "Elasticsearch": "#e08e45", "bm25s": "#9aa5b1"}
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
    Figures 3 and 4).

    `table`: the columns of `ircotlib.analysis.COLUMNS`, in percent; rows of the profile "paper" go
    to the right. `reported_label`: where the paper's numbers are of another kind; None: they share
    our axis, 0 to 100.
    """
    ours, papers = table[table["profile"] != "paper"], table[table["profile"] == "paper"]
    datasets, models = list(dict.fromkeys(ours["dataset"])), list(dict.fromkeys(papers["model"]))
    widths = [max(1.2, len(datasets)), *[3.2] * len(models)]
    figure, axes = _subplots(
        1,
        1 + len(models),
        figsize=(2.4 + 1.5 * sum(widths), 3.6),
        width_ratios=widths,
        squeeze=False,
    )
    _draw_bars(axes[0, 0], ours, "mean", label)
    axes[0, 0].set_title("measured here", fontsize="medium")
    for axis, model in zip(axes[0, 1:], models, strict=True):
        _draw_bars(axis, papers[papers["model"] == model], "reported", reported_label or label)
        axis.set_title(f"paper, {model}", fontsize="medium")
    if not reported_label:
        for axis in axes[0, 1:]:
            axis.set_ylim(axes[0, 0].set_ylim(0, 105))
    return _finish(figure, axes, title)


def _subplots(*shape: int, **setting):
    """A figure and its axes in the style of all figures."""
    plt.style.use(LOOK)
    return plt.subplots(*shape, **setting)


def _draw_bars(axis: plt.Axes, table: pd.DataFrame, value: str, label: str) -> None:
    """Grouped bars: data sets along the axis, one bar a system, intervals where the table has them,
    the number above each bar.
    """
    datasets, systems = list(dict.fromkeys(table["dataset"])), list(dict.fromkeys(table["system"]))
    width = 0.8 / max(1, len(systems))
    for position, system in enumerate(systems):
        rows = table[table["system"] == system]
        x = [
            datasets.index(d) + (position - (len(systems) - 1) / 2) * width for d in rows["dataset"]
        ]
        errors = (
            None
            if value == "reported"
            else [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
        )
        bars = axis.bar(
            x, rows[value], width * 0.95, color=_color(system), yerr=errors, capsize=3, label=system
        )
        axis.bar_label(bars, fmt="%.1f", padding=2, fontsize="x-small")
    axis.set_xticks(range(len(datasets)), [_title(d) for d in datasets])
    axis.set_ylabel(label)
    axis.margins(y=0.15)
    axis.grid(False, axis="x")


def draw_recall_by_k(table: pd.DataFrame, title: str) -> plt.Figure:
    """Draw recall in percent against K, one line a data set; `table` has the columns dataset, k,
    recall, n, paragraphs.
    """
    figure, axis = _subplots(figsize=(6, 3.6))
    for dataset, rows in table.groupby("dataset", sort=False):
        n, paragraphs = rows["n"].iloc[0], rows["paragraphs"].iloc[0]
        label = f"{_title(dataset)} (n = {n:,}; {paragraphs:,} paragraphs)"
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


def draw_by_size(table: pd.DataFrame, title: str, label: str) -> plt.Figure:
    """Draw means with intervals by model, one panel a data set, one line a system through the
    models of a style (IRCoT Figures 8 and 9).

    `table`: columns dataset, model, parameters (millions), style, system, mean, low, high, in
    percent; models in the order of their places.
    """
    datasets, sizes = (
        list(dict.fromkeys(table["dataset"])),
        table.drop_duplicates("model").set_index("model")["parameters"],
    )
    places = pd.Series(range(len(sizes)), sizes.index)
    figure, axes = _subplots(
        1,
        len(datasets),
        figsize=(1 + 0.9 * len(sizes) * len(datasets), 3.6),
        sharey=True,
        squeeze=False,
    )
    for axis, dataset in zip(axes[0], datasets, strict=True):
        seen = set()
        for (system, _), rows in table[table["dataset"] == dataset].groupby(
            ["system", "style"], sort=False
        ):
            errors = [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
            name = {} if system in seen else {"label": system}
            axis.errorbar(
                places[rows["model"]],
                rows["mean"],
                errors,
                marker="o",
                capsize=3,
                color=_color(system),
                **name,
            )
            seen.add(system)
        axis.set(title=_title(dataset), xlim=(-0.5, len(sizes) - 0.5), ylim=(0, 102))
        axis.set_xticks(
            places,
            [
                f"{Path(model).name.removeprefix('mini-')}\n{size:.2g} M"
                for model, size in sizes.items()
            ],
            fontsize="small",
        )
    axes[0, 0].set_ylabel(label)
    return _finish(figure, axes, title)


def draw_by_demonstrations(table: pd.DataFrame, title: str, label: str) -> plt.Figure:
    """Draw means with intervals, one panel an evaluated data set, one group of bars for whose
    demonstrations are shown (IRCoT Figures 5 and 6).

    `table`: columns dataset, demonstrations, system, mean, low, high, in percent.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    figure, axes = _subplots(
        1, len(datasets), figsize=(1 + 3.6 * len(datasets), 3.6), sharey=True, squeeze=False
    )
    for axis, dataset in zip(axes[0], datasets, strict=True):
        rows = (
            table[table["dataset"] == dataset]
            .drop(columns="dataset")
            .rename(columns={"demonstrations": "dataset"})
        )
        _draw_bars(axis, rows, "mean", label if axis is axes[0, 0] else "")
        axis.set(
            title=f"questions of {_title(dataset)}",
            ylim=(0, 110),
            xlabel="demonstrations of",
        )
    return _finish(figure, axes, title)


def _finish(figure: plt.Figure, axes, title: str) -> plt.Figure:
    """Title above, legend below all panels."""
    figure.suptitle(title, y=1.0)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="lower center", ncols=min(6, len(labels)))
    return figure


def _color(system: str) -> str:
    """The color of a system's record; black for one whose file is gone."""
    systems = all_systems()
    return systems[system].color if system in systems else "black"


def _title(dataset: str) -> str:
    """A data set as the papers print its name."""
    datasets = all_datasets()
    return datasets[dataset].title if dataset in datasets else dataset


def draw_training(curves: pd.DataFrame, title: str) -> plt.Figure:
    """Draw how the miniature models learned to read: the share of answers that are right by minutes
    of training; `curves` has a column model.
    """
    figure, axis = _subplots(figsize=(6, 3.6))
    for model, rows in curves.groupby("model", sort=False):
        axis.plot(rows["seconds"] / 60, 100 * rows["answer"], marker="o", markersize=3, label=model)
    axis.set(title=title, xlabel="minutes", ylabel="answers exactly right, %", ylim=(0, 102))
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


def draw_retrieval_scale(table: pd.DataFrame) -> plt.Figure:
    """Draw what building and searching cost against the size of the corpus, one panel a measure,
    one line a backend.

    `table`: columns backend, paragraphs, measure, value, unit, of which the measures of SCALE are
    drawn.
    """
    figure, axes = _subplots(1, len(SCALE), figsize=(1 + 3 * len(SCALE), 3.4), squeeze=False)
    for axis, (measure, label) in zip(axes[0], SCALE.items(), strict=True):
        for backend, rows in table[table["measure"] == measure].groupby("backend", sort=False):
            rows = rows.sort_values("paragraphs")
            axis.plot(
                rows["paragraphs"],
                rows["value"],
                marker="o",
                color=BACKENDS.get(backend),
                label=backend,
            )
        axis.set(title=measure, xlabel="paragraphs", ylabel=label, xscale="log", yscale="log")
    return _finish(figure, axes, "retrieval by the size of the corpus")


def save_figure(
    figure: plt.Figure | None, table: pd.DataFrame, name: str, profile: str = "mini"
) -> None:
    """Write figures/NAME.png (when there is a figure) and figures/NAME.csv, the same bytes for the
    same numbers; of another profile than mini, NAME_PROFILE.
    """
    FIGURES.mkdir(parents=True, exist_ok=True)
    name = name if profile == "mini" else f"{name}_{profile}"
    table.to_csv(FIGURES / f"{name}.csv", index=False, lineterminator="\n")
    if figure is not None:
        drawn = {"dpi": 160, "bbox_inches": "tight", "metadata": {"Software": None}}
        figure.savefig(FIGURES / f"{name}.png", **drawn)
