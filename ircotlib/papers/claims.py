"""The claims of both papers (data/claims.csv), tested on our measurements.

A row of the file is a claim, or a part of one: of each of its `pairs`, the first side
has higher values than the second, or lower by less than a `margin`, wherever both were
`measured` (`where`: on these data sets only). `paired`: both are of the same questions.
`printed`: where the paper has numbers of both. A claim is not counted if the choice of
its questions (`settled`) or the training of the shipped models (`taught`) decides it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ircotlib.errors import UserError
from ircotlib.files import CLAIMS
from ircotlib.results.runs import read_reported
from ircotlib.results.statistics import (
    EQUAL,
    LEVEL,
    SAME,
    holm,
    is_equal,
    paired_difference,
    unpaired_p,
)

PLACE = ["dataset", "model", "demonstrations"]
VALUES = ["measured", *PLACE, "side", "metric", "id", "value"]
CLAIM = ["section", "source", "claim"]  # what identifies a claim of a paper
TESTED = ["p", "p_holm", "verdict", "n", "note"]
COMPARED = [
    *("comparison", *PLACE, "paper", "unit", "metric"),
    *("ours", "low", "high", "margin"),
]
EQUAL_WITHIN = f"equal within {EQUAL:g} points"
VERDICTS = ["holds", "does not hold", EQUAL_WITHIN, "cannot tell", "not counted"]
SHIPPED = "data/models/"  # begins the names of the shipped models
# IRCoT App. E: readers that are not in its figures
WORSE_READERS = {"Flan-T5-XXL": "cot", "GPT3": "direct"}
DOES = {
    "recall": "finds {} points more than",
    "factual": "has {} points fewer false chains than",
}
DIGITS = {"ours": 2, "low": 2, "high": 2, "p": 4, "p_holm": 4}
Pair = Sequence[str]  # the better side and the worse, as claimed


def read_claims(paper: str = "") -> pd.DataFrame:
    """The rows of data/claims.csv, of one paper or both; `pairs` as lists of two."""
    claims = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    claims["margin"] = claims["margin"].astype(float)
    claims["pairs"] = [
        [pair.split(" > ") for pair in cell.split("; ")] for cell in claims["pairs"]
    ]
    return claims[claims["paper"] == paper] if paper else claims


def values_of(
    scores: pd.DataFrame, measured: str = "scores", by: Sequence[str] = PLACE
) -> pd.DataFrame:
    """The scores of systems, a row per question, by their metric, in percent, as means
    over demonstration sets.
    """
    scores = scores.rename(columns={"system": "side"}).reset_index(drop=True)
    parts = [100 * rows[metric] for metric, rows in scores.groupby("metric")]
    scores["value"] = pd.concat([pd.Series(dtype=float), *parts])
    groups = scores.groupby([*by, "side", "metric", "id"], sort=False)
    return groups["value"].mean().dropna().reset_index().assign(measured=measured)


def compare_sides(
    values: pd.DataFrame,
    pairs: Iterable[Pair],
    by: Sequence[str] = PLACE,
    paired: bool = True,
    margin: float = 0.0,
) -> Iterator[dict[str, Any]]:
    """Test each pair at each place (values of the columns `by`) where both sides have
    values: on the questions that both have (`paired`), or on those of each, then
    without an interval.
    """
    for place, group in values.groupby(list(by), sort=False):
        sides = {
            side: rows.set_index("id")["value"] for side, rows in group.groupby("side")
        }
        metrics = group.groupby("side")["metric"].first()
        for better, worse in pairs:
            if not {better, worse} <= sides.keys():
                continue
            if metrics[better] != metrics[worse]:
                raise UserError(
                    f"found {better} scored by {metrics[better]}, {worse} by "
                    f"{metrics[worse]}, expected one measure for both"
                )
            compare = _compare_paired if paired else _compare_unpaired
            yield {
                **dict(zip(by, place, strict=True)),
                "comparison": f"{better} > {worse}",
                "metric": metrics[better],
                **compare(
                    sides[better].astype(float), sides[worse].astype(float), margin
                ),
            }


def _compare_paired(a: pd.Series, b: pd.Series, margin: float) -> dict[str, Any]:
    a, b = a.align(b, join="inner")
    test = paired_difference(a + margin, b)
    return {
        "mean": a.mean() - b.mean(),
        "low": test.low - margin,
        "high": test.high - margin,
        "p": test.p,
        "n": len(a),
        "equal": is_equal(a - b),
    }


def _compare_unpaired(a: pd.Series, b: pd.Series, margin: float) -> dict[str, Any]:
    test = {"mean": a.mean() - b.mean(), "p": unpaired_p(a + margin, b)}
    return test | {"low": np.nan, "high": np.nan, "n": len(a) + len(b), "equal": False}


def decide(p: pd.Series, differences: pd.Series, equal: pd.Series) -> np.ndarray:
    """The verdicts on claims of positive differences. `p`: corrected for all that are
    judged; NaN: not counted.
    """
    undecided = np.where(equal.astype(bool), EQUAL_WITHIN, "cannot tell")
    cases = [p.isna(), p >= LEVEL, differences > 0]
    return np.select(cases, ["not counted", undecided, "holds"], "does not hold")


def compare_claims(
    scores: pd.DataFrame, by: Sequence[str] = ("dataset",)
) -> pd.DataFrame:
    """Test each pair of systems that a claim names, wherever both were run, in points:
    separately for each value of the columns `by`, and each by itself, uncorrected.
    """
    claimed = [tuple(pair) for pairs in read_claims()["pairs"] for pair in pairs]
    tests = compare_sides(values_of(scores, by=by), dict.fromkeys(claimed), by)
    columns = [*by, "comparison", "metric", "mean", "low", "high", "p", "n", "equal"]
    table = pd.DataFrame(tests, columns=columns)
    table["verdict"] = decide(table["p"], table["mean"], table["equal"])
    table = table.rename(columns={"comparison": "claim"})
    return table.round({"mean": 2, "low": 2, "high": 2})


def judge_claims(paper: str, values: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables: a paper's claims with their verdicts, and their comparisons, a row
    for each pair of sides at each place. `values`: columns VALUES. What was not
    measured is in neither.

    A claim holds if all its comparisons hold; its p is the largest of theirs. It does
    not hold if one is refuted; its p is the smallest of those against it, times the
    number of comparisons. p is exact and two-sided. `p_holm`, corrected for all counted
    claims or comparisons of the paper, decides. An open comparison is equal if two
    one-sided tests at the 5% level, uncorrected, show a difference of less than 3
    points (`is_equal`); an open claim, if all its comparisons are. This is not tested
    where they are not in points, are not paired, or have a margin.
    """
    rows = [
        row
        for claim in read_claims(paper).to_dict("records")
        for row in _test(claim, values)
    ]
    if not rows:
        return (pd.DataFrame(columns=[*CLAIM, "verdict"]),) * 2
    table = pd.DataFrame(rows)
    beyond = table["ours"] + table["margin"]
    table["beyond"] = beyond.where(abs(beyond) >= SAME, 0.0)
    table = _decide_corrected(table)
    claims = _decide_corrected(
        pd.DataFrame(
            dict(zip(CLAIM, names, strict=True)) | _judge(comparisons)
            for names, comparisons in table.groupby(CLAIM, sort=False)
        )
    )
    table = table.assign(note=table["not_counted"]).round(DIGITS)
    table[["ours", "low", "high"]] += 0.0  # no -0.0
    claims = claims.round(DIGITS)[[*CLAIM, *VERDICTS, *TESTED]]
    return claims, table[[*CLAIM, *COMPARED, *TESTED]]


