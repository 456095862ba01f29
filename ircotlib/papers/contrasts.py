"""What is compared in "Ask or state?" (ask_or_state.py), stated before it was measured:
shares with intervals, differences paired by question, and the finding in words.
"""

from itertools import combinations, product
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ircotlib.papers.ask_or_state import (
    ALL_KEPT,
    ALONE,
    ANSWER,
    ASKS,
    CONTEXTS,
    GROUP,
    GUESSES,
    HOP,
    QUESTION,
    RESOLVED,
    SENTENCE,
    STATES,
)
from ircotlib.parameters import Parameters
from ircotlib.results.figures import LINE_COLORS, PAGE, Look, finish, subplots
from ircotlib.results.statistics import LEVEL, compare_pair, correct, mean_interval
from ircotlib.results.tables import title_of


class Contrast(NamedTuple):
    """A query or reader with K paragraphs, minus another. `natural`: only hops whose
    hop before is worded in natural words.
    """

    unit: str
    first: str
    k: int
    second: str
    second_k: int
    natural: bool = False


CONTRASTS = (
    *(Contrast(HOP, RESOLVED, k, SENTENCE, k) for k in (1, 4)),
    # fairer: the first hit of a sentence is often the paragraph that it was read from
    Contrast(HOP, RESOLVED, 4, SENTENCE, 5, natural=True),
    *(Contrast(QUESTION, GUESSES, k, ASKS, k) for k in (1, 2, 4)),
    *(Contrast(QUESTION, GUESSES, k, STATES, k) for k in (1, 2, 4)),
    # what IRCoT's limit of paragraphs costs
    *(Contrast(QUESTION, r + ALL_KEPT, 8, r, 8) for r in (ASKS, STATES, GUESSES)),
)
# on which retrievers and corpora are compared
RETRIEVED = ((HOP, RESOLVED, 4), (QUESTION, ASKS, 4))
DRAWN = {HOP: (RESOLVED, ANSWER, SENTENCE, ALONE), QUESTION: (ASKS, GUESSES, STATES)}
LABELS = {
    HOP: "next gold paragraph among the first K, % of hops",
    QUESTION: "all gold paragraphs found, % of questions",
}


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """The share found by unit, query and K, in percent, with its 95% interval. `n`:
    hops or questions.
    """
    by = [*GROUP, "unit", "query", "k"]
    summary = [
        (*names, len(group), *find_share(group["found"], group["id"]))
        for names, group in rows.groupby(by, sort=False)
    ]
    return pd.DataFrame(summary, columns=[*by, "n", "mean", "low", "high"]).round(2)


def find_share(found: pd.Series, ids: pd.Series) -> tuple[float, float, float]:
    """A mean in percent, with its 95% interval by question: a question that has several
    values is drawn with all of them.
    """
    share = found.mean()
    counts = found.groupby(ids).agg(["sum", "size"])
    # a ratio of two sums, linear near its value: the mean of these is the share
    values = share + (counts["sum"] - share * counts["size"]) / counts["size"].mean()
    low, high = mean_interval(values.round(12))
    return 100 * share, 100 * max(0.0, low), 100 * min(1.0, high)


def compare(rows: pd.DataFrame) -> pd.DataFrame:
    """CONTRASTS in points; exact paired tests, corrected for all of a data set (Holm).
    A question with several hops counts by their mean; `n`: questions.
    """
    tests = []
    for names, group in rows.groupby(GROUP, sort=False):
        for each in CONTRASTS:
            some = group[group["natural"]] if each.natural else group
            first = by_question(some, each.unit, each.first, each.k)
            second = by_question(some, each.unit, each.second, each.second_k)
            test = dict(zip(GROUP, names, strict=True)) | each._asdict()
            tests.append(test | compare_pair(first, second))
    return correct(tests, "dataset").round(4)


def compare_retrievers(rows: pd.DataFrame) -> pd.DataFrame:
    """RETRIEVED with each retriever minus with each other, in the same corpus, and in
    the smaller corpus minus in the larger, in points; tests as in `compare`.
    """
    tests = []
    for dataset, of_dataset in rows.groupby("dataset", sort=False):
        groups = dict(iter(of_dataset.groupby(["retriever", "corpus"], sort=False)))
        for (unit, query, k), (a, b) in product(RETRIEVED, combinations(groups, 2)):
            if a[0] != b[0] and a[1] != b[1]:
                continue
            first, second = (by_question(groups[g], unit, query, k) for g in (a, b))
            test = {"dataset": dataset, "unit": unit, "query": query, "k": k}
            named = {"first": ", ".join(a), "second": ", ".join(b)}
            tests.append(test | named | compare_pair(first, second))
    return correct(tests, "dataset").round(4)


