"""What is compared in "Ask or state?" (ask_or_state.py), stated before it was measured:
shares with intervals, and differences paired by question.

    python -m ircot_studies.contrasts --set data_dir=FOLDER --set further=FOLDER --set
    'retrievers=[embedded, "dense:FOLDER", "hybrid:FOLDER"]'

writes data/ask_or_state_*.csv: several retrievers, and a larger corpus.
"""

from itertools import combinations, product
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ircot_studies.ask_or_state import (
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
    measure,
)
from ircot_studies.differences import compare_pair, correct
from ircotlib.files import SHIPPED, write_table
from ircotlib.options import add_profile, new_parser, read_changed
from ircotlib.results.figures import LINE_COLORS, PAGE, Look, finish, subplots
from ircotlib.results.statistics import mean_interval
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


def draw_units(shares: pd.DataFrame) -> Figure:
    """Both units against K, with intervals, of the first retriever in the corpus of
    contexts: a colour for what is asked, a style of line for the data set.
    """
    with_first = shares["retriever"] == shares["retriever"].iloc[0]
    in_contexts = shares["corpus"] == CONTEXTS
    shares = shares[with_first & in_contexts & (shares["k"] != 5)]
    figure, axes = subplots(1, 2, figsize=(PAGE, 3.8), sharey=True)
    styles = dict(zip(shares["dataset"].unique(), ("-", "--", ":", "-.")))
    for axis, (unit, queries) in zip(axes, DRAWN.items(), strict=True):
        colors = dict(zip(queries, LINE_COLORS))
        of_unit = shares[(shares["unit"] == unit) & shares["query"].isin(queries)]
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


def main() -> None:
    parser = new_parser(__doc__)
    add_profile(parser, "sample")
    rows = measure(read_changed(parser.parse_args()))
    tables = {"contrasts": compare(rows), "retrievers": compare_retrievers(rows)}
    for name, table in tables.items():
        write_table(SHIPPED / "data" / f"ask_or_state_{name}.csv", table)


if __name__ == "__main__":
    main()