def _decide_corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Verdicts by p corrected for all rows that are counted."""
    p = holm(table["p"].dropna()).reindex(table.index)
    return table.assign(p_holm=p, verdict=decide(p, table["beyond"], table["equal"]))


def _test(claim: Mapping[str, Any], values: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The comparisons of a row of data/claims.csv; one without a test if the claim is
    settled.
    """
    named = {name: claim[name] for name in (*CLAIM, "unit", "margin", "note")}
    if claim["settled"]:
        yield named | {"not_counted": claim["settled"], "p": np.nan, "equal": False}
        return
    chosen = values[values["measured"] == claim["measured"]]
    if claim["where"]:
        chosen = chosen[chosen["dataset"].isin(claim["where"].split())]
    paired = claim["paired"] == "yes"
    for row in compare_sides(chosen, claim["pairs"], PLACE, paired, claim["margin"]):
        row |= named | {"ours": row["mean"], "not_counted": "", "paper": ""}
        if claim["taught"] and row["model"].startswith(SHIPPED):
            row |= {"not_counted": claim["taught"], "p": np.nan}
        if claim["unit"] != "points" or claim["margin"]:
            row["equal"] = False
        if claim["printed"]:
            row["paper"] = print_differences(
                claim["paper"], claim["printed"], row["comparison"], row["dataset"]
            )
        yield row


