"""Maps of cells: which system answers best with which reader, settings, ceilings, and what parts
are worth; and what was predicted of systems.
"""

from collections.abc import Sequence
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from ircotlib.results.figures import palette, panels

OUTLINED = [withStroke(linewidth=2.5, foreground="white")]
LABEL = {"fontsize": 7.5, "fontweight": "bold", "path_effects": OUTLINED, "zorder": 6}


def draw_map(table: pd.DataFrame, readers: pd.DataFrame, title: str) -> plt.Figure:
    """Each view of a map, the first one large: a cell has the colours of all systems that lead
    there, the score of the best one and, below, how far ahead it is of those that do not lead.

    `table`: of `abilities.map.map_systems`. `readers`: of `abilities.known_readers.read_readers`;
    each is a point in a field between the ends of its rates.
    """
    names = list(dict.fromkeys(table["map"]))
    colors = palette.colors_of(table["system"].unique())
    across = min(3, len(names) - 1) or 1
    small = [*names[1:], *["."] * (-(len(names) - 1) % across)]  # "." is no panel
    rows = [[names[0]] * across, *(small[n : n + across] for n in range(0, len(small), across))]
    shape = {"figsize": (panels.PAGE, 2.6 + 1.9 * len(rows))}
    shape["height_ratios"] = [2, *[1] * (len(rows) - 1)]
    panels.set_style()
    figure, axes = plt.subplot_mosaic(rows, layout="constrained", **shape)
    for name, axis in axes.items():
        _draw_cells(axis, table[table["map"] == name], colors, is_large=name == names[0])
        axis.set_title(fill(name, 24))
    axes[names[0]].set(xlabel="facts known by heart, %", ylabel="facts in passages misread, %")
    _draw_readers(axes[names[0]], readers)
    handles = [Patch(color=color, label=name) for name, color in colors.items()]
    key = "a cell: all systems that may be the best; the best score (and its lead over the others)"
    return panels.finish(figure, f"{title}\n{key}", handles)


def _draw_cells(axis: plt.Axes, rows: pd.DataFrame, colors: dict[str, str], is_large: bool) -> None:
    xs, ys = (sorted(100 * rows[name].unique()) for name in ("knows", "misreads"))
    width, height = xs[1] - xs[0], ys[1] - ys[0]
    for (knows, misreads), cell in rows.groupby(["knows", "misreads"]):
        left, low = 100 * knows - width / 2, 100 * misreads - height / 2
        leading = cell[cell["leads"]]
        others = cell[~cell["leads"]]
        stripe = width / len(leading)
        for n, system in enumerate(leading["system"]):
            place = (left + n * stripe, low), stripe, height
            axis.add_patch(Rectangle(*place, color=colors[system], linewidth=0))
        axis.add_patch(Rectangle((left, low), width, height, fill=False, edgecolor="white"))
        text = f"{cell['mean'].max():.0f}"
        if len(others) and is_large:
            text += f" (+{others['behind'].min():.0f})"
        box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.8}
        look = {"ha": "center", "va": "bottom", "fontsize": 7, "bbox": box}
        axis.text(100 * knows, low + height / 12, text, **look)
    axis.set(xlim=(xs[0] - width / 2, xs[-1] + width / 2), xticks=xs)
    axis.set(ylim=(ys[0] - height / 2, ys[-1] + height / 2), yticks=ys)
    axis.xaxis.set_major_formatter("{x:.0f}")
    axis.yaxis.set_major_formatter("{x:.0f}")
    axis.grid(False)


def _draw_readers(axis: plt.Axes, readers: pd.DataFrame) -> None:
    """Each reader whose rates are known, with its name, on a map in percent."""
    rates = readers.columns[readers.columns.str.startswith(("knows", "misreads"))]
    readers = readers.assign(**(100 * readers[rates].astype(float))).dropna(subset=rates)
    for number, (_, row) in enumerate(readers.iterrows()):
        left, right = row["knows_low"], row["knows_high"]
        low, high = row["misreads_low"], row["misreads_high"]
        field = {"fill": False, "edgecolor": "black", "path_effects": OUTLINED, "zorder": 5}
        axis.add_patch(Rectangle((left, low), right - left, high - low, **field))
        spot = row["knows"], row["misreads"]
        axis.scatter(*spot, s=36, color="black", edgecolor="white", zorder=6)
        side, shift = ("right", (-7, 3)) if number % 2 else ("left", (7, 3))  # neighbours part
        text = {"xytext": shift, "textcoords": "offset points", "ha": side} | LABEL
        axis.annotate(row["reader"], spot, **text)


