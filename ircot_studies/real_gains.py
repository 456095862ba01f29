"""Where retrieval helps real models (IRCoT §5, App. E): one difference at a time, on
the same questions, by data set, by the number of hops, and beside the paper's.
"""

from collections.abc import Iterator
from itertools import cycle, product
from math import hypot, nan, sqrt

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ircot_studies.differences import (
    compare_pair,
    correct,
    draw_differences,
    unpaired_p,
)
from ircotlib.results.figures import DOT, HOLLOW, LINE_COLORS
from ircotlib.results.runs import READERS, in_figures, in_order, read_reported
from ircotlib.results.statistics import Difference, paired_difference

NEVER, ONCE, AGAIN = "no retrieval", "read at once", "step by step"
SEARCHES = {  # how a system searches; of sub-questions: ProbTree (real_outputs.py)
    "NoR QA": NEVER,
    "OneR QA": ONCE,
    "sub-questions, read at once": ONCE,
    "IRCoT QA": AGAIN,
    "sub-questions, one by one": AGAIN,
}
CONTRASTS = ((AGAIN, NEVER), (ONCE, NEVER), (AGAIN, ONCE))
TWO, MORE = "2 hops", "3 and 4 hops"
HOPS = (TWO, MORE, "3 hops", "4 hops")
PAPERS_N = 500  # test questions of a data set (IRCoT §4.1)


def pair_searches(answers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each of CONTRASTS that a model's answers have, with the F1 of both systems in
    percent, a column each, on the questions that both answered.
    """
    systems = {SEARCHES[name]: name for name in answers["system"].unique()}
    values = 100 * answers.pivot(index="id", columns="system", values="f1")
    for first, second in CONTRASTS:
        if first in systems and second in systems:
            both = values[[systems[first], systems[second]]].dropna()
            yield f"{first} − {second}", both


def compare_searches(scores: pd.DataFrame, by: str) -> pd.DataFrame:
    """CONTRASTS in points of F1, `a` minus `b` on the same questions, for each model
    and value of the column `by`. `steps`: of `a`, a question's mean, where they are
    known. `p_holm`: corrected for all of a model.
    """
    rows = []
    for (model, group), answers in scores.groupby(["model", by], sort=False):
        steps = answers.groupby("system")["steps"].mean()
        for contrast, both in pair_searches(answers):
            a, b = both
            row = {"model": model, by: group, "contrast": contrast, "a": a, "b": b}
            row |= {"n": len(both), "steps": steps[a]}
            rows.append(row | compare_pair(both[a], both[b]))
    return correct(rows, "model").drop(columns=["mean_first", "mean_second"])


def compare_hops(scores: pd.DataFrame) -> pd.DataFrame:
    """`compare_searches` on MuSiQue's questions of TWO hops and of MORE, six tests a
    model; and, beside these, on those of 3 and of 4 hops alone, without `p_holm`.
    """
    musique = scores[scores["dataset"] == "musique"]
    hops = musique["id"].str[0] + " hops"  # ids begin with their number
    groups = hops.where(hops == TWO, MORE)
    tested = compare_searches(musique.assign(hops=groups), "hops")
    alone = compare_searches(musique.assign(hops=hops)[hops != TWO], "hops")
    table = in_order(pd.concat([tested, alone.assign(p_holm=nan)]), "hops", HOPS)
    names = [f"{first} − {second}" for first, second in CONTRASTS]
    return in_order(in_order(table, "contrast", names), "model", scores["model"])


def compare_gains(scores: pd.DataFrame) -> pd.DataFrame:
    """By how many points of F1 each of CONTRASTS is larger with TWO hops than with MORE
    (MuSiQue). p: from permuting which questions have two; `p_holm`: of a model's three.
    """
    rows = []
    musique = scores[scores["dataset"] == "musique"]
    for model, answers in musique.groupby("model", sort=False):
        for contrast, both in pair_searches(answers):
            a, b = both
            has_two = both.index.str.startswith("2")
            sides = both[has_two], both[~has_two]
            tests = [paired_difference(side[a], side[b]) for side in sides]
            p = unpaired_p(*(side[a] - side[b] for side in sides))
            row = {"model": model, "contrast": contrast, "a": a, "b": b}
            rows.append(row | subtract(*tests)._replace(p=p)._asdict())
    return correct(rows, "model").rename(columns={"mean": "difference"})


def subtract(a: Difference, b: Difference) -> Difference:
    """a minus b, two independent estimates, with its 95% interval: the distances to the
    ends of their own intervals, squared and added (Zou & Donner 2008). p is NaN.

    >>> subtract(Difference(9, 6, 12, nan), Difference(5, 1, 9, nan))
    Difference(mean=4, low=-1.0, high=9.0, p=nan)
    """
    mean = a.mean - b.mean
    low = mean - hypot(a.mean - a.low, b.high - b.mean)
    high = mean + hypot(a.high - a.mean, b.mean - b.low)
    return Difference(mean, low, high, nan)


def compare_with_paper(differences: pd.DataFrame) -> pd.DataFrame:
    """The rows of `compare_searches` of F1 by data set beside those of IRCoT's Table 4,
    a row for each of its models (READERS): `ours_minus_paper`, with its interval. The
    paper prints no interval: its questions are taken to vary as ours do, and to be
    others, though some are the same.
    """
    printed = in_figures(read_reported(source="Table 4", metric="f1"))
    values = printed.set_index(["model", "dataset", "name"])["value"]
    rows = []
    for row, model in product(differences.to_dict("records"), READERS):
        sides = [(model, row["dataset"], row[side]) for side in "ab"]
        if not {*sides} <= {*values.index}:
            continue
        paper = values[sides[0]] - values[sides[1]]
        ours = Difference(row["difference"], row["low"], row["high"], nan)
        wider = sqrt(row["n"] / PAPERS_N)
        low = paper - wider * (ours.mean - ours.low)
        high = paper + wider * (ours.high - ours.mean)
        change = subtract(ours, Difference(paper, low, high, nan))
        beside = {"paper_model": model, "paper": paper, "ours_minus_paper": change.mean}
        ends = {"ours_minus_low": change.low, "ours_minus_high": change.high}
        rows.append(row | beside | ends)
    return pd.DataFrame(rows)


def draw_hops(hops: pd.DataFrame, title: str) -> Figure:
    """The table of `compare_hops`: a panel for each contrast, and the same rows in all.
    Hollow: parts of a row that is tested as a whole.
    """
    names: dict[tuple[str, str], str] = {}
    for row in hops.drop_duplicates(["model", "hops"]).itertuples():
        names.setdefault((row.model, ""), row.model)
        names[row.model, row.hops] = f"{row.hops} (n = {row.n})"
    colors = dict(zip(hops["model"].unique(), cycle(LINE_COLORS)))
    table = hops.assign(
        row=list(zip(hops["model"], hops["hops"], strict=True)),
        color=hops["model"].map(colors),
        tested=hops["hops"].isin([TWO, MORE]),
    )
    handles = [
        Line2D([], [], label="tested; with 95% intervals", color="black", **DOT),
        Line2D([], [], label="3 hops and 4 hops apart, not tested", **HOLLOW),
    ]
    figure = draw_differences(table, title, "contrast", names, handles)
    ends = hops["low"].min() - 2, hops["high"].max() + 2
    for axis in figure.axes:
        axis.set(xlabel="points of F1", xlim=ends)
    return figure
