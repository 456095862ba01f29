"""A row for each system: means with their intervals, and the papers' as hollow marks; causes."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from ircotlib.results.figures import palette, panels
from ircotlib.results.shown import title_of
from ircotlib.results.statistics import LEVEL
from ircotlib.systems import OWN, all_systems

PERCENT = (-4, 104)
HOLLOW = ("o", "D", "s")  # a shape for each model of a paper
ROW = 0.13  # inches
PAPER = panels.HOLLOW | {"linestyle": "", "marker": HOLLOW[0], "markersize": 4.5}


def draw_rows(axis: plt.Axes, rows: pd.DataFrame, names: Sequence[str], by: str = "system") -> None:
    """A row for each name, from above: each mean as a dot with its interval, in the colour of its
    `system`, and what papers have (`reported`) as hollow marks, one shape for each of their models.
    What the papers propose stands in bold.
    """
    ys = {name: y for y, name in enumerate(names)}
    colors = palette.colors_of(dict.fromkeys(rows["system"]))
    for row in rows.to_dict("records"):
        y, color = ys[row[by]], colors[row["system"]]
        if pd.notna(row["mean"]):
            axis.plot([row["low"], row["high"]], [y, y], color=color, solid_capstyle="butt")
            panels.mark(axis, row["mean"], y, panels.say(row[by], row), color=color)
        if pd.notna(row.get("reported")):
            said = f"{row[by]}, the paper: {row['reported']:.1f}"
            shape = row.get("shape", HOLLOW[0])
            panels.mark(axis, row["reported"], y, said, shape, markersize=4.5, **panels.HOLLOW)
    axis.set(ylim=(len(names) - 0.4, -0.6), xlim=PERCENT)
    axis.set_yticks(range(len(names)), names)
    for label, name in zip(axis.get_yticklabels(), names, strict=False):
        label.set_fontweight("bold" if name in palette.PAPERS else "normal")


def _draw(table: pd.DataFrame, by: str, title: str, names=(), row: str = "system", **look):
    """Panels of rows, which all have the same names; `look`: of axes and `draw_panels`."""
    names = list(names) or list(dict.fromkeys(table[row]))
    label, across = look.pop("label", ""), look.pop("across", 4)

    def draw(rows, axis):
        draw_rows(axis, rows, names, row)
        axis.set_xlabel(label)

    height = 0.5 + ROW * len(names) + (0.15 if label else 0)
    return panels.draw_panels(table, by, draw, title, height, across, sharey=True, **look)


def draw_with_reported(
    table: pd.DataFrame, title: str, label: str, reported_label: str = ""
) -> plt.Figure | None:
    """Our means with their intervals, one panel per data set and model of ours, and the paper's
    numbers as hollow marks (IRCoT Figures 3 and 4). `table`: columns `results.reported.COLUMNS`, in
    percent; the paper's rows have no mean, whatever our profile is called. `reported_label`: what
    theirs measure, if something else; they then have a row of their own. None without means of
    ours.
    """
    is_ours = table["mean"].notna()
    if not is_ours.any():
        return panels.draw_nothing(title)
    papers = list(dict.fromkeys(table["model"][~is_ours]))
    shapes = {model: HOLLOW[n % len(HOLLOW)] for n, model in enumerate(papers)}
    row = table["system"].where(is_ours, reported_label or table["system"])
    # our rows have the paper's number for one of its models, too
    reported = table.get("reported", pd.Series(dtype=float)).where(~is_ours)
    table = table.assign(row=row, shape=table["model"].map(shapes), reported=reported)
    names = dict.fromkeys([*table["row"][is_ours], *table["row"]])
    models, drawn = table["model"][is_ours].unique(), []
    for model in models:
        of_model = table[(table["model"] == model) | ~is_ours]
        of_model = of_model[of_model["dataset"].isin(table["dataset"][is_ours])]
        also = f",\n{title_of(model)}" if len(models) > 1 else ""
        drawn.append(of_model.assign(panel=panels.with_titles(of_model)["dataset"] + also))
    figure = _draw(pd.concat(drawn), "panel", title, names, "row", label=label)
    if papers:
        looks = [PAPER | {"marker": shapes[m], "label": f"the paper, {m}"} for m in papers]
        panels.finish(figure, title, [Line2D([], [], **look) for look in looks])
    return figure


def draw_by_demonstrations(table: pd.DataFrame, title: str, label: str) -> plt.Figure | None:
    """Means with intervals, one panel per evaluated data set and model, a row per system and data
    set whose demonstrations are shown (IRCoT Figures 5 and 6). `table`: columns dataset,
    demonstrations, model, system, and mean, low, high in percent.
    """
    titled = panels.with_titles(table)
    row = [f"{row.system}, shown {row.demonstrations}" for row in titled.itertuples()]
    models = [f",\n{title_of(name)}" for name in table["model"]]
    models = models if len(set(models)) > 1 else [""] * len(table)
    panel = [f"questions of {n}{of}" for n, of in zip(titled["dataset"], models, strict=True)]
    table = table.assign(panel=panel, row=row)
    return _draw(table, "panel", title, row="row", label=label, across=3)


def draw_factual_errors(table: pd.DataFrame, title: str, label: str) -> plt.Figure | None:
    """Shares with intervals, one panel per data set, annotator and model, with the number of chains
    (IRCoT Figure 7). `table`: columns judged_by, dataset, system, n, mean, low, high in percent,
    and perhaps model; it may be empty.
    """
    table = table.assign(model=table.get("model", ""))
    by = [table[name] for name in ("judged_by", "dataset", "model")]
    chains = table["n"].groupby(by).transform(lambda n: " to ".join(map(str, sorted({*n}))))
    titled = panels.with_titles(table.assign(chains=chains))
    several = table["model"].nunique() > 1
    panel = [
        f"{row.dataset}{f', {title_of(row.model)}' if several else ''}\n"
        f"{row.chains} chains, by {row.judged_by}"
        for row in titled.itertuples()
    ]
    across = min(4, table["dataset"].nunique())
    return _draw(table.assign(panel=panel), "panel", title, label=label, across=across)


def draw_by_dataset(table: pd.DataFrame, title: str) -> plt.Figure | None:
    """All systems, the best on average first, one panel per data set: the mean with its interval,
    and the paper's value, if there is one. `table`: of `head_to_head.compare_all`, one measure per
    data set.
    """
    order = table.groupby("system", sort=False)["mean"].mean().sort_values(ascending=False)
    titled = panels.with_titles(table.assign(metric=table["metric"].map(title_of)))
    table = table.assign(panel=[f"{row.dataset}\n{row.metric}, %" for row in titled.itertuples()])
    figure = _draw(table, "panel", title, order.index, width=panels.PAGE)
    return figure and panels.finish(figure, title, _family_handles(table))


def draw_measures(table: pd.DataFrame, title: str) -> plt.Figure | None:
    """All systems, one row of panels per data set and one column per measure: the mean with its
    interval. What differs from the usual system stands after a comma in its name. `table`: columns
    dataset, system, metric, and mean, low, high in percent.
    """
    order = [*all_systems()]
    bases = {name: name.partition(",")[0] for name in table["system"]}
    names = sorted(bases, key=lambda name: order.index(bases[name]))
    titled = panels.with_titles(table.assign(metric=table["metric"].map(title_of)))
    panel = [f"{row.dataset}: {row.metric}, %" for row in titled.itertuples()]
    table = table.assign(panel=panel, row=table["system"], system=table["system"].map(bases))
    look = {"across": table["metric"].nunique(), "width": panels.PAGE}
    return _draw(table, "panel", title, names, "row", **look)


def draw_front(means: pd.DataFrame, title: str) -> plt.Figure | None:
    """The systems, the best first: the mean of each with its interval and, if it has one, its mean
    in the paper; beside it, on the same row, the tokens that it takes. One row of panels per
    retriever. A band: not told apart from SearChain. `means`: from `head_to_head.average`, with the
    columns of `compare_means`.
    """
    if means.empty:
        return panels.draw_nothing(title)
    retrievers = means.groupby("retriever", sort=False)
    across = 2 if (means["tokens"] > 0).any() else 1
    shape = {"squeeze": False, "sharey": "row", "width_ratios": [2, 1][:across]}
    shape["figsize"] = panels.PAGE, 0.6 + sum(0.5 + ROW * len(rows) for _, rows in retrievers)
    figure, axes = panels.subplots(len(retrievers), across, **shape)
    for (left, *beside), (retriever, rows) in zip(axes, retrievers, strict=True):
        rows = rows.sort_values(["mean", "tokens"], ascending=[False, True], kind="stable")
        draw_rows(left, rows, rows["system"])
        left.set_title(f"answers right, % ({retriever})")
        for right in beside:
            colors = palette.colors_of(rows["system"])
            for y, row in enumerate(rows.itertuples()):
                said = f"{row.system}: {row.tokens:,.0f} tokens a question"
                panels.mark(right, row.tokens, y, said, color=colors[row.system])
            ends = means["tokens"][means["tokens"] > 0].agg(["min", "max"])
            right.set(title="tokens a question", xscale="log", xlim=ends * [0.6, 1.6])
            right.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
            right.xaxis.set_major_formatter("{x:,.0f}")
            right.minorticks_off()
        for y in (rows["p_holm"].to_numpy() >= LEVEL).nonzero()[0]:
            for axis in (left, *beside):
                axis.axhspan(y - 0.5, y + 0.5, color=palette.BAND, linewidth=0, zorder=0)
    handles = _family_handles(means)
    if (means["p_holm"] >= LEVEL).any():
        handles.append(Patch(color=palette.BAND, label="not told apart from SearChain"))
    return panels.finish(figure, title, handles)


def _family_handles(table: pd.DataFrame) -> list[Line2D | Patch]:
    """The legend of the families of the systems that are drawn, and of the paper's, if any."""
    records = all_systems()
    drawn = {records[name].family[0] if name in records else OWN for name in table["system"]}
    colors = {name: shades[0] for name, shades in palette.FAMILIES.items() if name in drawn}
    dot = {"linestyle": "", "marker": "o", "markersize": 4}
    handles = [Line2D([], [], color=c, label=name, **dot) for name, c in colors.items()]
    has_papers = table["reported"].notna().any()
    return [*handles, Line2D([], [], label="in the paper", **PAPER)] if has_papers else handles


