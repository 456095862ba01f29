"""Which of several systems is better on the same questions: the exact paired test of each two."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from ircotlib.errors import UserError
from ircotlib.metrics import as_compared
from ircotlib.results.claims.claim import difference
from ircotlib.results.scored import Scored, read_scored
from ircotlib.results.statistics import LEVEL, detectable, holm, questions_needed

MOST = 1_000_000  # more questions than these are as good as no answer
COLUMNS = "dataset metric a b n unshared mean_a mean_b wins losses difference low high".split()
COLUMNS += "p p_holm verdict detectable needed".split()
FLIPPED = "dataset a b outcome id question score_a score_b answer_a answer_b".split()
UNDECIDED = "cannot tell"


def compare_scores(*sources: Path | str | Scored, metric: str = "") -> pd.DataFrame:
    """Compare each two of several systems on the questions that both have, in points: a row for
    each pair on a data set. `sources`, `metric`: as of `read_scored`.

    `wins`, `losses`: questions on which `a` scores higher, or lower, than `b`; `unshared`: those
    that only one has, which do not count. `p` is that of the exact paired test (`paired_p`),
    `p_holm` corrected for all rows; `low`, `high`: the 95% bootstrap interval. `detectable`: the
    smallest difference that so many questions would show with a probability of 80%, at the level
    that the correction asks for at most; `needed`: how many would show the difference that is here.

    Raises UserError if no two have a question in common, or the same id is not the same question.
    """
    pairs = list(find_pairs(open_sources(sources, metric)))
    rows = [compare_pair(a, b, LEVEL / len(pairs)) for a, b in pairs]
    table = pd.DataFrame(rows)
    table["p_holm"] = holm(table["p"])
    better = np.where(table["difference"] > 0, "a is better", "b is better")
    table["verdict"] = np.where(table["p_holm"] < LEVEL, better, UNDECIDED)
    rounded = dict.fromkeys(("mean_a", "mean_b", "difference", "low", "high", "detectable"), 2)
    return table[COLUMNS].round(rounded).astype({"needed": "Int64"})


def list_flipped(*sources: Path | str | Scored, metric: str = "") -> pd.DataFrame:
    """The questions on which two systems score differently, a row for each pair, the largest
    differences first; the arguments are those of `compare_scores`.
    """
    rows = []
    for a, b in find_pairs(open_sources(sources, metric)):
        both = a.table.add_suffix("_a").join(b.table.add_suffix("_b"), how="inner")
        both = both.assign(size=both["score_a"] - both["score_b"])
        both = both[both["size"] != 0].rename_axis("id").reset_index()
        both["question"] = both["question_a"].where(both["question_a"] != "", both["question_b"])
        outcome = np.where(both["size"] > 0, "win", "loss")
        rows.append(
            both.assign(dataset=a.dataset or b.dataset, a=a.name, b=b.name, outcome=outcome)
        )
    table = pd.concat(rows, ignore_index=True)
    order = (-table["size"].abs()).argsort(kind="stable")
    return table.iloc[order][FLIPPED].reset_index(drop=True)


def open_sources(sources: Sequence[Path | str | Scored], metric: str) -> list[Scored]:
    """What was read already, and what is read from places."""
    read = [source for source in sources if isinstance(source, Scored)]
    places = [source for source in sources if not isinstance(source, Scored)]
    return [*read, *(read_scored(places, metric) if places else ())]


def find_pairs(scored: Iterable[Scored]) -> Iterator[tuple[Scored, Scored]]:
    """Each two that have questions of a data set in common."""
    scored = list(scored)
    found = False
    for a, b in combinations(scored, 2):
        shared = a.table.index.intersection(b.table.index)
        if len(shared) and (a.dataset == b.dataset or not (a.dataset and b.dataset)):
            _expect_alike(a, b, shared)
            found = True
            yield a, b
    if not found:
        named = ", ".join(f"{one.name} ({len(one.table)} questions)" for one in scored)
        raise UserError(f"found {named or 'nothing'}, expected two with questions in common")


def _expect_alike(a: Scored, b: Scored, shared: pd.Index) -> None:
    if a.metric != b.metric:
        found = f"found {a.name} scored by {a.metric}, {b.name} by {b.metric}"
        raise UserError(f"{found}, expected one measure; --metric names it")
    for id, one, other in zip(
        shared, a.table.loc[shared, "question"], b.table.loc[shared, "question"], strict=True
    ):
        if one and other and as_compared(one) != as_compared(other):
            found = f"found the id {id!r} of “{one:.60}” and of “{other:.60}”"
            raise UserError(f"{found}, expected the same questions in {a.name} and {b.name}")


def compare_pair(a: Scored, b: Scored, level: float) -> dict:
    """The row of a pair. `level`: that p must be below."""
    ours, theirs = (100 * one.table["score"].rename(one.metric) for one in (a, b))
    test = difference(ours, theirs)
    shared = ours.index.intersection(theirs.index)
    ours, theirs = ours[shared], theirs[shared]
    needed = questions_needed(test["mean"], test["deviation"], level)
    least = detectable(test["n"], test["deviation"], level) if test["n"] > 1 else np.nan
    row = {"dataset": a.dataset or b.dataset, "metric": a.metric, "a": a.name, "b": b.name}
    row |= {"n": test["n"], "unshared": len(a.table) + len(b.table) - 2 * test["n"]}
    row |= {"mean_a": ours.mean(), "mean_b": theirs.mean()}
    row |= {"wins": (ours > theirs).sum(), "losses": (ours < theirs).sum()}
    row |= {"difference": test["mean"], "low": test["low"], "high": test["high"], "p": test["p"]}
    row |= {"detectable": least if 0 < least <= 100 else np.nan}
    return row | {"needed": np.ceil(needed) if needed <= MOST else np.nan}
