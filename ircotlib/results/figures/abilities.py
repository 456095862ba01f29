"""What the simulated reader's plays show: ceilings, and lines with bands."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd

from ircotlib.results.figures import palette, panels

MUSIQUE, OTHERS = palette.BLUE, (palette.ORANGE, palette.GREEN, palette.PLUM)  # lines of data sets


def draw_ceilings(table: pd.DataFrame, title: str) -> plt.Figure:
    """The score of each system on each data set as a heat map, with K below it where it is tuned.
    `table`: columns dataset, system, k (0: not tuned) and mean in percent, in the order drawn.
    """
    import seaborn

    table = panels.with_titles(table)
    systems, datasets = table["system"].unique(), table["dataset"].unique()
    text = table["mean"].map("{:.0f}".format)
    text += table["k"].map(lambda k: f"  (K {k:.0f})" if k else "")
    cells = table.assign(text=text).pivot(index="system", columns="dataset")
    heat, texts = (cells[name].loc[systems, datasets] for name in ("mean", "text"))
    figure, axis = panels.subplots(figsize=(2.4 + 0.95 * len(datasets), 1 + 0.27 * len(systems)))
    look = {"cmap": "Blues", "vmin": 0, "vmax": 180, "cbar": False, "linewidths": 1}
    look |= {"annot": texts, "fmt": "", "annot_kws": {"color": "black", "fontsize": "small"}}
    seaborn.heatmap(heat, ax=axis, **look)
    axis.set(xlabel="", ylabel="")
    axis.tick_params(length=0, rotation=0)
    axis.xaxis.tick_top()
    return panels.finish(figure, title)


def draw_settings(table: pd.DataFrame, title: str) -> plt.Figure:
    """The score against single settings, one panel each, with a line per data set; dotted: what the
    paper has. `table`: columns panel, at, x, dataset, and mean, low, high in percent.
    """
    table = panels.with_titles(table)
    hues = dict(zip(table["dataset"].unique(), (MUSIQUE, *OTHERS)))
    look = {"across": 5, "size": (1.9, 1.7), "ticked": table["panel"].unique()}
    return draw_bands(table, "dataset", hues, title, **look)


def draw_abilities(
    table: pd.DataFrame, title: str, crossings: pd.DataFrame | None = None, **look: object
) -> plt.Figure:
    """The score against one quantity in each panel, with a line per system; dotted: what it is in
    the other panels; rings: those of `crossings` (columns panel, x, y, leads) that change the lead.
    `table`: columns panel, at, x, system, and mean, low, high in percent.
    """
    hues = panels.colors_of(table["system"])
    return draw_bands(table, "system", hues, title, crossings, **look)


def draw_bands(
    table: pd.DataFrame,
    line: str,
    hues: dict[str, str],
    title: str,
    crossings: pd.DataFrame | None = None,
    across: int = 4,
    size: tuple[float, float] = (2.3, 2.2),
    ticked: Sequence[str] = (),
    log: Sequence[str] = (),
) -> plt.Figure:
    """Lines of means with bands of their intervals, one panel per value of `panel`. Every other
    line is dashed, so that one below it is seen. `ticked`: the panels whose x axis has a tick at
    each value; `log`: those of them with a logarithmic one. `size`: of a panel.
    """
    dashes = {name: (3, 1.5) if n % 2 else "" for n, name in enumerate(hues)}

    def draw(rows, axis):
        look = {"hue": line, "palette": hues, "markersize": 4, "err_kws": {"linewidth": 0}}
        look |= {"style": line, "dashes": dashes, "markers": dict.fromkeys(hues, "o")}
        panels.draw_means("lineplot", rows, axis, x="x", y="value", **look)
        panel = rows["panel"].iloc[0]
        xs = sorted(rows["x"].unique())
        for at in rows["at"].dropna().unique():
            axis.axvline(at, color=palette.SLATE, linestyle=":", linewidth=1.2, zorder=0)
        if crossings is not None:
            here = crossings[(crossings["panel"] == panel) & crossings["leads"]]
            ring = {"s": 80, "facecolor": "none", "edgecolor": "black", "linewidth": 1.1}
            axis.scatter(here["x"], here["y"], zorder=5, **ring)
        axis.set(xlabel="", ylabel="right, %", ylim=(-2, 103))
        if panel in log:
            axis.set_xscale("log")
        if panel in ticked:
            axis.set_xticks(xs, map("{:g}".format, xs))
            axis.minorticks_off()

    return panels.draw_panels(table, "panel", draw, title, *size, across, sharey=True)
