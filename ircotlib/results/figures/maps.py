"""Draws which system answers best with which reader, and what each part of a system is worth."""

from textwrap import fill

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from ircotlib.results.figures import palette, panels

OUTLINED = [withStroke(linewidth=2.5, foreground="white")]
LABEL = {"fontsize": "medium", "fontweight": "bold", "path_effects": OUTLINED, "zorder": 6}


def draw_map(table: pd.DataFrame, readers: pd.DataFrame, title: str) -> plt.Figure:
    """Each view of a map, the first one large: a cell has the colours of all systems that lead
    there, the score of the best one and, below, how far ahead it is of those that do not lead.

    `table`: of `abilities.map.map_systems`. `readers`: of `abilities.known_readers.read_readers`;
    each is a point in a field between the ends of its rates.
    """
    names = list(dict.fromkeys(table["map"]))
    colors = panels.colors_of(table["system"].unique())
    across = len(names) // 2
    small = [*names[1:], "."]  # "." is no panel
    rows = [names[0], *small[:across]], [names[0], *small[across : 2 * across]]
    shape = {"figsize": (7.5 + 2.4 * across, 6.2), "width_ratios": [2.7, *[1] * across]}
    panels.set_style()
    figure, axes = plt.subplot_mosaic(rows, layout="constrained", **shape)
    for name, axis in axes.items():
        _draw_cells(axis, table[table["map"] == name], colors, is_large=name == names[0])
        axis.set_title(name, fontsize="medium")
    axes[names[0]].set(xlabel="facts known by heart, %", ylabel="facts in passages misread, %")
    _draw_readers(axes[names[0]], readers)
    handles = [Patch(color=color, label=name) for name, color in colors.items()]
    key = "a cell: all systems that may be the best; the best score (and its lead over the others)"
    look = {"ncols": len(colors), "frameon": False, "title": key}
    figure.legend(handles=handles, loc="outside lower center", **look)
    figure.suptitle(title)
    return figure


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
        look = {"ha": "center", "va": "bottom", "color": "white", "fontsize": "small"}
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
    shape = {"figsize": (3 + 5 * len(tempers), 1.6 + 0.32 * len(labels)), "sharey": True}
    figure, axes = panels.subplots(1, len(tempers), squeeze=False, **shape)
    for axis, temper in zip(axes.flat, tempers, strict=True):
        cells = table[table["temper"] == temper].pivot(index="label", columns="reader")
        heat, sure = (cells[name].loc[labels, readers] for name in ("worth", "sure"))
        text = heat.map(lambda worth: f"{worth:+.0f}" if round(worth) else "0")
        look = {"cmap": "RdBu", "vmin": -90, "vmax": 90, "cbar": False, "linewidths": 1, "fmt": ""}
        seaborn.heatmap(heat.where(sure, 0), annot=text, ax=axis, **look)
        for label, is_sure in zip(axis.texts, sure.to_numpy().ravel(), strict=True):
            label.set_color(label.get_color() if is_sure else palette.GREY)
        changes = parts["system"].ne(parts["system"].shift()).to_numpy().nonzero()[0]
        axis.hlines(changes[1:], 0, len(heat.columns), color="black", linewidth=1)
        axis.set_xticklabels([fill(reader, 14) for reader in heat.columns])
        axis.set(title=f"a reader that {temper} if it does not know", xlabel="", ylabel="")
        axis.tick_params(rotation=0)
    figure.supxlabel("grey: may be chance", fontsize="medium")
    figure.suptitle(title)
    return figure
