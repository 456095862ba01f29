"""What all figures share: style, grouped bars, titles and legends; and trees of reasoning."""

from collections.abc import Sequence
from textwrap import fill

import matplotlib.pyplot as plt
import pandas as pd

from ircotlib.data import Node
from ircotlib.datasets import all_datasets
from ircotlib.systems import all_systems
from ircotlib.systems.searchain.tree import COMPLETION, VERIFICATION

FEEDBACK = {  # kind of feedback -> color of a node that got it, and its text in the legend
    "": ("#d5dbe2", "passed"),
    VERIFICATION: ("#e9b48a", "corrected by retrieval"),
    COMPLETION: ("#a9c1e0", "completed by retrieval"),
}
OURS = {"font.sans-serif": ["DejaVu Sans"], "lines.markeredgewidth": 1}
OURS["text.parse_math"] = False  # a dollar sign in a name is not a formula
LOOK = ["seaborn-v0_8-whitegrid", "seaborn-v0_8-paper", OURS]


def subplots(*shape: int, **setting):
    """A figure and its axes in the style of all figures."""
    plt.style.use(LOOK)
    return plt.subplots(*shape, **setting)


def draw_bars(axis: plt.Axes, table: pd.DataFrame, value: str, label: str) -> None:
    """Draw grouped bars: data sets along the axis, one bar per system, the value above each bar,
    with intervals if `value` is not "reported".
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
    """Put a title above all panels and a legend below them."""
    figure.suptitle(title, y=1.0)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="lower center", ncols=min(6, len(labels)))
    return figure


def color_of(system: str) -> str:
    """The color in a system's record; black if its file is gone."""
    systems = all_systems()
    return systems[system].color if system in systems else "black"


def title_of(dataset: str) -> str:
    """The name of a data set as the papers print it."""
    datasets = all_datasets()
    return datasets[dataset].title if dataset in datasets else dataset


def draw_tree(nodes: Sequence[Node], title: str) -> plt.Figure:
    """Draw the tree of reasoning of one question (SearChain Figure 1).

    Each chain is a row, in the order of rounds, and begins to the right of and below the node whose
    feedback it follows. Nodes on the correct path have a green frame and their number; nodes that
    were not compared with a passage have a dotted frame.
    """
    columns = [0] * len(nodes)
    for place, node in enumerate(nodes):
        columns[place] = 0 if node.after is None else columns[node.after] + 1
    rounds = sorted({node.round for node in nodes})
    places = [(x, -rounds.index(node.round)) for x, node in zip(columns, nodes, strict=True)]
    wide, high = max(columns, default=0) + 1, max(1, len(rounds))
    figure, axis = subplots(figsize=(0.6 + 2.6 * wide, 1.2 + 1.3 * high))
    for node, place in zip(nodes, places, strict=True):
        if node.after is not None:
            axis.annotate("", place, places[node.after], arrowprops={"arrowstyle": "-|>"}, zorder=0)
        _draw_node(axis, node, place)
    for feedback in dict.fromkeys(node.feedback for node in nodes):
        color, label = FEEDBACK[feedback]
        axis.scatter([], [], color=color, marker="s", label=label)
    axis.set(xlim=(-0.6, wide - 0.4), ylim=(0.6 - high, 0.6))
    axis.set_axis_off()
    if not nodes:
        axis.text(0, 0, "no query could be read", ha="center")
    else:
        axis.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    axis.set_title(title, fontsize="medium")
    return figure


def _draw_node(axis: plt.Axes, node: Node, place: tuple[float, float]) -> None:
    mark = f"[{node.mark}] " if node.mark else ""
    found = f" (found: {node.found or 'nothing'})" if node.feedback else ""
    lines = mark + node.query, f"→ {node.answer or '?'}{found}"
    text = "\n".join(fill(line, 30, max_lines=2) for line in lines)
    look = {"boxstyle": "round", "facecolor": FEEDBACK[node.feedback][0]}
    look |= {"edgecolor": "#2f7d4f" if node.mark else "#9aa5b1"}
    look |= {"linewidth": 2 if node.mark else 1, "linestyle": "-" if node.passage else ":"}
    how = {"ha": "center", "va": "center", "fontsize": "small", "parse_math": False}
    axis.text(*place, text, bbox=look, **how)
