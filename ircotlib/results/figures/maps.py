"""Maps of cells: which system answers best with which reader, settings, ceilings, and what parts
are worth; and what was predicted of systems.
"""

from collections.abc import Mapping
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patheffects import withStroke

from ircotlib.results.figures import palette, panels
from ircotlib.results.statistics import LEVEL

OUTLINED = [withStroke(linewidth=2.5, foreground="white")]
LABEL = {"fontsize": 7.5, "fontweight": "bold", "path_effects": OUTLINED, "zorder": 6}


def draw_map(table: pd.DataFrame, always: str, words: Mapping[str, str], title: str) -> plt.Figure:
    """Which system is best with which reader, one panel per map: regions with the name of the best,
    coloured by the points that are lost by choosing the system `always` everywhere; a dot where
    another one may be the best. `words`: what regions are called, if not as their system.

    `table`: of `abilities.map.map_systems`.
    """
    names = list(dict.fromkeys(table["map"]))
    shape = {"figsize": (panels.PAGE, 3.3), "sharey": True, "squeeze": False}
    figure, [axes] = panels.subplots(1, len(names), **shape)
    for axis, name in zip(axes, names, strict=True):
        rows = table[table["map"] == name].assign(
            knows=100 * table["knows"], misreads=100 * table["misreads"]
        )
        cells = rows.pivot(index=["misreads", "knows"], columns="system")
        means, best = cells["mean"], cells["mean"].idxmax(axis=1)
        lost = (means.max(axis=1) - means[always]).unstack("knows")
        look = {"shading": "nearest", "cmap": "Oranges", "vmin": 0, "vmax": 60, "linewidth": 0}
        mesh = axis.pcolormesh(lost.columns, lost.index, lost, rasterized=True, **look)
        _draw_regions(axis, best.unstack("knows"), words)
        may_be = cells["p"].ge(LEVEL).sum(axis=1) > 1
        ys, xs = zip(*may_be[may_be].index, strict=True) if may_be.any() else ((), ())
        axis.scatter(xs, ys, s=2, color=palette.GREY, linewidth=0)
        axis.set(title=fill(name, 24), xlabel="facts known by heart, %", xticks=lost.columns)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.grid(False)
    axes[0].set_ylabel("facts in passages misread, %")
    label = f"points that “{words.get(always, always)}” loses"
    figure.colorbar(mesh, ax=axes, label=label, aspect=30)
    return panels.finish(figure, f"{title} (dots: another one may be the best)")


