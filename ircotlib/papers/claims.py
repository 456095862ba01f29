"""The claims of both papers (data/claims.csv), tested on our measurements.

A row of the file is a claim, or a part of one: of each of its `pairs`, the first side
has higher values than the second, or lower by less than a `margin`, wherever both were
`measured` (`where`: on these data sets only). `paired`: both are of the same questions.
`printed`: where the paper has numbers of both. A claim is not counted if the choice of
its questions (`settled`) or the training of the shipped models (`taught`) decides it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ircotlib.errors import UserError
from ircotlib.files import CLAIMS
from ircotlib.results import statistics
from ircotlib.results.runs import read_reported
from ircotlib.results.statistics import EQUAL, LEVEL, SAME, holm

PLACE = ["dataset", "model", "demonstrations"]
VALUES = ["measured", *PLACE, "side", "metric", "id", "value"]
ABOUT = ["section", "source", "claim"]
EQUAL_WITHIN = f"equal within {EQUAL:g} points"
VERDICTS = ["holds", "does not hold", EQUAL_WITHIN, "cannot tell", "not counted"]
SHIPPED = "data/models/"  # begins the names of the shipped models
# IRCoT App. E; not in its figures
WORSE_READERS = {"Flan-T5-XXL": "cot", "GPT3": "direct"}
DOES = {
    "recall": "finds {} points more than",
    "factual": "has {} points fewer false chains than",
}
DIGITS = dict.fromkeys(("ours", "low", "high"), 2) | {"p": 4, "p_holm": 4}


def read_claims(paper: str = "") -> pd.DataFrame:
    """The rows of data/claims.csv, of one paper or of both; `pairs` as lists of two
    sides.
    """
    claims = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False).astype(
        {"margin": float}
    )
    claims["pairs"] = [
        [p.split(" > ") for p in cell.split("; ")] for cell in claims["pairs"]
    ]
    return claims[claims["paper"] == paper] if paper else claims


def values_of(
    scores: pd.DataFrame, measured: str = "scores", by: Sequence[str] = PLACE
) -> pd.DataFrame:
    """The scores of systems by their metric, in percent, as means over demonstration
    sets.
    """
    scores = scores.rename(columns={"system": "side"}).reset_index(drop=True)
    of_metrics = [100 * of[metric] for metric, of in scores.groupby("metric")]
    scores["value"] = pd.concat([pd.Series(dtype=float), *of_metrics])
    groups = scores.groupby([*by, "side", "metric", "id"], sort=False)
    return groups["value"].mean().dropna().reset_index().assign(measured=measured)


def compare_sides(
    values: pd.DataFrame,
    pairs: Sequence,
    by: Sequence[str] = PLACE,
    paired=True,
    margin=0.0,
) -> Iterator[dict]:
    """Test each pair at each place (values of the columns `by`) where both sides have
    values: on the questions that both have (`paired`), or on those of each, then
    without an interval.
    """
    for place, group in values.groupby(list(by), sort=False):
        sides = {
            side: of.set_index("id")["value"] for side, of in group.groupby("side")
        }
        metrics = group.groupby("side")["metric"].first()
        for better, worse in (pair for pair in pairs if {*pair} <= sides.keys()):
            if metrics[better] != metrics[worse]:
                found = f"found {better} scored by {metrics[better]}, {worse} by {metrics[worse]}"
                raise UserError(f"{found}, expected one measure for both")
            a, b = sides[better].astype(float), sides[worse].astype(float)
            row = dict(zip(by, place, strict=True)) | {
                "comparison": f"{better} > {worse}"
            }
            row |= {
                "metric": metrics[better],
                "low": np.nan,
                "high": np.nan,
                "equal": False,
            }
            if paired:
                a, b = a.align(b, join="inner")
                test = statistics.paired_difference(a + margin, b)
                row |= {
                    "p": test.p,
                    "low": test.low - margin,
                    "high": test.high - margin,
                }
                row |= {"n": len(a), "equal": statistics.is_equal(a - b)}
            else:
                row |= {"n": len(a) + len(b), "p": statistics.unpaired_p(a + margin, b)}
            yield row | {"mean": a.mean() - b.mean()}


def decide(p: pd.Series, differences: pd.Series, equal: pd.Series) -> np.ndarray:
    """The verdicts on claims of positive differences; p is corrected for all that are
    judged.
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
    pairs = dict.fromkeys(
        tuple(pair) for pairs in read_claims()["pairs"] for pair in pairs
    )
    columns = [*by, "comparison", "metric", "mean", "low", "high", "p", "n", "equal"]
    table = pd.DataFrame(
        compare_sides(values_of(scores, by=by), pairs, by), columns=columns
    )
    verdict = decide(table["p"], table["mean"], table["equal"])
    table = table.rename(columns={"comparison": "claim"}).assign(verdict=verdict)
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
        row for claim in read_claims(paper).itertuples() for row in _test(claim, values)
    ]
    table = pd.DataFrame(rows, columns=None if rows else [*ABOUT, "verdict"])
    if table.empty:
        return table, table
    beyond = table["ours"] + table["margin"]
    table["beyond"] = beyond.where(abs(beyond) >= SAME, 0.0)
    table = _correct(table)
    parts = table.groupby(ABOUT, sort=False)
    claims = _correct(
        pd.DataFrame(dict(zip(ABOUT, about)) | _judge(of) for about, of in parts)
    )
    tested = ["p", "p_holm", "verdict", "n", "note"]
    ours = [
        "comparison",
        *PLACE,
        "paper",
        "unit",
        "metric",
        "ours",
        "low",
        "high",
        "margin",
    ]
    table = table.assign(note=table["not_counted"]).round(DIGITS)
    table[["ours", "low", "high"]] += 0.0  # no -0.0
    return claims.round(DIGITS)[[*ABOUT, *VERDICTS, *tested]], table[
        [*ABOUT, *ours, *tested]
    ]


