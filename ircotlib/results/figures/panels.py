"""What all figures share: sizes for print, one panel per group of rows, marks, and their files."""

import re
from collections.abc import Callable, Iterable
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.artist import Artist

from ircotlib.datasets import all_datasets
from ircotlib.files.paths import figure_path, write_partial
from ircotlib.files.tables import write_table
from ircotlib.parameters import Parameters

COLUMN, PAGE = 3.3, 6.3  # inches: how wide a column and a page of a paper are
SIZES = {"font.size": 7.5, "axes.titlesize": 8, "axes.labelsize": 7.5, "xtick.labelsize": 7}
SIZES |= {"ytick.labelsize": 7, "legend.fontsize": 7, "figure.titlesize": 9}  # points
SIZES |= {"xtick.major.pad": 2, "ytick.major.pad": 2, "axes.labelpad": 2, "axes.titlepad": 4}
SIZES |= {"legend.title_fontsize": 7}
SIZES |= {"grid.linewidth": 0.5, "axes.linewidth": 0.6, "lines.linewidth": 1.2}
STYLE = {"text.parse_math": False, "font.sans-serif": ["DejaVu Sans", "Verdana"]}  # "$": no formula
STYLE |= {
    "axes.titlelocation": "left",
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "ircotlib",
} | SIZES
BARE = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # no metadata
MADE = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": BARE}
MARK = r"""<g id=(["'])title: (.*?)\1>"""  # of the SVG
HOLLOW = {"markerfacecolor": "none", "markeredgecolor": "black", "markeredgewidth": 0.8}


def subplots(*shape: int, **settings):
    """A figure and its axes in the style of all figures."""
    set_style()
    return plt.subplots(*shape, layout="constrained", **settings)


def set_style() -> None:
    """Set the style of all figures, for those that are made next."""
    import seaborn  # takes a second

    seaborn.set_theme("paper", "whitegrid", rc=STYLE)


