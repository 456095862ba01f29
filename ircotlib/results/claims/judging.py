"""Verdicts on the papers' claims, and on each comparison that they consist of."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ircotlib.results.claims.comparing import PLACE
from ircotlib.results.claims.ircot import IRCOT
from ircotlib.results.claims.searchain import SECTION_4
from ircotlib.results.claims.searchain_appendix import APPENDIX
from ircotlib.results.statistics import LEVEL, holm, questions_needed, verdicts

CLAIMS = {"ircot": IRCOT, "searchain": SECTION_4 | APPENDIX}
VERDICTS = ["holds", "does not hold", "cannot tell"]
ABOUT, TEST = ["section", "source", "claim"], ["p", "tests", "p_holm", "verdict", "n", "needed"]
WHOLE = [*ABOUT, *VERDICTS, *TEST]
COMPARISONS = [*ABOUT, "comparison", *PLACE, "paper", "metric", "ours", "low", "high", "above"]
COMPARISONS += TEST


def judge_claims(paper: str, measured: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of a paper's claims, and that of their comparisons: of a pair of sides at a place.

    All comparisons are needed to confirm a claim; to refute it one is enough. In both tables p is
    corrected for all `tests` of the section, in the one claims, in the other comparisons. `needed`:
    for what cannot be told, the questions of the kind counted in `n` that would decide
    (`questions_needed`), corrected for all of the section that is undecided. `measured`: where
    claims find their values, from `read_ircot` or a `Measured`. What was not run is left out.
    """
    claims = [
        (section, *text.split(": ", 1), claim)
        for section, of_section in CLAIMS[paper].items()
        for text, claim in of_section.items()
    ]
    values = {find: find(measured) for find in {claim.values for *_, claim in claims}}
    rows = [
        dict(zip(ABOUT, about, strict=True)) | row
        for *about, claim in claims
        for row in claim.compare(values[claim.values])
    ]
    if not rows:
        return pd.DataFrame(columns=WHOLE), pd.DataFrame(columns=COMPARISONS)
    table = pd.DataFrame(rows).rename(columns={"mean": "ours"})
    table["beyond"] = (table["ours"] - table["above"]).round(9)
    comparisons = _judge([table[n : n + 1] for n in range(len(table))])
    wholes = _judge([parts for _, parts in table.groupby(ABOUT, sort=False)])
    counts = comparisons.groupby(ABOUT)["verdict"].value_counts().unstack(fill_value=0)
    wholes = wholes.join(counts.reindex(columns=VERDICTS, fill_value=0), on=ABOUT)
    comparisons = comparisons.round(dict.fromkeys(("ours", "low", "high"), 2))
    comparisons[["ours", "low", "high"]] += 0.0  # no -0.0
    return wholes[WHOLE], comparisons[COMPARISONS]


def _judge(claims: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One row with a verdict for each claim, a table of comparisons; or of one comparison, which is
    a claim by itself.

    If all differences are above 0 (or the margin), p is the largest of the comparisons, all of
    which must hold; else the smallest of those below, times the number of comparisons, any of which
    could have refuted the claim.
    """
    rows = []
    for parts in claims:
        against = parts[parts["beyond"] < 0]
        p = min(1, len(parts) * against["p"].min()) if len(against) else parts["p"].max()
        sign = -1 if len(against) else 1
        rows.append(dict(parts.iloc[0]) | {"p": p, "sign": sign, "n": parts["n"].min()})
    table = pd.DataFrame(rows)
    sections = table.groupby("section", sort=False)
    table["tests"] = sections["p"].transform("size")
    table["p_holm"] = sections["p"].transform(holm)
    table["verdict"] = verdicts(table["p_holm"], table["sign"])
    undecided = table["verdict"].eq("cannot tell")
    levels = (LEVEL / undecided.groupby(table["section"]).transform("sum")).where(undecided)
    needed = np.array([_needed(*each) for each in zip(claims, levels, strict=True)])
    needed = pd.Series(np.ceil(needed)).where(np.isfinite(needed)).astype("Int64")
    return table.assign(needed=needed).round({"p": 4, "p_holm": 4})


def _needed(parts: pd.DataFrame, level: float) -> float:
    """How many questions of each comparison would decide a claim."""
    against = parts[parts["beyond"] < 0]
    if len(against):
        parts, level = against, level / len(parts)
    each = [questions_needed(row.beyond, row.deviation, level) for row in parts.itertuples()]
    return min(each) if len(against) else max(each)
