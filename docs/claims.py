"""The numbers of README, docs and notebooks about the papers' claims."""

import pandas as pd

from docs.pages import FOUR, as_table, read
from ircotlib.parameters import read_parameters
from ircotlib.results.conclusions import LEANS, count_verdicts
from ircotlib.results.statistics import LEVEL, VERDICTS

NAMED = (  # comparisons that a sentence counts: on how many data sets they hold
    ("Figure 3", "IRCoT > OneR"),
    ("Figure 4", "IRCoT QA > OneR QA"),
    ("OneR QA answers better than NoR QA", "OneR QA > NoR QA"),
)


def claims() -> dict:
    comparisons, of_theirs = read("ircot_comparisons"), read("searchain_comparisons")
    table, theirs = read("ircot_claims"), read("searchain_claims")
    [musique] = named_comparisons()[2].query("dataset == 'musique'").to_dict("records")
    holding = [(rows["verdict"] == "holds").sum() for rows in named_comparisons()]
    table_1 = of_theirs[of_theirs["source"].str.contains("Table 1$")]
    return {
        "claims": [n for pair in zip(holding, map(len, named_comparisons())) for n in pair],
        "musique": [f"{musique['ours']:+.1f}", f"{musique['low']:.1f}", f"{musique['high']:.1f}"],
        "ircot": f"{len(table)} claims, {count_verdicts(table)}",
        "searchain": f"{len(theirs)} claims, {count_verdicts(theirs)}",
        "tested": f"{len(comparisons)} comparisons, {count_verdicts(comparisons)}",
        "searchain tested": f"{len(of_theirs)} comparisons, {count_verdicts(of_theirs)}",
        "comparisons": count_decided(comparisons),
        "searchain comparisons": count_decided(of_theirs),
        "table one": count_decided(table_1),
        "iirc": describe_iirc(comparisons),
        "family": [differently(table), differently(theirs)],
        "verdicts": list_verdicts(table),
        "searchain verdicts": list_verdicts(theirs),
        "reader gains": gains(comparisons, "IRCoT QA > IRCoT QA w/o reader"),
        "direct gains": gains(comparisons, "IRCoT QA: direct > IRCoT QA: cot"),
    }


def list_verdicts(table: pd.DataFrame) -> str:
    """A paper's claims, with p corrected for the section and for the paper."""
    rows = []
    for row in table.astype(object).fillna("").to_dict("records"):
        counts = " / ".join(str(row[verdict]) for verdict in VERDICTS)
        p = [p if p == "" else f"{p:.3f}" for p in (row["p_section"], row["p_holm"])]
        p = " / ".join("< 0.001" if each == "0.000" else each for each in filter(None, p))
        leans = LEANS[row["leans"]][0].removeprefix("is ") if row["leans"] else ""
        verdict = ", ".join(filter(None, [row["verdict"], leans]))
        found = row["detectable"] if row["detectable"] == "" else f"{row['detectable']:.1f}"
        where = f"{row['section']}, {row['source']}"
        rows.append([row["claim"], where, counts, p, verdict, row["needed"], found, row["note"]])
    head = ["claim", "where", "its comparisons", "p", "verdict", "questions needed"]
    return as_table([*head, "could be found", "note"], [[cell or "–" for cell in r] for r in rows])


def count_decided(table: pd.DataFrame) -> str:
    """How many of all comparisons hold, and how many are refuted."""
    hold, fail = ((table["verdict"] == verdict).sum() for verdict in VERDICTS[:2])
    refuted = f"{fail or 'none'} {'are' if fail > 1 else 'is'} refuted"
    return f"{hold} of {len(table)} comparisons hold, {refuted}"


def describe_iirc(comparisons: pd.DataFrame) -> str:
    """The gains of IRCoT QA on IIRC, and the paper's."""
    rows = of_our_model(comparisons).query("source == 'Figure 4' and dataset == 'iirc'")
    worse = rows["comparison"].str.partition(" > ")[2]
    gains = rows["ours"].map("{:+.1f}".format) + " over " + worse + " (the paper: " + rows["paper"]
    return f"IRCoT QA has, in points of F1, {'; '.join(gains + ')')}"


def of_our_model(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the model of `mini`, not of the one in GPT3's place."""
    return table[table["model"] == read_parameters("mini").model]


def differently(table: pd.DataFrame) -> int:
    """How many verdicts would be others with each section as a family."""
    tested = table.dropna(subset="p")
    return int(((tested["p_section"] < LEVEL) != (tested["verdict"] != "cannot tell")).sum())


def gains(comparisons: pd.DataFrame, text: str) -> list[str]:
    """Our differences in a comparison, by data set."""
    ours = comparisons[comparisons["comparison"] == text].set_index("dataset")["ours"]
    return [f"{ours[name]:+.1f}" for name in FOUR]


def named_comparisons() -> list[pd.DataFrame]:
    table = of_our_model(read("ircot_comparisons"))
    where = [table["source"].eq(name) | table["claim"].eq(name) for name, _ in NAMED]
    texts = [table["comparison"].eq(text) for _, text in NAMED]
    return [table[rows & text] for rows, text in zip(where, texts, strict=True)]
