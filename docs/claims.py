"""The numbers of README, docs and notebooks about the papers' claims."""

import pandas as pd

from docs.pages import FOUR, as_table, read
from ircotlib.results.claims.claim import FIXED
from ircotlib.results.claims.judging import VERDICTS
from ircotlib.results.statistics import LEVEL, holm

NAMED = (  # comparisons that a sentence counts: on how many data sets they hold
    ("Figure 3", "IRCoT > OneR"),
    ("Figure 4", "IRCoT QA > OneR QA"),
    ("OneR QA answers better than NoR QA", "OneR QA > NoR QA"),
)


def claims() -> dict:
    table, comparisons = read("ircot_claims"), read("ircot_comparisons")
    theirs, of_theirs = read("searchain_claims"), read("searchain_comparisons")
    counts = table[VERDICTS].astype(str).agg(" / ".join, axis=1)
    leaning = table["leans"].map({"for": ", leans for it", "mixed": ", mixed"}).fillna("")
    rows = table[["claim", "section", "source"]].assign(
        n=counts, verdict=table["verdict"] + leaning
    )
    head = ["claim", "section", "", "its comparisons", "verdict", "questions needed"]
    [musique] = named_comparisons()[2].query("dataset == 'musique'").to_dict("records")
    return {
        "claims": [n for rows in named_comparisons() for n in (count(rows)[0], len(rows))],
        "musique": [f"{musique['ours']:+.1f}", f"{musique['low']:.1f}", f"{musique['high']:.1f}"],
        "ircot": [*summary(table), count(table)[3]],
        "searchain": [*summary(theirs), count_fixed(theirs)],
        "tested": [len(table), len(comparisons), *count(comparisons)],
        "searchain tested": [len(theirs), len(of_theirs), *count(of_theirs)],
        "family": [differently(table), differently(theirs)],
        "verdicts": as_table(head, rows.assign(needed=table["needed"].fillna("–")).to_numpy()),
        "reader gains": gains(comparisons, "IRCoT QA > IRCoT QA w/o reader"),
        "direct gains": gains(comparisons, "IRCoT QA: direct > IRCoT QA: cot"),
    }


def count(table: pd.DataFrame) -> list[int]:
    """How often claims hold, do not hold, cannot be told, and are not tested."""
    return [int((table["verdict"] == verdict).sum()) for verdict in VERDICTS]


def summary(table: pd.DataFrame) -> list[int]:
    """How many claims hold, of how many; how many do not, and how many cannot be told; how many of
    these lean towards the paper, and how many are mixed.
    """
    holds, fails, undecided, _ = count(table)
    leaning = int((table["leans"] == "for").sum())
    return [holds, len(table), fails, undecided, leaning, undecided - leaning]


def count_fixed(table: pd.DataFrame) -> int:
    """How many of the claims that hold could not have failed."""
    fixed = table["note"].fillna("").str.startswith(FIXED)
    return int((fixed & (table["verdict"] == "holds")).sum())


def differently(table: pd.DataFrame) -> int:
    """How many verdicts would be others with all claims of the paper as one family."""
    tested = table[table["verdict"] != "not tested"]
    decided = tested["verdict"] != "cannot tell"
    return int((decided != (holm(tested["p"]) < LEVEL)).sum())


def gains(comparisons: pd.DataFrame, text: str) -> list[str]:
    """Our differences in a comparison, by data set."""
    ours = comparisons[comparisons["comparison"] == text].set_index("dataset")["ours"]
    return [f"{ours[name]:+.1f}" for name in FOUR]


def named_comparisons() -> list[pd.DataFrame]:
    table = read("ircot_comparisons")
    where = [table["source"].eq(name) | table["claim"].eq(name) for name, _ in NAMED]
    texts = [table["comparison"].eq(text) for _, text in NAMED]
    return [table[rows & text] for rows, text in zip(where, texts, strict=True)]
