"""What all figures share: their style, grouped bars, titles and legends."""

import matplotlib.pyplot as plt
import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.systems import all_systems

OURS = {"font.sans-serif": ["DejaVu Sans"], "lines.markeredgewidth": 1}
OURS["text.parse_math"] = False  # a dollar in a name is a dollar
LOOK = ["seaborn-v0_8-whitegrid", "seaborn-v0_8-paper", OURS]


def subplots(*shape: int, **setting):
    """A figure and its axes in the style of all figures."""
    plt.style.use(LOOK)
    return plt.subplots(*shape, **setting)


def draw_bars(axis: plt.Axes, table: pd.DataFrame, value: str, label: str) -> None:
    """Grouped bars: data sets along the axis, one bar a system, intervals where the table has them,
    the number above each bar.
    """
    datasets, systems = list(dict.fromkeys(table["dataset"])), list(dict.fromkeys(table["system"]))
    width = 0.8 / max(1, len(systems))
    for position, system in enumerate(systems):
        rows = table[table["system"] == system]
        aside = (position - (len(systems) - 1) / 2) * width
        x = [datasets.index(dataset) + aside for dataset in rows["dataset"]]
        measured = value != "reported"
        errors = [rows["mean"] - rows["low"], rows["high"] - rows["mean"]] if measured else None
        look = {"color": color_of(system), "capsize": 3, "label": system}
        bars = axis.bar(x, rows[value], width * 0.95, yerr=errors, **look)
        axis.bar_label(bars, fmt="%.1f", padding=2, fontsize="x-small")
    axis.set_xticks(range(len(datasets)), [title_of(d) for d in datasets])
    axis.set_ylabel(label)
    axis.margins(y=0.15)
    axis.grid(False, axis="x")


def finish(figure: plt.Figure, axes, title: str) -> plt.Figure:
    """Title above, legend below all panels."""
    figure.suptitle(title, y=1.0)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="lower center", ncols=min(6, len(labels)))
    return figure


def color_of(system: str) -> str:
    """The color of a system's record; black for one whose file is gone."""
    systems = all_systems()
    return systems[system].color if system in systems else "black"


def title_of(dataset: str) -> str:
    """A data set as the papers print its name."""
    datasets = all_datasets()
    return datasets[dataset].title if dataset in datasets else dataset
