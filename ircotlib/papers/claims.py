"""What both papers claim of two systems (data/claims.csv), as differences of ours.

A row of the file names `pairs`: the first side has higher values than the second,
wherever both were `measured` (`where`: on these data sets only). `printed`: where the
paper has numbers of both. A comparison is not counted, which means not tested, if one
of its sides is `built_in`: the laboratory's questions are made so that it must be
better; or `taught`: the training of the shipped models decides it.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ircotlib.files import CLAIMS
from ircotlib.results.runs import in_figures, read_reported
from ircotlib.results.statistics import holm, paired_difference

PLACE = ["dataset", "model", "demonstrations"]
CLAIM = ["section", "source", "claim"]  # what identifies a claim of a paper
COMPARED = [
    *(*CLAIM, "comparison", *PLACE, "metric", "paper"),
    *("mean", "low", "high", "n", "p", "p_holm", "not_counted", "note"),
]
SHIPPED = "data/models/"  # begins the names of the shipped models
DIGITS = {"mean": 2, "low": 2, "high": 2, "p": 4, "p_holm": 4}
Pair = Sequence[str]  # the better side and the worse, as claimed


def read_claims(paper: str = "") -> pd.DataFrame:
    """The rows of data/claims.csv, of one paper or both; `pairs` as lists of two."""
    claims = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
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
    values: pd.DataFrame, pairs: Iterable[Pair], by: Sequence[str] = PLACE
) -> Iterator[dict[str, Any]]:
    """The difference of each pair at each place (values of the columns `by`) where both
    sides have values, on the questions that both have.
    """
    for place, group in values.groupby(list(by), sort=False):
        sides = {
            side: rows.set_index("id")["value"] for side, rows in group.groupby("side")
        }
        metrics = group.groupby("side")["metric"].first()
        for better, worse in pairs:
            if not {better, worse} <= sides.keys():
                continue
            ours, theirs = sides[better].align(sides[worse], join="inner")
            yield {
                **dict(zip(by, place, strict=True)),
                "comparison": f"{better} > {worse}",
                "metric": metrics[better],
                **paired_difference(ours.astype(float), theirs)._asdict(),
                "n": len(ours),
            }


def compare_claims(
    scores: pd.DataFrame, by: Sequence[str] = ("dataset",)
) -> pd.DataFrame:
    """The difference of each pair of systems that a claim names, in points, wherever
    both were run: separately for each value of the columns `by`. `p_holm`: corrected
    for all places of a pair.
    """
    claimed = [tuple(pair) for pairs in read_claims()["pairs"] for pair in pairs]
    tests = compare_sides(values_of(scores, by=by), dict.fromkeys(claimed), by)
    columns = [*by, "comparison", "metric", "mean", "low", "high", "n", "p"]
    table = pd.DataFrame(tests, columns=columns)
    table["p_holm"] = table.groupby("comparison")["p"].transform(holm)
    return table.rename(columns={"comparison": "claim"}).round(DIGITS)


def list_comparisons(
    paper: str, values: pd.DataFrame, built_in: Collection[str] = ()
) -> pd.DataFrame:
    """A paper's claims beside our differences, in points: a row for each pair of sides
    at each place, with its 95% interval. `values`: of `values_of`; what was not
    measured has no row. `built_in`: the data sets of a laboratory. Those that are
    counted have the p of the paired test, and `p_holm`, corrected for all of them.
    """
    rows = []
    for claim in read_claims(paper).to_dict("records"):
        chosen = values[values["measured"] == claim["measured"]]
        if claim["where"]:
            chosen = chosen[chosen["dataset"].isin(claim["where"].split())]
        for row in compare_sides(chosen, claim["pairs"]):
            not_counted = ""
            if row["dataset"] in built_in:
                not_counted = claim["built_in"]
            if row["model"].startswith(SHIPPED):
                not_counted = not_counted or claim["taught"]
            if not_counted:
                row["p"] = np.nan
            printed = print_differences(
                paper, claim["printed"], row["comparison"], row["dataset"]
            )
            rows.append(claim | row | {"paper": printed, "not_counted": not_counted})
    table = pd.DataFrame(rows, columns=COMPARED)
    table["p_holm"] = holm(table["p"].dropna()).reindex(table.index)
    return table.round(DIGITS)


def print_differences(paper: str, source: str, comparison: str, dataset: str) -> str:
    """What a paper prints, or its table gives, of two systems' difference on a data
    set; "" if it has none.

    >>> print_differences("ircot", "Table 4", "IRCoT QA > OneR QA", "hotpotqa")
    '+9.4 (Flan-T5-XXL), +7.1 (GPT3)'
    """
    better, worse = comparison.split(" > ")
    table = in_figures(read_reported(paper, source=source, dataset=dataset))
    values = table.pivot_table("value", "model", "name", sort=False)
    if source == "§5 text":  # IRCoT's prints the gains themselves
        values[worse] = 0.0
    if not {better, worse} <= {*values}:
        return ""
    gains = (values[better] - values[worse]).dropna()
    return ", ".join(f"{gain:+.4g} ({model})" for model, gain in gains.items())