def _draw_regions(axis: plt.Axes, best: pd.DataFrame, words: Mapping[str, str]) -> None:
    """The borders between cells whose best systems differ, and the name of each in the middle of
    its long rows.
    """
    xs, ys = (np.array(ends, dtype=float) for ends in (best.columns, best.index))
    x_ends, y_ends = (np.append(v - np.diff(v)[0] / 2, v[-1] + np.diff(v)[0] / 2) for v in (xs, ys))
    values = best.to_numpy()
    for y, x in np.argwhere(values[:, 1:] != values[:, :-1]):
        axis.plot([x_ends[x + 1]] * 2, y_ends[y : y + 2], color="black", linewidth=1.2)
    for y, x in np.argwhere(values[1:] != values[:-1]):
        axis.plot(x_ends[x : x + 2], [y_ends[y + 1]] * 2, color="black", linewidth=1.2)
    for system in dict.fromkeys(values.ravel()):
        rows = [(xs[row == system], y) for row, y in zip(values, ys, strict=True)]
        most = max(len(row) for row, _ in rows)
        long = [(row.mean(), y) for row, y in rows if len(row) > most / 2]
        x, y = long[len(long) // 2]
        text = fill(words.get(system, system), max(10, 4 * most))
        axis.text(x, y, text, ha="center", va="center", **LABEL)


def draw_gains(
    table: pd.DataFrame, row: str, column: str, title: str, panel: str = ""
) -> plt.Figure:
    """What changes are worth, in points: a heat map with a row and a column for each value of these
    columns, in their order, and one below the other for each value of `panel`, if there is one.
    What may be chance is grey. `table`: of `abilities.simulation.weigh`.
    """
    import seaborn

    table = table.assign(sure=(table["low"] > 0) | (table["high"] < 0))
    rows, columns = (list(dict.fromkeys(table[name])) for name in (row, column))
    parts = list(table.groupby(panel, sort=False)) if panel else [("", table)]
    height = len(parts) * (0.75 + 0.17 * len(rows))
    shape = {"figsize": (panels.PAGE, height), "squeeze": False, "sharex": True}
    figure, axes = panels.subplots(len(parts), 1, **shape)
    for axis, (name, part) in zip(axes.flat, parts, strict=True):
        cells = part.pivot(index=row, columns=column).reindex(rows)
        heat, sure = (cells[of].reindex(columns=columns) for of in ("gain", "sure"))
        text = heat.map(lambda gain: "" if np.isnan(gain) else f"{gain:+.0f}".replace("-0", "0"))
        text = text.replace("+0", "0")
        look = {"cmap": "PuOr", "vmin": -90, "vmax": 90, "cbar": False, "linewidths": 1, "fmt": ""}
        look["annot_kws"] = {"fontsize": 7}
        shown = heat.where(sure.eq(True), 0).where(heat.notna())
        seaborn.heatmap(shown, annot=text, ax=axis, **look)
        for label, is_sure in zip(axis.texts, sure.to_numpy()[heat.notna()], strict=True):
            label.set_color(label.get_color() if is_sure else palette.GREY)
        axis.set_xticklabels([fill(name, 90 // len(columns)) for name in columns])
        axis.set(title=name, xlabel="", ylabel="")
        axis.tick_params(rotation=0)
        axis.grid(False)
    return panels.finish(figure, f"{title} (grey: may be chance)")


def draw_ceilings(table: pd.DataFrame, title: str) -> plt.Figure:
    """The score of each system on each data set as a heat map. `table`: columns dataset, system and
    mean in percent, in the order drawn.
    """
    import seaborn

    table = panels.with_titles(table)
    systems, datasets = table["system"].unique(), table["dataset"].unique()
    heat = table.pivot(index="system", columns="dataset", values="mean").loc[systems, datasets]
    figure, axis = panels.subplots(figsize=(panels.PAGE, 0.8 + 0.18 * len(systems)))
    look = {"cmap": "Blues", "vmin": 0, "vmax": 180, "cbar": False, "linewidths": 1}
    look |= {"annot": True, "fmt": ".0f", "annot_kws": {"color": "black", "fontsize": 7}}
    seaborn.heatmap(heat, ax=axis, **look)
    axis.set(xlabel="", ylabel="")
    axis.set_xticklabels([fill(name, 11) for name in datasets])
    axis.tick_params(length=0, rotation=0)
    axis.xaxis.tick_top()
    return panels.finish(figure, title)


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


def draw_predicted(pairs: pd.DataFrame, way: str, none: str, title: str) -> plt.Figure:
    """What the column `way` predicts of the difference between two systems against what was
    measured, one panel per reader; above it, by how many points it is off on average, and by how
    many `none`, a column that predicts no difference. `pairs`: of `predictions.pair_systems`.
    """
    readers = list(pairs.groupby("reader", sort=False))
    shape = {"figsize": (panels.PAGE, 2.3), "sharey": True, "squeeze": False}
    figure, [axes] = panels.subplots(1, len(readers), **shape)
    for axis, (reader, rows) in zip(axes, readers, strict=True):
        off, off_none = ((rows[name] - rows["measured"]).abs().mean() for name in (way, none))
        color = palette.colors_of(["IRCoT QA"])["IRCoT QA"]
        look = {"s": 5, "color": color, "linewidth": 0, "alpha": 0.5, "rasterized": True}
        axis.plot([-100, 100], [-100, 100], color=palette.GREY, linewidth=1, zorder=0)
        axis.scatter(rows["measured"], rows[way], **look)
        axis.set(title=f"{reader}\noff by {off:.0f}; none: {off_none:.0f}", xlabel="measured")
        axis.set(xlim=(-100, 100), ylim=(-100, 100), xticks=(-50, 0, 50), aspect="equal")
    axes[0].set_ylabel("predicted, points")
    return panels.finish(figure, title)