def _judge(comparisons: pd.DataFrame) -> dict[str, Any]:
    """What the comparisons of a claim say together (see `judge_claims`)."""
    counted = comparisons.dropna(subset="p")
    against = counted[counted["beyond"] < 0]
    refuted = len(against) > 0
    p = min(1, len(counted) * against["p"].min()) if refuted else counted["p"].max()
    notes = dict.fromkeys([*comparisons["not_counted"], *comparisons["note"]])
    return {
        **{name: int((comparisons["verdict"] == name).sum()) for name in VERDICTS},
        "p": p,
        "beyond": -1 if refuted else 1,
        "equal": counted["equal"].all(),
        "n": comparisons["n"].min(),
        "note": "; ".join(note for note in notes if note),
    }


def print_differences(paper: str, source: str, comparison: str, dataset: str) -> str:
    """What a paper prints, or its table gives, of two systems' difference on a data
    set; "" if it has none.

    >>> print_differences("ircot", "Table 4", "IRCoT QA > OneR QA", "hotpotqa")
    '+9.4 (Flan-T5-XXL), +7.1 (GPT3)'
    """
    better, worse = comparison.split(" > ")
    table = read_reported(paper, source=source, dataset=dataset)
    in_figures = table["note"] != table["model"].map(WORSE_READERS)
    table = table[table["note"].isna() | in_figures]
    values = table.pivot_table("value", "model", "name", sort=False)
    if source == "§5 text":  # IRCoT's prints the gains themselves
        values[worse] = 0.0
    if not {better, worse} <= {*values}:
        return ""
    gains = (values[better] - values[worse]).dropna()
    return ", ".join(f"{gain:+.4g} ({model})" for model, gain in gains.items())


def say_claim(claims: pd.DataFrame, claim: str) -> str:
    """A claim of `compare_claims` in words: by how much in all places, and what the
    tests say; "" if it was not tested.
    """
    rows = claims[claims["claim"] == claim]
    if rows.empty:
        return ""
    better, worse = claim.split(" > ")
    points = rows["mean"].round().astype(int)
    ends = " to ".join(dict.fromkeys([str(points.min()), str(points.max())]))
    does = DOES.get(rows["metric"].max(), "answers {} points better than").format(ends)
    counts = [f"{name} in {n}" for name, n in rows["verdict"].value_counts().items()]
    return f"{better} {does} {worse} ({', '.join(counts)} of {len(rows)} tests)."


def conclude_claims(claims: pd.DataFrame) -> str:
    """A line for each claim of `compare_claims` (`say_claim`)."""
    if claims.empty:
        return "No two of these systems are compared by a paper."
    head = f"Exact paired tests on each data set, uncorrected, p < {LEVEL}.\n"
    lines = [f"- {say_claim(claims, name)}" for name in claims["claim"].unique()]
    return "\n".join([head, *lines])
