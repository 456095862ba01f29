"""Every system of both papers on the same questions, with one model and retriever
(ours).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from ircotlib.datasets import find_dataset
from ircotlib.parameters import Parameters
from ircotlib.results import statistics
from ircotlib.results.runs import KEYS, beside, read_costs, read_reported
from ircotlib.results.statistics import p_against, per_question, summarise
from ircotlib.retrieval import retriever_name
from ircotlib.systems import ANSWER, SEARCHAIN, System, choose_systems

EXPERIMENT = "11_head_to_head"
# the measure of answers that are whole texts, neither right nor wrong
TEXTS = "rouge_l"
# data sets on which half of all guesses are right
TWO_CLASSES = ("strategyqa", "fever")
# without retrieval: its right answers count as what the model knows (ours)
KNEW = "CoT"
# besides the best of each data set
RIVALS = {"searchain": "SearChain", "ircot": "IRCoT QA"}
COSTS = ["tokens_in", "tokens_out", "calls", "retrievals", "extractions", "duplicates"]
COLUMNS = "profile model retriever dataset system metric mean low high n p_against_best".split()
COLUMNS += [*(f"p_against_{name}" for name in RIVALS), *COSTS, "reported"]
CERTAIN = [
    "low",
    "high",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "p_holm",
]


def systems_of(p: Parameters) -> list[System]:
    """SearChain's systems and IRCoT's with a reader; or those of `p` that answer."""
    if p.systems:
        return [
            system for system in choose_systems(p.systems) if system.tuned_by == ANSWER
        ]
    return choose_systems(study=SEARCHAIN) + [
        each for each in choose_systems() if each.reads
    ]


def for_head_to_head(p: Parameters) -> Parameters:
    """The parameters with the model that was trained for all systems, and both papers'
    data.
    """
    return p.for_agent().change(
        datasets=p.head_to_head, test=p.head_to_head_test or p.test
    )


def measures_of(dataset: str) -> list[str]:
    """Cover-EM, as in SearChain, or the data set's own measure; then F1, as in IRCoT,
    if any.
    """
    first, scores = find_dataset(dataset).covering, find_dataset(dataset).scores
    return [first, "f1"] if "f1" in scores and first != "f1" else [first]


def of_first_measure(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the big table with the first measure of each data set."""
    return table[table["metric"] == first_measures(table)]


def of_answers(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of data sets whose answers are right or wrong: not of whole texts, as
    ELI5's.
    """
    return table[first_measures(table) != TEXTS]


def of_open_answers(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of data sets of which a guess is not right half of the time; or all
    `of_answers`.
    """
    answers = of_answers(table)
    opened = answers[~answers["dataset"].isin(TWO_CLASSES)]
    return opened if len(opened) else answers


def first_measures(table: pd.DataFrame) -> pd.Series:
    """ROUGE-L for ELI5, for all others cover-EM (SearChain §4.1.1)."""
    return table["dataset"].map(
        {name: measures_of(name)[0] for name in table["dataset"].unique()}
    )


def compare_all(runs: pd.DataFrame, p: Parameters) -> pd.DataFrame:
    """The big table: one row per data set, measure and system, with the mean in percent
    and its 95% interval, the papers' value, and what its test run requested per
    question, computed or cached. The p-values of paired differences are corrected for
    the systems of each (Holm).
    """
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    tables = []
    for dataset, of_dataset in runs.groupby("dataset", sort=False):
        for metric in measures_of(dataset):
            means = summarise(
                of_dataset.assign(metric=metric), ("dataset", "model", "system")
            )
            means = means.set_index("system")
            scores = _by_system(of_dataset, metric)
            for name, rival in ({"best": scores.mean().idxmax()} | RIVALS).items():
                if rival in scores and len(scores.columns) > 1:
                    means[f"p_against_{name}"] = p_against(scores, rival).round(4)
            tables.append(means.reset_index())
    costs = read_costs(p, EXPERIMENT)
    costs[COSTS] = costs[COSTS].div(costs["questions"], axis=0).round(2)
    table = pd.concat(tables, ignore_index=True)
    table = table.merge(costs[["dataset", "system", *COSTS]], on=["dataset", "system"])
    # Table 1 asks gpt-3.5-turbo; of IRCoT it is GPT3, whose better reader is CoT (IRCoT
    # App. E)
    table_4 = read_reported(source="Table 4", metric="f1", model="GPT3", note="cot")
    papers = pd.concat([read_reported("searchain", source="Table 1"), table_4])
    papers = papers.rename(columns={"value": "reported"})
    table = beside(table, papers[[*KEYS, "name", "reported"]])
    about = {"profile": p.profile, "retriever": retriever_name(p.retriever)}
    return table.assign(**about).reindex(columns=COLUMNS)


def average(table: pd.DataFrame) -> pd.DataFrame:
    """The mean over all data sets, by their first measures, and costs of systems run on
    all.
    """
    first = of_first_measure(table)
    groups = first.groupby(["profile", "model", "retriever", "system"], sort=False)
    means = groups[["mean", *COSTS]].mean().round(2)
    means = means[groups.size() == first["dataset"].nunique()].reset_index()
    return means.assign(tokens=means["tokens_in"] + means["tokens_out"])


def compare_means(runs: pd.DataFrame) -> pd.DataFrame:
    """By system: the 95% interval of the mean of `average` (bootstrap over each data
    set's questions), the difference to SearChain, its interval, exact p, and p
    corrected (Holm); and `same_as`: the system that answers each question as well,
    which is compared in its place.
    """
    of_datasets = runs.groupby("dataset", sort=False)
    scores = [
        _by_system(rows, measures_of(dataset)[0]) for dataset, rows in of_datasets
    ]
    joined = pd.concat(scores, join="inner") if scores else pd.DataFrame()
    systems = joined.columns
    scores = [100 * of_dataset[systems] for of_dataset in scores]
    table, rival = (
        pd.DataFrame(index=systems, columns=CERTAIN, dtype=float),
        RIVALS["searchain"],
    )
    # SearChain itself stays
    pairs = [(a, b) for a, b in combinations(systems, 2) if b != rival]
    # the first of all such
    same = {b: a for a, b in pairs[::-1] if joined[a].equals(joined[b])}
    if scores:
        table[["low", "high"]] = _interval(scores)
    if rival in systems and len(systems) > 1:
        compared = [name for name in systems if name != rival and name not in same]
        differences = [one[compared].sub(one[rival], axis=0) for one in scores]
        p = pd.concat([one / len(one) for one in differences]).apply(
            statistics.paired_p
        )
        table.loc[compared, "difference"] = sum(
            one.mean() for one in differences
        ) / len(scores)
        table.loc[compared, ["difference_low", "difference_high"]] = _interval(
            differences
        )
        table.loc[compared, "p"], table.loc[compared, "p_holm"] = p, statistics.holm(p)
    table["same_as"] = [same.get(name, "") for name in table.index]
    digits = dict.fromkeys(CERTAIN, 2) | {"p": 4, "p_holm": 4}
    return table.round(digits).rename_axis("system").reset_index()


def _by_system(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The scores of a data set's questions (rows) by system (columns)."""
    return pd.DataFrame(
        {name: per_question(of, metric) for name, of in runs.groupby("system")}
    )


def _interval(scores: Sequence[pd.DataFrame]) -> np.ndarray:
    """The 95% intervals of the mean over data sets, of each column of their scores."""
    drawn = sum(
        statistics.resampled_means(one.to_numpy(), seed)
        for seed, one in enumerate(scores)
    )
    return np.percentile(drawn / len(scores), [2.5, 97.5], axis=0).T
