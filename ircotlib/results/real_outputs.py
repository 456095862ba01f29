"""The papers' claims on what a real model wrote (17_real_outputs)."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pandas as pd

from ircotlib.datasets import COVER_EM, all_datasets
from ircotlib.errors import NothingToRun
from ircotlib.experiment.runs import read_about, read_predictions
from ircotlib.files.paths import ROOT
from ircotlib.parameters import Parameters
from ircotlib.results.claims.claim import compare_claims
from ircotlib.results.claims.ircot import SYSTEMS, TABLE_4
from ircotlib.results.imports.runs import has_outputs
from ircotlib.results.paired import compare_scores
from ircotlib.results.reported import read_reported
from ircotlib.results.runs import has_runs, in_order, read_runs
from ircotlib.results.scored import Scored
from ircotlib.results.statistics import mean_interval, verdicts

CLOSED, *OPEN = SYSTEMS  # without retrieval, and with it
ALL = "all"  # the questions of all splits together
CLAIMS = "split dataset claim metric n mean_a mean_b wins losses difference low high p".split()
CLAIMS += "p_holm verdict detectable needed paper laboratory".split()


def expect_outputs(p: Parameters) -> Path:
    """The user's folder of real outputs. Raises NothingToRun if there are none."""
    folder = ROOT / "data/outputs"
    if not has_outputs(folder):
        found = f"outputs: found none in {folder}"
        raise NothingToRun(f"{found}, expected folders of IRCoT's program (docs/real_outputs.md)")
    return folder


def read_real_answers(runs: Iterable[Path]) -> pd.DataFrame:
    """The tables of `read_predictions` of imported runs, in one, with the name of their
    questions in `split`: those of each model that answered a data set with all three SYSTEMS.
    """
    tables = []
    for folder in runs:
        split = read_about(folder)["imported"]["split"]
        tables.append(read_predictions(folder).assign(split=split))
    table = pd.concat(tables, ignore_index=True)
    table = table[table["system"].isin(SYSTEMS)]
    counts = table.groupby(["dataset", "model", "split"])["system"].transform("nunique")
    answers = in_order(table[counts == len(SYSTEMS)], "system", SYSTEMS)
    return in_order(answers, "dataset", all_datasets())


def judge_outputs(answers: pd.DataFrame, p: Parameters, metric: str = "f1") -> pd.DataFrame:
    """IRCoT's claims about answers (§5, App. E), each on each data set: on all questions, and on
    those of each name. `p_holm` is corrected for the comparisons on questions of one name.
    `paper`: its differences of F1 (Table 4); `laboratory`: those of the runs of 04_ircot with the
    parameters `p`, if there are some.
    """
    names = [ALL, *sorted(answers["split"].unique())]
    tables = []
    for name in names:
        chosen = answers if name == ALL else answers[answers["split"] == name]
        groups = chosen.groupby(["dataset", "system"], sort=False)
        scored = [
            Scored(system, dataset, metric, rows.set_index("id").assign(score=rows[metric].values))
            for dataset, of_one in chosen.groupby("dataset", sort=False)
            for system in reversed(SYSTEMS)
            for rows in [groups.get_group((dataset, system))]
        ]
        tables.append(compare_scores(*scored).assign(split=name))
    table = pd.concat(tables, ignore_index=True)
    table["claim"] = table["a"] + " > " + table["b"]
    table["verdict"] = verdicts(table["p_holm"], table["difference"])
    find = partial(_printed, metric)
    table["paper"] = list(map(find, table["a"], table["b"], table["dataset"]))
    table["laboratory"] = list(map(_in_laboratory(p, metric), table["claim"], table["dataset"]))
    return in_order(table[CLAIMS], "split", names)


def _printed(metric: str, better: str, worse: str, dataset: str) -> str:
    """What the paper prints of a difference: of F1 alone."""
    is_printed = metric == "f1"
    return TABLE_4.describe(TABLE_4.differences(better, worse, dataset)) if is_printed else ""


def _in_laboratory(p: Parameters, metric: str):
    """A function that gives the laboratory's difference for a claim on a data set; NaN: none."""
    if not has_runs(p, "04_ircot"):
        return lambda claim, dataset: float("nan")
    claims = compare_claims(read_runs(p, "04_ircot"))
    found = claims[claims["metric"] == metric].set_index(["claim", "dataset"])["mean"]
    return lambda claim, dataset: found.get((claim, dataset), float("nan"))


def count_misled(answers: pd.DataFrame) -> pd.DataFrame:
    """What retrieval takes and gives, in percent with exact 95% intervals (as SearChain's Table
    3(b)): of the questions that are right without retrieval, those that a system with retrieval
    answers wrong ("lost"), and of the others those that it answers right ("gained"). `paper`: the
    range of what its systems lose, by cover-EM.
    """
    printed = read_reported("searchain", source="Table 3(b)")
    rows = []
    for dataset, of_one in answers.groupby("dataset", sort=False):
        theirs = printed[printed["dataset"] == dataset]["value"]
        for metric in ("em", COVER_EM):
            right = of_one.assign(right=of_one[metric] == 1).pivot(
                index="id", columns="system", values="right"
            )
            for system in OPEN:
                for change, before in (("lost", True), ("gained", False)):
                    after = right.loc[right[CLOSED] == before, system]
                    changed = (after != before).astype(float)
                    low, high = (100 * end for end in mean_interval(changed))
                    row = {"dataset": dataset, "metric": metric, "system": system}
                    row |= {"change": change, "n": len(changed), "share": 100 * changed.mean()}
                    range_ = f"{theirs.min():.0f} to {theirs.max():.0f}" if len(theirs) else ""
                    paper = range_ if change == "lost" and metric == COVER_EM else ""
                    rows.append(row | {"low": low, "high": high, "paper": paper})
    return pd.DataFrame(rows).round({"share": 1, "low": 1, "high": 1})


def conclude_outputs(claims: pd.DataFrame, misled: pd.DataFrame) -> str:
    """What holds on all questions, and what retrieval takes, in words."""
    of_all = claims[claims["split"] == ALL]
    lines = []
    for verdict, words in (("holds", "Holds"), ("does not hold", "Does not hold")):
        said = of_all[of_all["verdict"] == verdict]
        told = [_tell(claim, rows) for claim, rows in said.groupby("claim", sort=False)]
        lines += [f"**{words}:** {'; '.join(told)}."] if told else []
    open_ = of_all[of_all["verdict"] == "cannot tell"]
    told = [_tell(claim, rows) for claim, rows in open_.groupby("claim", sort=False)]
    lines += [f"**Undecided:** {'; '.join(told)}."] if told else []
    lost = misled[(misled["change"] == "lost") & (misled["metric"] == COVER_EM)]
    titles = {name: record.title for name, record in all_datasets().items()}
    for system, rows in lost.groupby("system", sort=False):
        shares = (f"{r.share:.1f}% on {titles[r.dataset]} ({r.paper}%)" for r in rows.itertuples())
        told = "loses of what is right without retrieval (the systems of SearChain's Table 3(b))"
        lines.append(f"{system} {told}: {', '.join(shares)}.")
    return "\n\n".join(lines)


def _tell(claim: str, rows: pd.DataFrame) -> str:
    titles = {name: record.title for name, record in all_datasets().items()}
    places = (f"{titles[row.dataset]} {row.difference:+.1f}" for row in rows.itertuples())
    return f"{claim} ({', '.join(places)})"
