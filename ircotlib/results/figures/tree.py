"""Draws a tree of reasoning."""

from collections.abc import Sequence
from textwrap import fill

import matplotlib.pyplot as plt
from matplotlib.patches import Patch

from ircotlib.data import Node
from ircotlib.results.figures import palette
from ircotlib.results.figures.panels import PAGE, finish, subplots
from ircotlib.systems.searchain import COMPLETION, VERIFICATION

FEEDBACK = {  # of a node: its colour and its text in the legend
    "": (palette.PALE, "no feedback"),
    VERIFICATION: (palette.PEACH, "corrected by retrieval"),
    COMPLETION: (palette.SKY, "completed by retrieval"),
}


def draw_tree(nodes: Sequence[Node], title: str) -> plt.Figure:
    """The tree of reasoning of one question (SearChain Figure 1). Each chain is a column, in the
    order of rounds, and begins to the right of and below the node whose feedback it follows. Nodes
    on the correct path have a green frame and their number; nodes that were not compared with a
    passage have a dotted frame.
    """
    rounds = sorted({node.round for node in nodes})
    places = []
    for node in nodes:
        depth = 0 if node.after is None else places[node.after][1] - 1
        places.append((rounds.index(node.round), depth))
    high = 1 - min((y for _, y in places), default=0)
    figure, axis = subplots(figsize=(PAGE, 1 + 0.75 * high))
    letters = int(104 / max(len(rounds), 3))
    for node, place in zip(nodes, places, strict=True):
        mark = f"[{node.mark}] " if node.mark else ""
        extracted = f" (retrieved: {node.found or 'nothing'})" if node.feedback else ""
        lines = mark + node.query, f"→ {node.answer or '?'}{extracted}"
        text = "\n".join(fill(line, letters, max_lines=3) for line in lines)
        box = {"boxstyle": "round", "facecolor": FEEDBACK[node.feedback][0]}
        box |= {"edgecolor": palette.FOREST if node.mark else palette.GREY}
        box |= {"linewidth": 1.5 if node.mark else 0.8, "linestyle": "-" if node.passage else ":"}
        look = {"ha": "center", "va": "center", "fontsize": 7, "zorder": 3}
        axis.text(*place, text, bbox=box, **look)
        if node.after is not None:
            axis.plot(*zip(places[node.after], place, strict=True), color="0.5", zorder=1)
    handles = [Patch(color=color, label=label) for color, label in FEEDBACK.values()]
    frame = {"facecolor": "none", "edgecolor": palette.FOREST, "linewidth": 1.5}
    handles.append(Patch(label="on the correct path", **frame))
    axis.set(xlim=(-0.52, max(1, len(rounds)) - 0.48), ylim=(0.5 - high, 0.5))
    axis.set_axis_off()
    if not nodes:
        axis.text(0, 0, "no query could be read", ha="center")
    return finish(figure, title, handles)
