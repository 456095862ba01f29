"""Verdicts on the papers' claims, and on each comparison that they consist of."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ircotlib.results.claims.comparing import PLACE, Values, difference
from ircotlib.results.claims.ircot import IRCOT
from ircotlib.results.claims.record import Claim
from ircotlib.results.claims.searchain import SEARCHAIN
from ircotlib.results.reported import read_reported
from ircotlib.results.statistics import LEVEL, holm, questions_needed, verdicts

CLAIMS = {"ircot": IRCOT, "searchain": SEARCHAIN}
NO_NUMBER = "no number printed"
VERDICTS = ["holds", "does not hold", "cannot tell"]
ABOUT, TEST = ["section", "source", "claim"], ["p", "tests", "p_holm", "verdict", "n", "needed"]
COMPARISONS = [*ABOUT, "comparison", *PLACE, "paper", "metric", "ours", "low", "high", "above"]
COMPARISONS += TEST


def judge_claims(paper: str, values: Mapping[str, Values]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of a paper's claims, and that of their comparisons: of a pair of sides at a place.

    A claim holds if all its comparisons do; it does not if one of them is refuted. So its p is the
    largest of theirs if all differences are above 0 (or the margin); else the smallest of those
    below, times the number of its comparisons. In both tables p is corrected for all `tests` of the
    section (Holm). `needed`: for what cannot be told, the questions of the kind counted in `n` that
    would decide (`questions_needed`), corrected for all of the section that is undecided.
    `values`: by name, in percent, steps or doublings. What was not run is left out.
    """
    rows = []
    for number, claim in enumerate(CLAIMS[paper]):
        for place, sides in values.get(claim.values, {}).items():
            for better, worse in claim.pairs:
                if {better, worse} <= set(sides):
                    row = {name: getattr(claim, name) for name in ABOUT} | {"number": number}
                    row |= {"comparison": claim.comparison.format(better, worse)}
                    row |= dict(zip(PLACE, place, strict=True))
                    row |= {"paper": paper_says(claim, better, worse, row["dataset"])}
                    sides_of_pair = sides[better], sides[worse]
                    rows.append(row | difference(*sides_of_pair, claim.paired, claim.margin))
    if not rows:
        return pd.DataFrame(columns=[*ABOUT, *VERDICTS, *TEST]), pd.DataFrame(columns=COMPARISONS)
    table = pd.DataFrame(rows).rename(columns={"mean": "ours"})
    table["beyond"] = (table["ours"] - table["above"]).round(9)
    table["level"] = _correct(table)
    table["needed"] = [_needed(row, row.level) for row in table.itertuples()]
    wholes = [_judge_whole(claim) for _, claim in table.groupby("number", sort=False)]
    wholes = pd.DataFrame(wholes)
    wholes["level"] = _correct(wholes)
    parts = dict(iter(table.groupby("number")))
    wholes["needed"] = [_needed_of_all(parts[x.number], x.level) for x in wholes.itertuples()]
    return _tidy(wholes, [*ABOUT, *VERDICTS, *TEST]), _tidy(table, COMPARISONS)


def _correct(table: pd.DataFrame) -> pd.Series:
    """Add p corrected for the section and the verdicts; return the level of what is undecided."""
    sections = table.groupby("section", sort=False)
    table["tests"] = sections["p"].transform("size")
    table["p_holm"] = sections["p"].transform(holm)
    table["verdict"] = verdicts(table["p_holm"], table["beyond"])
    undecided = table["verdict"].eq("cannot tell").groupby(table["section"]).transform("sum")
    return (LEVEL / undecided).where(table["verdict"].eq("cannot tell"))


def _judge_whole(parts: pd.DataFrame) -> dict:
    against = parts[parts["beyond"] < 0]
    p = parts["p"].max() if against.empty else min(1, len(parts) * against["p"].min())
    counts = parts["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
    first = parts.iloc[0][[*ABOUT, "number"]].to_dict()
    return first | dict(counts) | {"p": p, "n": parts["n"].min(), "beyond": against.empty - 0.5}


def _needed_of_all(parts: pd.DataFrame, level: float) -> float:
    against = parts[parts["beyond"] < 0]
    if against.empty:
        return max(_needed(row, level) for row in parts.itertuples())
    return min(_needed(row, level / len(parts)) for row in against.itertuples())


def _needed(row, level: float) -> float:
    return questions_needed(row.beyond, row.deviation, level)


def _tidy(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The columns, rounded; `needed` is a whole number, empty for what no number would decide."""
    table = table[columns].reset_index(drop=True)
    needed = np.ceil(table["needed"].where(np.isfinite(table["needed"])))
    numbers = [name for name in ("ours", "low", "high") if name in table]
    table[numbers] = table[numbers].round(2) + 0.0  # no -0.0
    return table.assign(needed=needed.astype("Int64")).round({"p": 4, "p_holm": 4})


def paper_says(claim: Claim, better: str, worse: str, dataset: str) -> str:
    """The paper's difference for a pair of a claim on a data set, in words: as printed, or computed
    from its tables; a mean if they have parts of the data set, such as musique_2hop.
    """
    if claim.printed is None:
        return NO_NUMBER
    table = read_reported(**claim.printed)
    table["reading"] = table["name"] + ": " + table["note"]
    if claim.side != "dataset":
        of = table["dataset"].str.partition("_")[0]
        table = table[of.isin([dataset, "unspecified"])]
    if claim.readers:
        reader = table["model"].map(claim.readers)
        table = table[table["note"].isna() | (table["note"] == reader)]
    printed = table.assign(value=table["value"].map(claim.scale))
    printed = printed.groupby([claim.of_each, claim.side])["value"].mean().unstack()
    if (
        not {better, worse} & set(printed)
        or claim.base is None
        and not {better, worse} <= set(printed)
    ):
        return NO_NUMBER
    printed = printed.reindex(columns=[better, worse], fill_value=claim.base)
    differences = (printed[better] - printed[worse]) * (-1 if claim.lower else 1)
    texts = [claim.wording.format(value, each) for each, value in differences.dropna().items()]
    return ", ".join(texts) or NO_NUMBER
