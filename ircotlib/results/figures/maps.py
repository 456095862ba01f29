"""A map of cells: the score of every setting that was tried."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ircotlib.results.figures.panels import finish, make_panels
from ircotlib.results.shown import title_of


def draw_tuning(table: pd.DataFrame, title: str) -> plt.Figure:
    """The mean of each setting on the dev questions, one panel per system and data set, on one
    scale of colours. A frame marks the best setting, the first of equals (IRCoT §4.1). If further
    parameters were tuned, a cell has the best of their values. `table`: columns dataset, system, k,
    m (empty if it is not tuned), and value in percent.
    """
    panel = table["system"] + "\n" + table["dataset"].map(title_of)
    table = table.assign(panel=panel).fillna({"m": 0})
    across = min(4, table["dataset"].nunique())
    figure, panels = make_panels(table, "panel", 1.1, across)
    for axis, rows in panels:
        heat = rows.pivot_table("value", "m", "k", aggfunc="max")[::-1]  # the larger M above
        axis.imshow(heat, cmap="Blues", vmin=0, vmax=180, aspect="auto")
        for (y, x), value in np.ndenumerate(heat):
            axis.text(x, y, f"{value:.1f}", ha="center", va="center", fontsize=7)
        axis.set_xticks(range(len(heat.columns)), [f"{k:g}" for k in heat.columns])
        axis.set_yticks(range(len(heat)), [f"{m:g}" if m else "–" for m in heat.index])
        best = rows.loc[rows["value"].idxmax()]
        x, y = heat.columns.get_loc(best["k"]), heat.index.get_loc(best["m"])
        frame = {"fill": False, "edgecolor": "black", "linewidth": 1.5, "clip_on": False}
        axis.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, **frame))
        axis.grid(False)
        axis.spines[:].set_visible(False)
        axis.set(xlabel="K", ylabel="M")
    return finish(figure, title)