def by_question(rows: pd.DataFrame, unit: str, query: str, k: int) -> pd.Series:
    """The share found for each question, in percent."""
    chosen = (rows["unit"] == unit) & (rows["query"] == query) & (rows["k"] == k)
    return 100 * rows[chosen].groupby("id")["found"].mean()


def searched_first(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first retriever, in the corpus of contexts."""
    with_first = table["retriever"] == table["retriever"].iloc[0]
    return table[with_first & (table["corpus"] == CONTEXTS)]


def draw_units(shares: pd.DataFrame) -> Figure:
    """Both units against K, with intervals: a colour for what is asked, a style of line
    for the data set.
    """
    shares = searched_first(shares)
    figure, axes = subplots(1, 2, figsize=(PAGE, 3.8), sharey=True)
    styles = dict(zip(shares["dataset"].unique(), ("-", "--", ":", "-.")))
    for axis, (unit, queries) in zip(axes, DRAWN.items(), strict=True):
        colors = dict(zip(queries, LINE_COLORS))
        drawn = shares["query"].isin(queries) & (shares["k"] != 5)
        of_unit = shares[drawn & (shares["unit"] == unit)]
        for (name, query), points in of_unit.groupby(["dataset", "query"]):
            look: Look = {"color": colors[query]}
            axis.plot(points["k"], points["mean"], styles[name], marker=".", **look)
            ends = points["low"], points["high"]
            axis.fill_between(points["k"], *ends, alpha=0.13, linewidth=0, **look)
        handles = [Line2D([], [], color=colors[name], label=name) for name in queries]
        below: Look = {"loc": "upper left", "bbox_to_anchor": (0, -0.22)}
        axis.legend(handles=handles, fontsize=7, labelspacing=0.2, **below)
        ticks = of_unit["k"].unique()
        axis.set_xscale("log", base=2)
        axis.set_xticks(ticks, ticks)
        axis.set(ylim=(-3, 103), xlabel="K: paragraphs per query", title=LABELS[unit])
    marks = [
        Line2D([], [], color="black", linestyle=style, label=title_of(name))
        for name, style in styles.items()
    ]
    return finish(figure, "Ask or state?", marks)


def say_finding(shares: pd.DataFrame, contrasts: pd.DataFrame) -> str:
    """The finding in a sentence, by data set. It concludes only if the tests of all
    data sets at K = 1 say so.
    """
    shares, contrasts = searched_first(shares), searched_first(contrasts)
    found = shares.set_index(["unit", "query", "k", "dataset"])["mean"].sort_index()

    def say(query: str, k: int) -> str:
        return " and ".join(f"{found[HOP, query, k, name]:.0f}%" for name in names)

    names = list(dict.fromkeys(shares["dataset"]))
    stated = contrasts[contrasts["second"].isin([SENTENCE, STATES])]
    decided = (stated["p_holm"] < LEVEL) & (stated["difference"] > 0)
    open_at_4 = stated[~decided & (stated["second_k"] == 4)]["dataset"].unique()
    sets = " and ".join(map(title_of, names))
    if decided[stated["k"] == 1].all():
        concluded = "A sentence is a good query if it asks, not if it states"
        if len(open_at_4):
            concluded += f" (with K = 4 not shown on {title_of(open_at_4[0])})"
    else:
        concluded = "That a sentence must ask to be a good query is not shown here"
    return (
        f"{concluded}. On {sets}, with K = 1, the next sub-question finds the next "
        f"gold paragraph of {say(RESOLVED, 1)} of later hops, the sentence before it "
        f"of {say(SENTENCE, 1)}; with K = 4, {say(RESOLVED, 4)} against "
        f"{say(SENTENCE, 4)}."
    )


def describe_data(shares: pd.DataFrame, p: Parameters) -> str:
    """What was measured, what was left out, and whether its questions are real."""
    shares = searched_first(shares)
    counts = shares.groupby(["dataset", "unit"], sort=False)["n"].first()
    parts = [
        f"{title_of(name)}, {counts[name, QUESTION]} questions with "
        f"{counts.get((name, HOP), 0)} later hops"
        for name in dict.fromkeys(shares["dataset"])
    ]
    text = f"Measured with {shares['retriever'].iloc[0]}: {'; '.join(parts)}."
    if others := [title_of(name) for name in p.datasets if name not in counts]:
        text += (
            f" Left out, since their steps have no sub-questions: {', '.join(others)}."
        )
    if not p.data_dir:
        text += " All questions are the laboratory's: this says nothing of real text."
    return text
