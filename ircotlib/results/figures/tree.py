"""Draws a tree of reasoning."""

from collections.abc import Sequence
from textwrap import fill

import matplotlib.pyplot as plt

from ircotlib.data import Node
from ircotlib.results.figures import palette
from ircotlib.results.figures.panels import subplots
from ircotlib.systems.searchain.tree import COMPLETION, VERIFICATION

FEEDBACK = {  # kind of feedback -> color of a node that got it, and its text in the legend
    "": (palette.PALE, "passed"),
    VERIFICATION: (palette.PEACH, "corrected by retrieval"),
    COMPLETION: (palette.SKY, "completed by retrieval"),
}


def draw_tree(nodes: Sequence[Node], title: str) -> plt.Figure:
    """The tree of reasoning of one question (SearChain Figure 1). Each chain is a row, in the order
    of rounds, and begins to the right of and below the node whose feedback it follows. Nodes on the
    correct path have a green frame and their number; nodes that were not compared with a passage
    have a dotted frame.
    """
    rounds = sorted({node.round for node in nodes})
    positions = []
    for node in nodes:
        column = 0 if node.after is None else positions[node.after][0] + 1
        positions.append((column, -rounds.index(node.round)))
    wide = max((x for x, _ in positions), default=0) + 1
    high = max(1, len(rounds))
    figure, axis = subplots(figsize=(0.3 + 2.1 * wide, 0.8 + 1.0 * high))
    boxes = []
    for node, position in zip(nodes, positions, strict=True):
        mark = f"[{node.mark}] " if node.mark else ""
        extracted = f" (found: {node.found or 'nothing'})" if node.feedback else ""
        lines = mark + node.query, f"→ {node.answer or '?'}{extracted}"
        text = "\n".join(fill(line, 30, max_lines=2) for line in lines)
        frame = {"boxstyle": "round", "facecolor": FEEDBACK[node.feedback][0]}
        frame |= {"edgecolor": palette.FOREST if node.mark else palette.GREY}
        frame |= {"linewidth": 2 if node.mark else 1, "linestyle": "-" if node.passage else ":"}
        look = {"ha": "center", "va": "center", "fontsize": "small"}
        boxes.append(axis.text(*position, text, bbox=frame, **look).get_bbox_patch())
        if node.after is not None:
            arrow = {"arrowstyle": "-|>", "color": palette.SLATE, "shrinkA": 0, "shrinkB": 0}
            arrow |= {"patchA": boxes[node.after], "patchB": boxes[-1]}
            axis.annotate("", position, positions[node.after], arrowprops=arrow)
    for color, label in dict.fromkeys(FEEDBACK[node.feedback] for node in nodes):
        axis.scatter([], [], color=color, marker="s", label=label)
    axis.set(xlim=(-0.6, wide - 0.4), ylim=(0.6 - high, 0.6))
    axis.set_axis_off()
    if nodes:
        axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3)
    else:
        axis.text(0, 0, "no query could be read", ha="center")
    axis.set_title(title, fontsize="medium")
    return figure
