"""Draws SearChain's tree of reasoning."""

from collections.abc import Sequence
from textwrap import fill

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ircotlib.data import Node
from ircotlib.results.figures import PAGE, Look, finish, subplots
from ircotlib.systems.searchain import COMPLETION, VERIFICATION

FEEDBACK = {  # of a node: its colour, and what is said of it
    "": ("#d5dbe2", ""),
    VERIFICATION: ("#f0c9a4", "corrected"),
    COMPLETION: ("#a9c1e0", "completed"),
}
CORRECT: Look = {"edgecolor": "#2f7d4f", "linewidth": 1.5}  # on the correct path


def draw_tree(nodes: Sequence[Node], title: str) -> Figure:
    """The tree of reasoning of one question (SearChain Figure 1). A chain is a column
    that begins below the node whose feedback it follows. Dotted: nodes that were not
    compared with a passage.
    """
    rounds = sorted({node.round for node in nodes})
    places: list[tuple[int, int]] = []
    for node in nodes:
        y = 0 if node.after is None else places[node.after][1] - 1
        places.append((rounds.index(node.round), y))
    high = 1 - min((y for _, y in places), default=0)
    figure, axis = subplots(figsize=(PAGE, 1 + 0.75 * high))
    letters = int(104 / max(len(rounds), 3))
    for node, (x, y) in zip(nodes, places, strict=True):
        color, _ = FEEDBACK[node.feedback]
        edge = CORRECT if node.mark else {"edgecolor": "0.5", "linewidth": 0.8}
        style = "-" if node.passage else ":"
        box = {"boxstyle": "round", "facecolor": color, "linestyle": style, **edge}
        look = {"ha": "center", "va": "center", "fontsize": 7, "zorder": 3}
        axis.text(x, y, _node_text(node, letters), bbox=box, **look)
        if node.after is not None:
            before_x, before_y = places[node.after]
            axis.plot([before_x, x], [before_y, y], color="0.5", zorder=1)
    path = "on the correct path, whose marks [1] the answer refers to"
    alone = "not compared with a passage"
    handles = [
        Patch(facecolor="none", label=path, **CORRECT),
        Patch(facecolor="none", label=alone, edgecolor="0.5", linestyle=":"),
    ]
    axis.set(xlim=(-0.52, max(1, len(rounds)) - 0.48), ylim=(0.5 - high, 0.5))
    axis.set_axis_off()
    if not nodes:
        axis.text(0, 0, "no query could be read", ha="center")
    return finish(figure, title, handles)


def _node_text(node: Node, letters: int) -> str:
    mark = f"[{node.mark}] " if node.mark else ""
    answer = f"→ {node.answer or '?'}"
    if node.feedback:
        _, feedback = FEEDBACK[node.feedback]
        answer += f" ({feedback}: {node.found or 'nothing'})"
    lines = (mark + node.query, answer)
    return "\n".join(fill(line, letters, max_lines=3) for line in lines)
