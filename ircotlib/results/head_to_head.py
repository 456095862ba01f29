"""Every system of both papers on the same questions, with one model and retriever (ours)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ircotlib.datasets import COVER_EM, find_dataset
from ircotlib.experiment.runs import name_model
from ircotlib.files.paths import benchmark_table
from ircotlib.files.tables import Number, read_table
from ircotlib.parameters import Parameters
from ircotlib.results.reported import KEYS, beside, read_reported
from ircotlib.results.runs import count_requests, find_runs, has_runs, read_runs
from ircotlib.results.statistics import (
    holm,
    p_against,
    paired_p,
    per_question,
    resampled_means,
    summarise,
)
from ircotlib.retrieval import model_of, retriever_name
from ircotlib.systems import ANSWER, SEARCHAIN, System, choose_systems

EXPERIMENT = "13_head_to_head"
TEXTS = "rouge_l"  # the measure of answers that are whole texts, neither right nor wrong
RIVALS = {"searchain": "SearChain", "ircot": "IRCoT QA"}  # besides the best of each data set
COSTS = ["tokens_in", "tokens_out", "calls", "retrievals", "extractions", "duplicates"]
TIMES = "bench_systems"  # the figure of bench/systems.py
CERTAIN = ["low", "high", "difference", "difference_low", "difference_high", "p", "p_holm"]
COLUMNS = "profile model retriever dataset system metric mean low high n p_against_best".split()
COLUMNS += [*(f"p_against_{name}" for name in RIVALS), *COSTS, "seconds", "reported"]


def systems_of(p: Parameters) -> list[System]:
    """SearChain's systems, then those of IRCoT that end with a reader; or those that `p` names and
    that answer.
    """
    if p.systems:
        return [system for system in choose_systems(p.systems) if system.tuned_by == ANSWER]
    return choose_systems(study=SEARCHAIN) + [each for each in choose_systems() if each.reads]


def panels_of(p: Parameters) -> list[Parameters]:
    """The parameters with the profile's retriever, and with the first vector one, if any."""
    p = p.for_agent().change(datasets=p.head_to_head, test=p.head_to_head_test or p.test)
    vectors = list(filter(model_of, p.retrievers))
    return [p, *(p.change(retriever=name) for name in vectors[:1] if name != p.retriever)]


def measures_of(dataset: str) -> list[str]:
    """Cover-EM, as in SearChain, or the data set's own measure; then F1, as in IRCoT, if any."""
    # ROUGE-L for ELI5, for all others cover-EM (SearChain §4.1.1)
    scores = [*find_dataset(dataset).scores]
    first = COVER_EM if COVER_EM in scores else scores[0]
    return [first, *(name for name in ("f1",) if name in scores and name != first)]


def first_measures(datasets: pd.Series) -> pd.Series:
    """The first measure of each data set, one for each row."""
    return datasets.map({name: measures_of(name)[0] for name in datasets.unique()})


def compare_all(runs: pd.DataFrame, p: Parameters) -> pd.DataFrame:
    """The big table of one panel: one row per data set, measure and system, with the mean in
    percent and its 95% interval, the papers' value (SearChain's Table 1, IRCoT's Table 4 for GPT3
    with its better reader), and what its test run requested per question, computed or cached. The
    p-values are of the paired difference to the best system of the data set, to SearChain and to
    IRCoT QA, each corrected for all systems of the data set and measure (Holm).
    """
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    tables = []
    for dataset, of_dataset in runs.groupby("dataset", sort=False):
        for metric in measures_of(dataset):
            means = summarise(of_dataset.assign(metric=metric), ("dataset", "model", "system"))
            tables.append(means.join(_test(of_dataset, metric), on="system"))
    table = pd.concat(tables, ignore_index=True)
    table = table.merge(count_costs(p), on=["dataset", "system"])
    table = table.merge(_read_seconds(p), on=["dataset", "system"], how="left")
    # Table 1 asks gpt-3.5-turbo; of IRCoT it is GPT3, whose better reader is CoT (IRCoT App. E)
    table_4 = read_reported(source="Table 4", metric="f1", model="GPT3", note="cot")
    papers = pd.concat([read_reported("searchain", source="Table 1"), table_4])
    papers = papers.rename(columns={"value": "reported"})
    table = beside(table, papers[[*KEYS, "name", "reported"]])
    panel = {"profile": p.profile, "retriever": retriever_name(p.retriever)}
    return table.assign(**panel).reindex(columns=COLUMNS)


def count_costs(p: Parameters, **options: object) -> pd.DataFrame:
    """What the test runs of the head to head requested per question. `options`: of the benches."""
    costs = []
    for about in find_runs(p, EXPERIMENT, **options).values():
        requests = count_requests(about)
        cost = {name: round(requests[name] / about["questions"], 2) for name in COSTS}
        costs.append({"dataset": about["dataset"], "system": about["system"], **cost})
    return pd.DataFrame(costs, columns=["dataset", "system", *COSTS])