def draw_causes(table: pd.DataFrame, title: str) -> plt.Figure | None:
    """The shares of wrong answers by cause, one panel per data set, one stacked bar per system, the
    one with the fewest first. `table`: columns dataset, system, cause, n, answers; causes are
    stacked in their order.
    """
    if table.empty:
        return panels.draw_nothing(title)
    colors = dict(zip(dict.fromkeys(table["cause"]), palette.CAUSES, strict=False))
    wrong = table.groupby("system", sort=False)["n"].sum().sort_values(kind="stable")

    def draw(rows, axis):
        sums = rows.groupby(["system", "cause"], sort=False)[["n", "answers"]].sum()
        shares = (100 * sums["n"] / sums["answers"]).unstack("cause")
        for y, (system, of_causes) in enumerate(shares.reindex(wrong.index).fillna(0).iterrows()):
            left = 0
            for cause, share in of_causes.items():
                said = f"title: {system}, {cause}: {share:.1f}"
                look = {"color": colors[cause], "edgecolor": "white", "linewidth": 0.4}
                axis.barh(y, share, 0.8, left, gid=said, **look)
                left += share
        axis.set(xlabel="wrong answers, %", ylim=(len(wrong) - 0.4, -0.6), xlim=(0, 100))
        axis.set_yticks(range(len(wrong)), wrong.index)
        axis.grid(False, axis="y")

    look = {"height": 0.75 + ROW * len(wrong), "width": panels.PAGE, "sharey": True}
    figure = panels.draw_panels(table, "dataset", draw, title, **look)
    return panels.finish(figure, title, [Patch(color=c, label=name) for name, c in colors.items()])
