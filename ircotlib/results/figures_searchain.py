"""Draws the figures of the comparison of all systems and of SearChain's paper; computes nothing."""

import matplotlib.pyplot as plt
import pandas as pd

from ircotlib.results.drawing import color_of, finish, subplots, title_of

COLORS = ("#9aa5b1", "#a63d57", "#e08e45", "#c9b458", "#5a6fa8", "#7fb08a", "#c9a6c9")  # of causes
LABEL = (16, 9)  # width and height of a point's number, in pixels


def draw_front(means: pd.DataFrame, title: str) -> plt.Figure:
    """Draw each system's mean against the tokens it takes, with the Pareto front, and against its
    mean in the paper; one row per retriever. The legend explains the numbers of the points.

    `means`: from `head_to_head.average`.
    """
    retrievers = list(dict.fromkeys(means["retriever"]))
    shape = {"figsize": (13, 0.6 + 5.2 * len(retrievers)), "squeeze": False}
    figure, axes = subplots(len(retrievers), 2, **shape)
    numbers = {name: n for n, name in enumerate(dict.fromkeys(means["system"]), start=1)}
    means = means.assign(number=means["system"].map(numbers))
    for row, retriever in zip(axes, retrievers, strict=True):
        points = means[means["retriever"] == retriever]
        row[0].set_xscale("log")
        _scatter(row[0], points, "tokens")
        front = points[points["on_front"]].sort_values("tokens")
        row[0].plot(front["tokens"], front["mean"], color="#9aa5b1", zorder=0)
        label = f"mean over data sets, %: {retriever}"
        row[0].set(xlabel="tokens read and written a question", ylabel=label)
        row[0].xaxis.set_major_formatter("{x:,.0f}")
        row[0].set_title("quality against cost, with the Pareto front", fontsize="medium")
        _scatter(row[1], points.dropna(subset="reported"), "reported")
        row[1].set(xlabel="mean in the paper, gpt-3.5-turbo, %", ylabel=label)
        row[1].set_title("beside the paper (SearChain Table 1)", fontsize="medium")
    named = [plt.Line2D([], [], ls="", marker="o", color=color_of(name)) for name in numbers]
    texts = [f"{n} {name}" for name, n in numbers.items()]
    figure.legend(named, texts, frameon=False, loc="center right", fontsize="small")
    figure.suptitle(title, y=1.0)
    figure.tight_layout(rect=(0, 0, 0.84, 1))
    return figure


def _scatter(axis: plt.Axes, points: pd.DataFrame, x: str) -> None:
    """Points with their numbers; those whose numbers would overlap share a label."""
    points = points.sort_values([x, "number"])
    colors = points["system"].map(color_of)
    axis.scatter(points[x], points["mean"], color=colors, s=32, zorder=3)
    axis.margins(x=0.08, y=0.08)
    axis.autoscale_view()
    labels: list[tuple] = []  # the place on the page in pixels, the point, its numbers
    for point in points.to_dict("records"):
        at, number = (point[x], point["mean"]), str(point["number"])
        place = axis.transData.transform(at)
        if labels and all(abs(place - labels[-1][0]) < LABEL):
            number = f"{labels.pop()[2]}, {number}"
        labels.append((place, at, number))
    for _, at, numbers in labels:
        axis.annotate(numbers, at, (4, 2), textcoords="offset points", fontsize="small")


def draw_causes(table: pd.DataFrame, title: str) -> plt.Figure:
    """Draw the shares of wrong answers by cause, one stacked bar per system, over all data sets.

    `table`: from `causes.count_causes`; the causes are stacked in their order.
    """
    sums = table.groupby(["system", "cause"], sort=False, observed=True)[["n", "answers"]].sum()
    shares = (100 * sums["n"] / sums["answers"]).unstack("cause")[::-1]
    figure, axis = subplots(figsize=(9, 1.4 + 0.24 * len(shares)))
    left = 0 * shares.iloc[:, 0]
    for cause, color in zip(dict.fromkeys(table["cause"]), COLORS, strict=True):
        axis.barh([str(name) for name in shares.index], shares[cause], 0.75, left, color=color)
        left = left + shares[cause]
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in COLORS]
    names = list(dict.fromkeys(table["cause"]))
    figure.legend(handles, names, frameon=False, loc="lower center", ncols=4)
    axis.set(title=title, xlabel="wrong answers, %", xlim=(0, 100))
    axis.grid(False, axis="y")
    figure.tight_layout(rect=(0, 0.5 / figure.get_figheight(), 1, 1))
    return figure


def draw_forms(table: pd.DataFrame, title: str) -> plt.Figure:
    """Draw accuracy against how many of the last steps the model must know by heart, one line per
    number of hops (SearChain Figure 10). In the prompt, the other steps are (a) answered, (b) only
    asked.

    `table`: columns panel, hops, i, accuracy (0 to 1).
    """
    figure, axes = subplots(1, 2, figsize=(9, 3.4), sharey=True, squeeze=False)
    for axis, panel in zip(axes[0], ("a", "b"), strict=True):
        for hops, rows in table[table["panel"] == panel].groupby("hops"):
            axis.plot(rows["i"], rows["accuracy"], marker="o", label=f"{hops} hops")
        named = {"a": "others answered in the prompt", "b": "others asked, not answered"}[panel]
        axis.set(title=f"({panel}) {named}", ylim=(-0.02, 1.02), xlabel="i, steps known by heart")
        axis.set_xticks(sorted(set(table["i"])) or [1])
    axes[0, 0].set_ylabel("accuracy")
    return finish(figure, axes, title)


def draw_by_dataset(table: pd.DataFrame, title: str) -> plt.Figure:
    """Draw all systems, one panel per data set: the mean with its interval, and the paper's value,
    if there is one, as a circle.

    `table`: rows of `head_to_head.compare_all` with one measure per data set.
    """
    datasets, systems = (list(dict.fromkeys(table[name])) for name in ("dataset", "system"))
    shape = {"figsize": (2.4 + 1.9 * len(datasets), 1.4 + 0.24 * len(systems)), "squeeze": False}
    figure, axes = subplots(1, len(datasets), sharey=True, **shape)
    places = {name: -place for place, name in enumerate(systems)}
    for axis, dataset in zip(axes[0], datasets, strict=True):
        rows = table[table["dataset"] == dataset]
        y, errors = (
            rows["system"].map(places),
            [rows["mean"] - rows["low"], rows["high"] - rows["mean"]],
        )
        colors = [color_of(name) for name in rows["system"]]
        axis.barh(y, rows["mean"], 0.75, color=colors, xerr=errors, error_kw={"elinewidth": 0.8})
        axis.scatter(rows["reported"], y, s=14, facecolor="none", edgecolor="black", zorder=3)
        axis.set(title=title_of(dataset), xlim=(0, 102), xlabel=rows["metric"].iloc[0])
        axis.grid(False, axis="y")
    axes[0, 0].set_yticks(list(places.values()), list(places))
    figure.suptitle(f"{title}; circles: the papers'", y=1.0)
    figure.tight_layout()
    return figure
