"""Figures: draws what a table holds and computes nothing; the numbers drawn lie beside each picture as CSV."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from ircotlib.paths import FIGURES

PALETTE = {"NoR": "#9aa5b1", "OneR": "#e08e45", "IRCoT": "#3b6fb6"}
NAMES = {"hotpotqa": "HotpotQA", "2wikimultihopqa": "2WikiMQA", "musique": "MuSiQue", "iirc": "IIRC", "mini": "Mini encyclopedia"}


def draw_with_reported(table: pd.DataFrame, title: str, label: str, reported_label: str | None = None) -> plt.Figure:
    """Draw our means with their intervals on the left and the paper's numbers on the right (IRCoT Figures 3 and 4).

    `table`: the columns of `ircotlib.analysis.COLUMNS`, in percent; rows of the profile "paper" go to the right. `reported_label`: where
    the paper's numbers are of another kind; None: they share our axis, 0 to 100.
    """
    ours, papers = table[table["profile"] != "paper"], table[table["profile"] == "paper"]
    datasets, models = list(dict.fromkeys(ours["dataset"])), list(dict.fromkeys(papers["model"]))
    widths = [max(1.2, len(datasets)), *[3.2] * len(models)]
    figure, axes = _subplots(1, 1 + len(models), figsize=(2.4 + 1.5 * sum(widths), 3.6), width_ratios=widths, squeeze=False)
    _draw_bars(axes[0, 0], ours, "mean", label)
    axes[0, 0].set_title("measured here", fontsize="medium")
    for axis, model in zip(axes[0, 1:], models, strict=True):
        _draw_bars(axis, papers[papers["model"] == model], "reported", reported_label or label)
        axis.set_title(f"paper, {model}", fontsize="medium")
    if not reported_label:
        for axis in axes[0, 1:]:
            axis.set_ylim(axes[0, 0].set_ylim(0, 105))
    figure.suptitle(title, y=1.0)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, loc="lower center", ncols=3)
    return figure


def _subplots(*shape: int, **setting):
    """A figure and its axes in the style of all figures."""
    sns.set_theme(style="whitegrid", context="paper", font_scale=1.1)
    return plt.subplots(*shape, **setting)


def _draw_bars(axis: plt.Axes, table: pd.DataFrame, value: str, label: str) -> None:
    """Grouped bars: data sets along the axis, one bar a system, intervals where the table has them, the number above each bar."""
    datasets, systems = list(dict.fromkeys(table["dataset"])), list(dict.fromkeys(table["system"]))
    width = 0.8 / max(1, len(systems))
    for position, system in enumerate(systems):
        rows = table[table["system"] == system]
        x = [datasets.index(d) + (position - (len(systems) - 1) / 2) * width for d in rows["dataset"]]
        errors = None if value == "reported" else [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
        bars = axis.bar(x, rows[value], width * 0.95, color=PALETTE.get(system.split()[0], "#3b6fb6"), yerr=errors, capsize=3, label=system)
        axis.bar_label(bars, fmt="%.1f", padding=2, fontsize="x-small")
    axis.set_xticks(range(len(datasets)), [NAMES.get(d, d) for d in datasets])
    axis.set_ylabel(label)
    axis.margins(y=0.15)
    axis.grid(False, axis="x")


def draw_recall_by_k(table: pd.DataFrame, title: str) -> plt.Figure:
    """Draw recall in percent against K, one line a data set; `table` has the columns dataset, k, recall, n, paragraphs."""
    figure, axis = _subplots(figsize=(6, 3.6))
    for dataset, rows in table.groupby("dataset", sort=False):
        label = f"{NAMES.get(dataset, dataset)} (n = {rows['n'].iloc[0]:,}; {rows['paragraphs'].iloc[0]:,} paragraphs)"
        axis.plot(rows["k"], rows["recall"], marker="o", label=label)
    axis.set(title=title, xlabel="K, paragraphs retrieved", ylabel="recall of gold paragraphs, %", ylim=(0, 100), xticks=sorted(table["k"].unique()))
    axis.legend(frameon=False, fontsize="small")
    figure.tight_layout()
    return figure


def draw_training(curves: pd.DataFrame, title: str) -> plt.Figure:
    """Draw how a miniature model learned to read: shares of first sentences and of whole chains that are right, by training step."""
    figure, axis = _subplots(figsize=(6, 3.6))
    for column, label in (("first", "first sentence"), ("whole", "whole chain")):
        axis.plot(curves["step"], 100 * curves[column], marker="o", markersize=3, label=label)
    axis.set(title=title, xlabel="training step", ylabel="exactly right, %", ylim=(0, 102))
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


def save_figure(figure: plt.Figure | None, table: pd.DataFrame, name: str) -> None:
    """Write figures/NAME.png (when there is a figure) and figures/NAME.csv, the same bytes for the same numbers."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    table.to_csv(FIGURES / f"{name}.csv", index=False, lineterminator="\n")
    if figure is not None:
        figure.savefig(FIGURES / f"{name}.png", dpi=160, bbox_inches="tight", metadata={"Software": None})
