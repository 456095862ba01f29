"""Verdicts on the papers' claims, and on each comparison that they consist of."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ircotlib.results.claims.claim import PLACE
from ircotlib.results.claims.ircot import IRCOT
from ircotlib.results.claims.searchain import SECTION_4
from ircotlib.results.claims.searchain_appendix import APPENDIX
from ircotlib.results.shown import title_of
from ircotlib.results.statistics import (
    LEVEL,
    VERDICTS,
    detectable,
    holm,
    questions_needed,
    verdicts,
)

CLAIMS = {"ircot": IRCOT, "searchain": SECTION_4 | APPENDIX}
ABOUT = ["section", "source", "claim"]
TEST = ["p", "tests", "p_holm", "p_section", "verdict", "leans", "n", "needed", "detectable"]
CLAIM = [*ABOUT, *VERDICTS, *TEST, "note"]
COMPARISONS = [*ABOUT, "comparison", *PLACE, "paper", "metric", "ours", "low", "high", "above"]
COMPARISONS += [*TEST, "note"]
MOST = 10_000  # questions; that more would be needed is all that is said
FEW = 3  # comparisons that a note names


def judge_claims(paper: str, measured: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of a paper's claims, and the table of their comparisons: one row for each pair of
    sides at each place, such as "IRCoT QA > OneR QA" on MuSiQue. `measured`: where claims find
    their values, from `read_ircot` or a `Measured`. What was not run is in neither table.

    A claim is confirmed if all its comparisons are, and refuted if one is. What is about
    demonstrations that were not shown is "not tested"; what could not fail, or the paper's own
    number is against, is "not counted". Columns of both tables:

    - `tests`: how many claims of the paper are tested, or how many comparisons; `p_holm` is `p`
      corrected for these, by which the verdict is, and `p_section` for those of the section only.
    - `leans`, of what cannot be told: "for" the claim if all its differences have its sign,
      "against" it if none has, "equal" if all are 0, else "mixed".
    - `needed`, of what cannot be told: how many questions would decide, of the kind counted in `n`
      and corrected for all of the paper that is undecided, as in "1,063 to confirm".
    - `detectable`, of what cannot be told: the smallest difference for the claim that the `n`
      questions would find as surely.
    - `note`: why it is not counted, and what else to know first.
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
        for row in claim.compare(measured, values[claim.values])
    ]
    if not rows:
        return pd.DataFrame(columns=CLAIM), pd.DataFrame(columns=COMPARISONS)
    table = pd.DataFrame(rows).rename(columns={"mean": "ours"})
    table["beyond"] = (table["ours"] - table["above"]).round(9)
    of_claims = _judge([of_claim for _, of_claim in table.groupby(ABOUT, sort=False)])
    of_claims["note"] = [_note(rows) for _, rows in table.groupby(ABOUT, sort=False)]
    comparisons = _judge([table[n : n + 1] for n in range(len(table))])
    comparisons["note"] = comparisons["not_counted"]
    counts = comparisons.groupby(ABOUT)["verdict"].value_counts().unstack(fill_value=0)
    of_claims = of_claims.join(counts.reindex(columns=VERDICTS, fill_value=0), on=ABOUT)
    comparisons = comparisons.round(dict.fromkeys(("ours", "low", "high"), 2))
    comparisons[["ours", "low", "high"]] += 0.0  # no -0.0
    return of_claims[CLAIM], comparisons[COMPARISONS]


def _judge(claims: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One row with a verdict for each claim, which is the table of its comparisons. A comparison is
    judged alike, as a claim of one row.

    If all differences are above 0 (or the margin), p is the largest of the comparisons, all of
    which must hold; else the smallest of those below, times the number of comparisons, any of which
    could have refuted the claim.
    """
    claims = [(of_claim, of_claim[of_claim["not_counted"] == ""]) for of_claim in claims]
    rows = []
    for all_parts, parts in claims:
        against = parts[parts["beyond"] < 0]
        p = min(1, len(parts) * against["p"].min()) if len(against) else parts["p"].max()
        row = {"p": p if parts["tested"].all() else np.nan, "sign": -1 if len(against) else 1}
        row |= {"n": (parts if len(parts) else all_parts)["n"].min(), "counted": len(parts) > 0}
        rows.append(dict(all_parts.iloc[0]) | row)
    table = pd.DataFrame(rows)
    tested = table.dropna(subset="p")
    table["tests"] = len(tested)
    table["p_holm"] = pd.Series(holm(tested["p"]), tested.index)
    table["p_section"] = tested.groupby("section")["p"].transform(holm)
    table["verdict"] = verdicts(table["p_holm"], table["sign"])
    table.loc[table["p"].isna(), "verdict"] = "not tested"
    table.loc[~table["counted"], "verdict"] = "not counted"
    undecided = table["verdict"] == "cannot tell"
    level = LEVEL / max(1, undecided.sum())
    rows = [
        _undecided(parts, level) if is_undecided else {}
        for (_, parts), is_undecided in zip(claims, undecided, strict=True)
    ]
    columns = ["leans", "needed", "detectable"]
    table[columns] = pd.DataFrame(rows, table.index, columns)
    return table.round({"p": 4, "p_holm": 4, "p_section": 4, "detectable": 2})


def _undecided(parts: pd.DataFrame, level: float) -> dict:
    """Which way a claim leans, what would decide it, and what would have been found."""
    found = max(detectable(row.n, row.deviation, level) for row in parts.itertuples())
    found = found if 0 < found <= 100 else np.nan  # points; more than all is no difference
    against = parts[parts["beyond"] < 0]
    if len(against):  # any of these would refute the claim, corrected for all comparisons
        leans = "against" if len(against) == len(parts) else "mixed"
        level /= len(parts)
        rows = against.itertuples()
        needed = min(questions_needed(row.beyond, row.deviation, level) for row in rows)
    else:
        above = parts["beyond"] > 0
        leans = "for" if above.all() else "mixed" if above.any() else "equal"
        rows = parts.itertuples()
        needed = max(questions_needed(row.beyond, row.deviation, level) for row in rows)
    needed = np.ceil(needed)
    number = f"{needed:,.0f}" if needed <= MOST else f"> {MOST:,}"
    needed = f"{number} to {'refute' if len(against) else 'confirm'}"
    return {"leans": leans, "needed": needed, "detectable": found}


def _note(parts: pd.DataFrame) -> str:
    """What to know of a claim before its verdict is read."""
    notes = [parts["note"].iloc[0]]
    for (reason, models), rows in parts.groupby(["not_counted", "against"], sort=False):
        named = {f"{row.comparison} on {title_of(row.dataset)}": row for row in rows.itertuples()}
        named = ", ".join(named) if len(named) <= FEW else f"{len(named)} of its comparisons"
        if reason:
            notes.append(reason if len(rows) == len(parts) else f"{reason}: {named}")
        elif models:
            notes.append(f"the paper's own number with {models} is against it: {named}")
    return "; ".join(filter(None, notes))