def _test(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The corrected p-values of the systems (rows) of one data set against some (columns)."""
    by_system = {name: per_question(rows, metric) for name, rows in runs.groupby("system")}
    scores = pd.DataFrame(by_system)
    tests = {}
    for name, rival in ({"best": scores.mean().idxmax()} | RIVALS).items():
        if rival in scores and len(scores.columns) > 1:
            tests[f"p_against_{name}"] = p_against(scores, rival).round(4)
    return pd.DataFrame(tests)


def _read_seconds(p: Parameters) -> pd.DataFrame:
    """The seconds per question that bench/systems.py measured with this model and retriever."""
    path = benchmark_table(TIMES, p.profile, p.trial)
    columns = ["dataset", "system", "seconds"]
    if not path.is_file():
        return pd.DataFrame(columns=columns)
    names = dict.fromkeys(("model", "retriever", *columns))
    table = pd.DataFrame(read_table(path, names | {"seconds": Number(0)}))
    same = (table["model"] == name_model(p)) & (table["retriever"] == retriever_name(p.retriever))
    return table[same][columns]


def of_first_measure(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the big table with the first measure of each data set."""
    return table[table["metric"] == first_measures(table["dataset"])]


def of_answers(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of data sets whose answers are right or wrong: not of whole texts, as ELI5's."""
    return table[first_measures(table["dataset"]) != TEXTS]


def compare_means(runs: pd.DataFrame) -> pd.DataFrame:
    """By system, how certain its mean over all data sets of one panel is: the 95% interval (paired
    bootstrap over the questions of each data set), and the difference to SearChain with its
    interval, p of the exact paired test over all questions, and p corrected for all systems (Holm).
    As in `average`, data sets weigh the same, and systems not run on all are left out.
    """
    scores = score_questions(runs)
    if not scores:
        return pd.DataFrame(columns=["system", *CERTAIN])
    systems, rival = scores[0].columns, RIVALS["searchain"]
    table = _intervals(scores, ["low", "high"])
    if rival in systems and len(systems) > 1:
        against = [one.drop(columns=rival).sub(one[rival], axis=0) for one in scores]
        table = table.join(against_zero(against))
    digits = dict.fromkeys(CERTAIN, 2) | {"p": 4, "p_holm": 4}
    return table.reindex(columns=CERTAIN).round(digits).rename_axis("system").reset_index()


def score_questions(runs: pd.DataFrame) -> list[pd.DataFrame]:
    """For each data set of a panel, the scores of its questions (rows) in percent by its first
    measure, of the systems (columns) that were run on all data sets.
    """
    scores = [
        pd.DataFrame({name: 100 * per_question(of, measure) for name, of in rows.groupby("system")})
        for dataset, rows in runs.groupby("dataset", sort=False)
        for measure in measures_of(dataset)[:1]
    ]
    systems = pd.concat(scores, join="inner").columns if scores else []
    return [of_dataset[systems] for of_dataset in scores]


def against_zero(differences: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The mean of differences, one table for each data set as of `score_questions`, their interval,
    p of the exact paired test over all questions, and p corrected for all columns (Holm).
    """
    mean = sum(one.mean() for one in differences) / len(differences)
    p = pd.concat([one / len(one) for one in differences]).apply(paired_p)
    table = _intervals(differences, ["difference_low", "difference_high"])
    return table.join(pd.DataFrame({"difference": mean, "p": p, "p_holm": holm(p)}))


def _intervals(scores: Sequence[pd.DataFrame], ends: list[str]) -> pd.DataFrame:
    """The 95% intervals of the mean over data sets, of each column of their scores."""
    drawn = sum(resampled_means(one.to_numpy(), seed) for seed, one in enumerate(scores))
    low_high = np.percentile(drawn / len(scores), [2.5, 97.5], axis=0)
    return pd.DataFrame(low_high.T, scores[0].columns, ends)


def average(table: pd.DataFrame) -> pd.DataFrame:
    """Each system's mean over all data sets by the first measure of each, with the means of the
    paper's values and of the costs (SearChain Table 6, Perf.), and whether it is on the Pareto
    front of mean and tokens with its retriever. Systems not run on all data sets are left out.
    """
    first = of_first_measure(table)
    by = ["profile", "model", "retriever", "system"]
    groups = first.groupby(by, sort=False)
    # a table that was kept may lack a cost that was not counted when it was made
    counted = [name for name in ("mean", *COSTS, "seconds") if name in first]
    means = groups[counted].mean().round(2)
    # a mean of the paper needs its value on each data set (Perf. (Avg) of SearChain Table 6)
    means["reported"] = groups["reported"].agg(lambda values: values.mean(skipna=False)).round(2)
    means = means[groups.size() == first["dataset"].nunique()].reset_index()
    means["tokens"] = means["tokens_in"] + means["tokens_out"]
    if means.empty:
        return means.assign(on_front=[])
    panels = [panel for _, panel in means.groupby(by[:-1], sort=False)]
    fronts = [find_front(panel["tokens"], panel["mean"]) for panel in panels]
    return pd.concat(panels, ignore_index=True).assign(on_front=sum(fronts, []))


def find_front(costs: Sequence[float], values: Sequence[float]) -> list[bool]:
    """Which points are on the Pareto front: none is as cheap and as good, unless it is equal."""
    points = list(zip(costs, values, strict=True))
    return [
        not any(c <= cost and v >= value and (c, v) != (cost, value) for c, v in points)
        for cost, value in points
    ]


def with_rivals(runs: pd.DataFrame, p: Parameters) -> pd.DataFrame:
    """The runs of 04_ircot with, from the head to head, if it was run, those of the other systems
    that IRCoT's Tables 1 and 3 have: of the agent.
    """
    names = {*read_reported(source="Table 1")["name"], *read_reported(source="Table 3")["name"]}
    panel = panels_of(p)[0]
    panel = panel.change(datasets=[name for name in p.datasets if name in panel.datasets])
    if not panel.datasets or not has_runs(panel, EXPERIMENT):
        return runs
    rivals = read_runs(panel, EXPERIMENT)
    rivals = rivals[rivals["system"].isin(names - {*runs["system"]})]
    return pd.concat([runs, rivals], ignore_index=True)


def made_by(table: pd.DataFrame) -> str:
    """The models and the number of questions behind a table, for titles and captions."""
    if table.empty:
        return "no run"
    models = {Path(model).name for model in table["model"]}
    return f"{', '.join(sorted(models))}, n = {table['n'].min()} questions a data set"
