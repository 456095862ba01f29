"""What was found, in sentences made of the numbers: what a notebook says first, for any model and
data. Each function returns Markdown.
"""

from collections.abc import Sequence

import pandas as pd

from ircotlib.results.shown import title_of
from ircotlib.results.statistics import LEVEL

FEW = 4  # places that are named, of more only how many
NO_ORDER = "No order of the papers' is there to compare with."


def conclude_means(means: pd.DataFrame) -> str:
    """Which system of the head to head answers best, by how much, and what cannot be told apart
    from SearChain; of each retriever.
    """
    lines = []
    for retriever, rows in means.groupby("retriever", sort=False):
        ranked = rows.sort_values("mean", ascending=False, kind="stable")
        best = ranked.iloc[0]
        text = f"With {retriever}, **{best['system']} answers best: {best['mean']:.1f}%**"
        for label, mask in (
            ("the best that searches once,", ranked["retrievals"].between(0.01, 1)),
            ("the best that does not search,", ranked["retrievals"] == 0),
        ):
            if mask.any():
                row = ranked[mask].iloc[0]
                text += f"; {label} {row['system']} ({row['mean']:.1f}%)"
        lines.append(f"{text}.")
        if told := _beside_searchain(ranked):
            lines.append(f"In points, {told}.")
    return "\n\n".join(lines) or "No system was run on all data sets."


def conclude_causes(causes: pd.DataFrame) -> str:
    """Each system's most frequent cause of wrong answers, over all data sets."""
    lines = []
    for system, rows in causes.groupby("system", sort=False):
        counts = rows.groupby("cause", observed=True)["n"].sum()
        if wrong := counts.sum():
            share = 100 * wrong / rows.drop_duplicates("dataset")["answers"].sum()
            most = f"{100 * counts.max() / wrong:.0f}% of them *{counts.idxmax()}*"
            lines.append(f"- **{system}** answers {share:.0f}% wrong, {most}.")
        else:
            lines.append(f"- **{system}** answers nothing wrong.")
    return "\n".join(lines)


def conclude_settings(settings: pd.DataFrame) -> str:
    """Which conclusion the head to head allows as in the papers, and which with equal tools
    (`compare_settings`): who is told apart from SearChain, and who gains.
    """
    if settings.empty:
        return "No system was run on all data sets."
    lines = []
    told = {}  # by setting, the systems that are told apart from SearChain
    for setting, rows in settings.groupby("setting", sort=False):
        best = rows.loc[rows["mean"].idxmax()]
        text = f"- *{setting}*: {best['system']} has the highest mean, {best['mean']:.1f}%"
        told[setting] = set(rows.loc[rows["p_holm"] < LEVEL, "system"])
        beside = _beside_searchain(rows)
        lines.append(f"{text}; {beside}." if beside else f"{text}.")
    gains = settings.dropna(subset="gain_p_holm") if "gain_p_holm" in settings else settings[:0]
    if len(gains):
        found = gains[gains["gain_p_holm"] < LEVEL]
        lines.append(
            f"- Of {len(gains)} systems that get anything in addition, these change: "
            f"{_with_points(found, 'gain')}; of the others it cannot be told."
        )
    if len(told) > 1:
        before, after = told.values()
        only = ", ".join(sorted(before - after)) or "none"
        lines.append(
            f"- Told apart from SearChain as in the papers, but not with equal tools: {only}."
        )
    return "\n".join(lines)


def _beside_searchain(rows: pd.DataFrame) -> str:
    """Which systems are better than SearChain, and which cannot be told apart from it; "" if none
    was compared with it.
    """
    tested = rows.dropna(subset="p_holm")
    better = tested[(tested["p_holm"] < LEVEL) & (tested["difference"] > 0)]
    alike = tested[tested["p_holm"] >= LEVEL]
    if tested.empty:
        return ""
    first, second = (_with_points(some, "difference") for some in (better, alike))
    return f"better than SearChain: {first}; not told apart from it: {second}"


def _with_points(rows: pd.DataFrame, column: str) -> str:
    """Such as "Self-Ask (+5.3), ReAct (+1.0)", the most first; of more than twice FEW so many."""
    ranked = rows.sort_values(column, ascending=False, kind="stable")[["system", column]]
    texts = [f"{system} ({value:+.1f})" for system, value in ranked.to_numpy()[: 2 * FEW]]
    more = len(ranked) - len(texts)
    return ", ".join(texts + ([f"and {more} more"] if more else [])) or "none"


def conclude_told_apart(first: pd.DataFrame, systems: Sequence[str]) -> str:
    """Where single data sets tell some systems apart, of which the means may not: by the corrected
    tests against SearChain, IRCoT QA and the best of the data set. `first`: rows of the big table
    with the first measure of each data set.
    """
    lines = []
    for dataset, rows in first.groupby("dataset", sort=False):
        mean = rows.set_index("system")["mean"]
        rivals = {"p_against_searchain": "SearChain", "p_against_ircot": "IRCoT QA"}
        rivals |= {"p_against_best": mean.idxmax()}
        pairs = {}
        for column, rival in rivals.items():
            apart = rows[(rows[column] < LEVEL) & rows["system"].isin(systems)]["system"]
            for system in apart if rival in systems else ():
                pair = sorted((system, rival), key=mean.__getitem__)
                pairs[tuple(pair)] = (
                    f"{pair[0]} ({mean[pair[0]]:.0f}) < {pair[1]} ({mean[pair[1]]:.0f})"
                )
        if pairs:
            lines.append(f"- {title_of(dataset)}: {', '.join(pairs.values())}")
    names = ", ".join(systems)
    if not lines:
        return f"No data set tells any of these apart: {names}."
    return "\n".join([f"Of {names}, single data sets tell apart only:", "", *lines])


def conclude_orders(orders: pd.DataFrame) -> str:
    """How far our order of systems is that of the papers (`agree_in_order`): among all, and within
    those with retrieval and those without.
    """
    if orders.empty:
        return NO_ORDER
    lines = []
    tested = orders.dropna(subset="tau")
    for (among, metric), rows in tested.groupby(["among", "metric"], sort=False):
        ends = rows["tau"].agg(["min", "max"])
        sure = int((rows["p"] < LEVEL).sum())
        lines.append(
            f"- {among}, {title_of(metric)}: tau {ends.iloc[0]:+.2f} to {ends.iloc[1]:+.2f}; "
            f"an agreement is shown on **{sure} of {len(rows)}** data sets"
        )
    return "\n".join(lines) or NO_ORDER