def draw_parts(table: pd.DataFrame, title: str) -> plt.Figure:
    """What each part of each system is worth, one panel per way to handle what is not known, with
    readers to the right and parts downwards. Differences that may be chance are grey.

    `table`: of `abilities.parts.weigh_parts`.
    """
    import seaborn

    table = table.assign(label=table["system"] + ": " + table["part"])
    table["sure"] = (table["low"] > 0) | (table["high"] < 0)
    parts = table.drop_duplicates("label")
    labels, tempers, readers = (table[name].unique() for name in ("label", "temper", "reader"))
    shape = {"figsize": (panels.PAGE, len(tempers) * (0.9 + 0.17 * len(labels))), "sharex": True}
    figure, axes = panels.subplots(len(tempers), 1, squeeze=False, **shape)
    for axis, temper in zip(axes.flat, tempers, strict=True):
        cells = table[table["temper"] == temper].pivot(index="label", columns="reader")
        heat, sure = (cells[name].loc[labels, readers] for name in ("worth", "sure"))
        text = heat.map(lambda worth: f"{worth:+.0f}" if round(worth) else "0")
        look = {"cmap": "PuOr", "vmin": -90, "vmax": 90, "cbar": False, "linewidths": 1, "fmt": ""}
        look["annot_kws"] = {"fontsize": 7}
        seaborn.heatmap(heat.where(sure, 0), annot=text, ax=axis, **look)
        for label, is_sure in zip(axis.texts, sure.to_numpy().ravel(), strict=True):
            label.set_color(label.get_color() if is_sure else palette.GREY)
        changes = parts["system"].ne(parts["system"].shift()).to_numpy().nonzero()[0]
        axis.hlines(changes[1:], 0, len(heat.columns), color="black", linewidth=0.8)
        axis.set_xticklabels([fill(reader, 16) for reader in heat.columns])
        axis.set(title=f"a reader that {temper} if it does not know", xlabel="", ylabel="")
        axis.tick_params(rotation=0)
    return panels.finish(figure, f"{title} (grey: may be chance)")


def draw_ceilings(table: pd.DataFrame, title: str) -> plt.Figure:
    """The score of each system on each data set as a heat map, with K beside it where it is tuned.
    `table`: columns dataset, system, k (0: not tuned) and mean in percent, in the order drawn.
    """
    import seaborn

    table = panels.with_titles(table)
    systems, datasets = table["system"].unique(), table["dataset"].unique()
    text = table["mean"].map("{:.0f}".format)
    text += table["k"].map(lambda k: f" (K {k:.0f})" if k else "")
    cells = table.assign(text=text).pivot(index="system", columns="dataset")
    heat, texts = (cells[name].loc[systems, datasets] for name in ("mean", "text"))
    figure, axis = panels.subplots(figsize=(panels.PAGE, 0.8 + 0.18 * len(systems)))
    look = {"cmap": "Blues", "vmin": 0, "vmax": 180, "cbar": False, "linewidths": 1}
    look |= {"annot": texts, "fmt": "", "annot_kws": {"color": "black", "fontsize": 7}}
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


def draw_predicted(table: pd.DataFrame, ways: Sequence[str], title: str) -> plt.Figure | None:
    """Each system's predicted against its measured score in each data set, one panel per way of
    predicting, a column of the table; None if there is no row. The three systems that are predicted
    worst on average stand out, with their mean error in points.
    """
    if table.empty:
        return panels.draw_nothing(title)
    shape = {"figsize": (panels.PAGE, 3.1), "sharey": True, "squeeze": False}
    figure, [axes] = panels.subplots(1, len(ways), **shape)
    for axis, way in zip(axes, ways, strict=True):
        errors = (table[way] - table["measured"]).groupby(table["system"]).mean()
        worst = palette.colors_of(errors.sort_values(key=abs, ascending=False).index[:3])
        rest = table[~table["system"].isin(worst)]
        axis.plot([0, 100], [0, 100], color=palette.GREY, linewidth=1, zorder=0)
        axis.scatter(rest["measured"], rest[way], s=6, color=palette.FAINT, linewidth=0)
        for shape, (name, color) in zip("os^", worst.items(), strict=False):
            look = {"color": color, "markersize": 4.5}
            for row in table[table["system"] == name].to_dict("records"):
                said = f"{name}, {row['dataset']}: {row['measured']:.1f}, predicted {row[way]:.1f}"
                panels.mark(axis, row["measured"], row[way], said, shape, **look)
            axis.plot([], [], shape, label=f"{name}: {errors[name]:+.0f}", **look)
        axis.legend(loc="upper left", bbox_to_anchor=(0, -0.22), frameon=False, borderpad=0)
        axis.set(
            xlabel="measured, %",
            xlim=(-2, 102),
            ylim=(-2, 102),
            title=way,
            aspect="equal",
            anchor="N",
        )
    axes[0].set_ylabel("predicted, %")
    return panels.finish(figure, title)
