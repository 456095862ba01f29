"""Verdicts on the papers' claims, and on each comparison that they consist of."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ircotlib.results.claims.claim import PLACE
from ircotlib.results.claims.ircot import IRCOT
from ircotlib.results.claims.searchain import SECTION_4
from ircotlib.results.claims.searchain_appendix import APPENDIX
from ircotlib.results.statistics import LEVEL, detectable, holm, questions_needed, verdicts

CLAIMS = {"ircot": IRCOT, "searchain": SECTION_4 | APPENDIX}
VERDICTS = ["holds", "does not hold", "cannot tell", "not tested"]
ABOUT = ["section", "source", "claim"]
TEST = ["p", "tests", "p_holm", "verdict", "leans", "n", "needed", "detectable"]
CLAIM = [*ABOUT, *VERDICTS, *TEST, "note"]
COMPARISONS = [*ABOUT, "comparison", *PLACE, "paper", "metric", "ours", "low", "high", "above"]
COMPARISONS += TEST
MOST = 10_000  # questions; that more would be needed is all that is said


def judge_claims(paper: str, measured: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of a paper's claims, and the table of their comparisons: one row for each pair of
    sides at each place, such as "IRCoT QA > OneR QA" on MuSiQue. `measured`: where claims find
    their values, from `read_ircot` or a `Measured`. What was not run is in neither table.

    A claim is confirmed if all its comparisons are, and refuted if one is. What is about
    demonstrations that were not shown is "not tested". Columns of both tables:

    - `tests`: how many claims of the section are tested, or how many comparisons; `p_holm` is `p`
      corrected for these.
    - `leans`, of what cannot be told: "for" the claim if all its differences have its sign,
      "against" it if none has, else "mixed".
    - `needed`, of what cannot be told: how many questions would decide, of the kind counted in `n`
      and corrected for all of the section that is undecided, as in "1,063 to confirm".
    - `detectable`, of what cannot be told: the smallest difference for the claim that the `n`
      questions would find as surely.
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
    comparisons = _judge([table[n : n + 1] for n in range(len(table))])
    of_claims = _judge([of_claim for _, of_claim in table.groupby(ABOUT, sort=False)])
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
    rows = []
    for parts in claims:
        against = parts[parts["beyond"] < 0]
        p = min(1, len(parts) * against["p"].min()) if len(against) else parts["p"].max()
        contradicted = parts["contradicted"].sum()
        printed = f"the paper's own numbers are against {contradicted} of its {len(parts)}"
        notes = [parts["note"].iloc[0], f"{printed} comparisons" if contradicted else ""]
        row = {"p": p if parts["tested"].all() else np.nan, "sign": -1 if len(against) else 1}
        row |= {"n": parts["n"].min(), "note": "; ".join(filter(None, notes))}
        rows.append(dict(parts.iloc[0]) | row)
    table = pd.DataFrame(rows)
    sections = table.dropna(subset="p").groupby("section", sort=False)["p"]
    table["p_holm"] = sections.transform(holm)
    table["tests"] = table["section"].map(sections.size()).fillna(0).astype(int)
    table["verdict"] = verdicts(table["p_holm"], table["sign"])
    table.loc[table["p"].isna(), "verdict"] = "not tested"
    undecided = table["verdict"].eq("cannot tell")
    levels = LEVEL / undecided.groupby(table["section"]).transform("sum")
    rows = [
        _undecided(parts, level) if is_undecided else {}
        for parts, level, is_undecided in zip(claims, levels, undecided, strict=True)
    ]
    columns = ["leans", "needed", "detectable"]
    table[columns] = pd.DataFrame(rows, table.index, columns)
    return table.round({"p": 4, "p_holm": 4, "detectable": 2})


def _undecided(parts: pd.DataFrame, level: float) -> dict:
    """Which way a claim leans, what would decide it, and what would have been found."""
    found = max(detectable(row.n, row.deviation, level) for row in parts.itertuples())
    found = found if 0 < found < np.inf else np.nan
    against = parts[parts["beyond"] < 0]
    if len(against):  # any of these would refute the claim, corrected for all comparisons
        leans = "against" if len(against) == len(parts) else "mixed"
        level /= len(parts)
        rows = against.itertuples()
        needed = min(questions_needed(row.beyond, row.deviation, level) for row in rows)
    else:
        leans = "for" if (parts["beyond"] > 0).all() else "mixed"
        rows = parts.itertuples()
        needed = max(questions_needed(row.beyond, row.deviation, level) for row in rows)
    needed = np.ceil(needed)
    number = f"{needed:,.0f}" if needed <= MOST else f"> {MOST:,}"
    needed = f"{number} to {'refute' if len(against) else 'confirm'}"
    return {"leans": leans, "needed": needed, "detectable": found}
