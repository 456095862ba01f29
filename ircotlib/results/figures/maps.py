"""Maps of cells: the score of every setting that was tried."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ircotlib.results.figures import panels


def draw_tuning(
    table: pd.DataFrame, title: str, chosen: pd.DataFrame | None = None
) -> plt.Figure | None:
    """The mean of each setting on the dev questions, one panel per data set and system, with K to
    the right and M upwards, on one scale of colours. A frame marks the best setting, the first of
    equals (IRCoT §4.1). If further parameters were tuned, a cell has the best of their values.
    `table`: columns dataset, system, k, m, and value in percent; m is empty if it is not tuned.
    `chosen`: from `analysis.name_edges`; panels whose best value is on an edge say so.
    """
    if table.empty:
        return panels.draw_nothing(title)
    panel = table["system"] + "\n" + panels.with_titles(table)["dataset"]
    if chosen is not None:
        keys = ["dataset", "system"]
        edges = table[keys].merge(chosen, "left", keys)["edge"].fillna("").str.upper()
        panel += [f", edge: {edge}" if edge else "" for edge in edges]
    table = table.assign(panel=panel).fillna({"k": 0, "m": 0})

    def draw(rows, axis):
        heat = rows.pivot_table("value", "m", "k", aggfunc="max")[::-1]
        # seaborn's heatmap draws the whole figure once for each of its panels
        axis.pcolormesh(heat, cmap="Blues", vmin=0, vmax=180)
        axis.invert_yaxis()
        for (y, x), value in np.ndenumerate(heat):
            if value == value:  # tried
                look = {"color": "black", "ha": "center", "va": "center", "fontsize": 7}
                axis.text(x + 0.5, y + 0.5, f"{value:.1f}", **look)
        for ticks, on in ((axis.set_xticks, heat.columns), (axis.set_yticks, heat.index)):
            ticks(np.arange(len(on)) + 0.5, [f"{x:.0f}" if x else "–" for x in on])
        axis.grid(False)
        for spine in axis.spines.values():
            spine.set_visible(False)
        best = rows.loc[rows["value"].idxmax()]
        corner = heat.columns.get_loc(best["k"]), heat.index.get_loc(best["m"])
        frame = {"fill": False, "edgecolor": "black", "linewidth": 1.5, "clip_on": False}
        axis.add_patch(plt.Rectangle(corner, 1, 1, **frame))
        axis.set(xlabel="", ylabel="")
        axis.tick_params(rotation=0)

    across = min(4, table["dataset"].nunique())
    title += " (to the right: K, paragraphs of a retrieval; upwards: M, distractors shown)"
    return panels.draw_panels(table, "panel", draw, title, 1, across, panels.PAGE)