def _correct(table: pd.DataFrame) -> pd.DataFrame:
    """Verdicts by p corrected for all rows that are counted."""
    p = holm(table["p"].dropna()).reindex(table.index)
    return table.assign(p_holm=p, verdict=decide(p, table["beyond"], table["equal"]))


def _test(claim: tuple, values: pd.DataFrame) -> Iterator[dict]:
    """The comparisons of a row of data/claims.csv; of a claim that is settled they are
    not made.
    """
    about = {name: getattr(claim, name) for name in (*ABOUT, "unit", "margin", "note")}
    if claim.settled:
        yield about | {"not_counted": claim.settled, "p": np.nan, "equal": False}
        return
    chosen = values[values["measured"] == claim.measured]
    chosen = chosen[chosen["dataset"].isin(claim.where.split()) | (claim.where == "")]
    for row in compare_sides(
        chosen, claim.pairs, PLACE, claim.paired == "yes", claim.margin
    ):
        row |= {"ours": row["mean"], "not_counted": "", "paper": ""}
        if row["model"].startswith(SHIPPED) and claim.taught:
            row |= {"not_counted": claim.taught, "p": np.nan}
        row["equal"] &= claim.unit == "points" and not claim.margin
        if claim.printed:
            pair = row["comparison"], row["dataset"]
            row["paper"] = print_differences(claim.paper, claim.printed, *pair)
        yield about | row


def _judge(comparisons: pd.DataFrame) -> dict:
    """What the comparisons of a claim say together."""
    counted = comparisons.dropna(subset="p")
    against = counted[counted["beyond"] < 0]
    p = (
        min(1, len(counted) * against["p"].min())
        if len(against)
        else counted["p"].max()
    )
    row = {name: int((comparisons["verdict"] == name).sum()) for name in VERDICTS}
    row |= {
        "p": p,
        "beyond": -1 if len(against) else 1,
        "equal": counted["equal"].all(),
    }
    notes = filter(
        None, dict.fromkeys([*comparisons["not_counted"], *comparisons["note"]])
    )
    return row | {"n": comparisons["n"].min(), "note": "; ".join(notes)}


def print_differences(paper: str, source: str, comparison: str, dataset: str) -> str:
    """What a paper prints, or its table gives, of two systems' difference on a data
    set, such as "+9.4 (Flan-T5-XXL), +7.1 (GPT3)"; "" if it has none.
    """
    better, worse = comparison.split(" > ")
    table = read_reported(paper, source=source, dataset=dataset)
    table = table[
        table["note"].isna() | (table["note"] != table["model"].map(WORSE_READERS))
    ]
    values = table.pivot_table("value", "model", "name", sort=False)
    if source == "§5 text":  # IRCoT's prints the gains themselves
        values[worse] = 0.0
    if not {better, worse} <= {*values}:
        return ""
    gains = (values[better] - values[worse]).dropna()
    return ", ".join(f"{gain:+.4g} ({model})" for model, gain in gains.items())


def say_claim(claims: pd.DataFrame, claim: str) -> str:
    """A claim of `compare_claims` in words: by how much in all places, and what the
    tests say.
    """
    rows, (one, other) = claims[claims["claim"] == claim], claim.split(" > ")
    points = sorted(rows["mean"].round().astype(int))
    ends = " to ".join(dict.fromkeys(map(str, points[:1] + points[-1:])))
    counts = ", ".join(f"{v} in {n}" for v, n in rows["verdict"].value_counts().items())
    does = DOES.get(rows["metric"].max(), "answers {} points better than").format(ends)
    return f"{one} {does} {other} ({counts} of {len(rows)} tests)." if counts else ""


def conclude_claims(claims: pd.DataFrame) -> str:
    """A line for each claim of `compare_claims` (`say_claim`)."""
    if claims.empty:
        return "No two of these systems are compared by a paper."
    lines = [f"Exact paired tests on each data set, uncorrected, p < {LEVEL}.\n"]
    return "\n".join(
        lines + [f"- {say_claim(claims, name)}" for name in claims["claim"].unique()]
    )