def draw_panels(
    table: pd.DataFrame,
    by: str,
    draw: Callable,
    title: str,
    height: float,
    across: int = 4,
    width: float = 0,
    **look,
) -> plt.Figure | None:
    """One panel per value of the column `by`, at most `across` side by side, with the value above
    it; `draw(rows, axis)` draws its rows, with the names of data sets as the papers print them.
    `height`: of a panel; `width`: of the figure, or else COLUMN for one panel and PAGE for more,
    in inches. `look`: as of `plt.subplots`. None if there is no row (`draw_nothing`), as for all
    functions that draw by this one.
    """
    if table.empty:
        return draw_nothing(title)
    table = with_titles(table)
    names = list(dict.fromkeys(table[by]))
    across = min(across, len(names))
    down = -(-len(names) // across)
    shape = {"figsize": (width or (COLUMN if len(names) == 1 else PAGE), height * down + 0.3)}
    figure, axes = subplots(down, across, squeeze=False, **shape, **look)
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_title(name)
        draw(table[table[by] == name], axis)
    for axis in axes[:, 1:].flat:
        axis.set_ylabel("")
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    return finish(figure, title)


def draw_nothing(title: str) -> None:
    """Say, in one line, that there is nothing of which a figure could be made."""
    print(f"nothing to draw: {title.splitlines()[0]}")


def finish(figure: plt.Figure, title: str, handles: Iterable[Artist] = ()) -> plt.Figure:
    """Put a title above all panels, and below them a legend of these handles, if any; part the
    names at the ends of lines.
    """
    is_wide = figure.get_figwidth() > COLUMN
    lines = [fill(line, 88 if is_wide else 44) for line in title.splitlines()]
    figure.suptitle("\n".join(lines), x=0.01, ha="left")
    if handles := list(handles):
        rows = -(-len(handles) // 4)
        _make_room(figure, 0.16 * rows + 0.05)
        look = {"loc": "lower center", "bbox_to_anchor": (0.5, 0), "frameon": False}
        figure.legend(handles=handles, ncols=-(-len(handles) // rows), **look)
    ends = {axis: [t for t in axis.texts if t.get_gid() == "end"] for axis in figure.axes}
    if any(ends.values()):
        figure.draw_without_rendering()  # only then are panels as high as they will be
    for axis, names in ends.items():
        part(names, axis)
    return figure


def part(texts: list[plt.Text], axis: plt.Axes) -> None:
    """Move texts up and down, as little as needed, until no two overlap, and beside their panel."""
    from scipy.optimize import isotonic_regression

    texts.sort(key=lambda text: text.xy[1])
    place, height = axis.transData, 1.25 * axis.figure.dpi / 72 * SIZES["legend.fontsize"]
    at = np.array([place.transform((0, text.xy[1]))[1] for text in texts])
    steps = height * np.arange(len(texts))
    low, high = axis.get_window_extent().intervaly
    parted = isotonic_regression(at - steps).x + steps if texts else at
    parted = np.clip(parted, low + steps, high - height / 2 - steps[::-1])
    for text, old, new in zip(texts, at, parted, strict=True):
        text.set_position((text.get_position()[0], (new - old) * 72 / axis.figure.dpi))


def name_end(axis: plt.Axes, name: str, y: float, color: str) -> None:
    """Write the name of a line beside the panel, where the line ends."""
    look = {"textcoords": "offset points", "va": "center", "fontsize": SIZES["legend.fontsize"]}
    place = {"xycoords": axis.get_yaxis_transform(), "annotation_clip": False, "gid": "end"}
    axis.annotate(name, (1, y), (4, 0), color=color, **place, **look)


def mark(axis: plt.Axes, x: float, y: float, said: str, shape: str = "o", **look) -> None:
    """A mark, which says in the SVG what it is."""
    axis.plot([x], [y], shape, gid=f"title: {said}", **{"markersize": 4} | look)


def say(name: str, row: dict) -> str:
    """What a mark says: its mean and interval."""
    interval = f" ({row['low']:.1f} to {row['high']:.1f})" if pd.notna(row.get("low")) else ""
    return f"{name}: {row['mean']:.1f}{interval}"


def with_titles(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the names of data sets as the papers print them."""
    titles = {name: dataset.title for name, dataset in all_datasets().items()}
    return table.replace({"dataset": titles, "demonstrations": titles})


def save_figure(
    figure: plt.Figure | None,
    table: pd.DataFrame,
    name: str,
    p: Parameters | None = None,
    about: str = "",
) -> None:
    """Write NAME.csv and, if there is a figure, NAME.png, .pdf and .svg; if there is none, remove
    those that were drawn of other numbers. Equal numbers give equal bytes. `figure_path` says
    where. `about`: what it was made with, written small below it between profile, unless it names
    one, and trial.
    """
    made_with = (p.profile, p.trial) if p else ("mini", "")
    write_table(figure_path(f"{name}.csv", *made_with), table)
    if figure is not None and p:
        if not about.startswith("profile "):
            about = f"profile {p.profile}, {about}".removesuffix(", ")
        profile, comma, rest = about.partition(",")
        about = profile + p.trial.replace("trials/", " with ") + comma + rest
    if figure is not None and about:
        _write_below(figure, about)
    for ending, metadata in MADE.items():
        path = figure_path(f"{name}.{ending}", *made_with)
        if figure is None:
            path.unlink(missing_ok=True)
            continue
        with write_partial(path) as partial:
            figure.savefig(partial, format=ending, dpi=200, metadata=metadata)
            if ending == "svg":  # marks say what they are under the mouse
                svg = partial.read_text(encoding="utf-8")
                svg = re.sub(MARK, r"<g><title>\2</title>", svg)
                # shapes are named by hashes of their place, which differs in the last binary digit
                names = dict.fromkeys(re.findall(r'id="([mp][0-9a-f]{10})"', svg))
                numbers = {shape: f"{path.stem}-{number}" for number, shape in enumerate(names)}
                titled = re.sub(r"\b[mp][0-9a-f]{10}\b", lambda m: numbers.get(m[0], m[0]), svg)
                rounded = re.sub(r"(\.\d\d)\d{4}\b", r"\1", titled)  # matplotlib writes six
                partial.write_text(re.sub(r"\n +", "\n", rounded), encoding="utf-8")


def _write_below(figure: plt.Figure, text: str) -> None:
    """Write small text below all that is drawn."""
    text = fill(text, 112 if figure.get_figwidth() > COLUMN else 58)
    _make_room(figure, 0.14 * (1 + text.count("\n")) + 0.04)
    look = {"color": "0.4", "fontsize": SIZES["legend.fontsize"], "va": "bottom"}
    figure.text(0.01, 0.03 / figure.get_figheight(), text, **look)


def _make_room(figure: plt.Figure, inches: float) -> None:
    """Make a figure higher, with nothing in what is new at its foot."""
    layout, height = figure.get_layout_engine(), figure.get_figheight()
    low = ((layout.get()["rect"][1] * height) + inches) / (height + inches)
    figure.set_figheight(height + inches)
    layout.set(rect=(0, low, 1, 1 - low))
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.5, inches / (height + inches)), figure.transFigure)
