"""The head to head (ours): every system of both papers on the same questions, with one
model and one retriever.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from ircotlib.files import resolve
from ircotlib.parameters import Parameters
from ircotlib.results.figures import (
    CHANCE,
    PAGE,
    ROW,
    Look,
    draw_rows,
    explain,
    family_of,
    finish,
    subplots,
)
from ircotlib.results.head_to_head import EXPERIMENT, first_measures, measures_of
from ircotlib.results.runs import KEYS, beside, read_costs, read_reported
from ircotlib.results.statistics import (
    LEVEL,
    holm,
    p_against,
    paired_interval,
    paired_p,
    per_question,
    resampled_means,
    summarise,
)
from ircotlib.results.tables import title_of
from ircotlib.retrieval import retriever_name
from ircotlib.systems import System

# the measure of answers that are whole texts, neither right nor wrong
TEXTS = "rouge_l"
# data sets on which half of all guesses are right
TWO_CLASSES = ("strategyqa", "fever")
# besides the best of each data set
RIVALS = {"searchain": "SearChain", "ircot": "IRCoT QA"}
COSTS = ["tokens_in", "tokens_out", "calls", "retrievals", "extractions", "duplicates"]
COLUMNS = [
    *("profile", "model", "retriever", "dataset", "system", "metric"),
    *("mean", "low", "high", "n"),
    *(f"p_against_{name}" for name in ("best", *RIVALS)),
    *COSTS,
    "reported",
]
# decimals of what `compare_means` computes
ENDS = ["difference_low", "difference_high"]
DIGITS = dict.fromkeys(["low", "high", "difference", *ENDS], 2) | {"p": 4, "p_holm": 4}
BAND = "#e9edf2"  # in the background
GOLD: Look = {"linestyle": "", "marker": "|", "color": "black"}


def of_first_measure(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the big table with the first measure of each data set."""
    return table[table["metric"] == first_measures(table)]


def of_answers(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of data sets with right and wrong answers: not of texts, as ELI5's."""
    return table[first_measures(table) != TEXTS]


def of_open_answers(table: pd.DataFrame) -> pd.DataFrame:
    """Those `of_answers` of which a guess is not right half of the time, or all."""
    answers = of_answers(table)
    opened = answers[~answers["dataset"].isin(TWO_CLASSES)]
    return opened if len(opened) else answers


def compare_all(runs: pd.DataFrame, p: Parameters) -> pd.DataFrame:
    """The big table: one row per data set, measure and system, with the mean in percent
    and its 95% interval, the papers' value, and what its test run requested per
    question, computed or cached. The p-values of paired differences are corrected for
    the systems of each (Holm).
    """
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    tables = [
        _compare_systems(rows, metric)
        for dataset, rows in runs.groupby("dataset", sort=False)
        for metric in measures_of(dataset)
    ]
    costs = read_costs(p, EXPERIMENT)
    costs[COSTS] = costs[COSTS].div(costs["questions"], axis=0).round(2)
    table = pd.concat(tables, ignore_index=True)
    table = table.merge(costs[["dataset", "system", *COSTS]], on=["dataset", "system"])
    # SearChain's Table 1 asks gpt-3.5-turbo; of IRCoT it is GPT3, whose better reader
    # is CoT (IRCoT App. E)
    papers = [
        read_reported("searchain", source="Table 1"),
        read_reported("ircot", source="Table 4", metric="f1", model="GPT3", note="cot"),
    ]
    reported = pd.concat(papers).rename(columns={"value": "reported"})
    table = beside(table, reported[[*KEYS, "name", "reported"]])
    table = table.assign(profile=p.profile, retriever=retriever_name(p.retriever))
    return table.reindex(columns=COLUMNS)


def _compare_systems(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The systems of one data set: means, and p against the best and each rival."""
    means = summarise(runs.assign(metric=metric), ("dataset", "model", "system"))
    means = means.set_index("system")
    scores = _by_system(runs, metric)
    rivals = {"best": scores.mean().idxmax(), **RIVALS}
    for name, rival in rivals.items():
        if rival in scores and len(scores.columns) > 1:
            means[f"p_against_{name}"] = p_against(scores, rival).round(4)
    return means.reset_index()


def average(table: pd.DataFrame) -> pd.DataFrame:
    """The mean over all data sets, by their first measures, and the costs, of systems
    that were run on all.
    """
    first = of_first_measure(table)
    groups = first.groupby(["profile", "model", "retriever", "system"], sort=False)
    means = groups[["mean", *COSTS]].mean().round(2)
    means = means[groups.size() == first["dataset"].nunique()].reset_index()
    return means.assign(tokens=means["tokens_in"] + means["tokens_out"])


def compare_means(runs: pd.DataFrame) -> pd.DataFrame:
    """By system: the 95% interval of the mean of `average` (bootstrap over each data
    set's questions), the difference to SearChain, its interval, p, and p corrected
    (Holm).
    """
    scores = [
        100 * _by_system(rows, measures_of(dataset)[0])
        for dataset, rows in runs.groupby("dataset", sort=False)
    ]
    # only systems that were run on all data sets
    every = pd.concat(scores, join="inner") if scores else pd.DataFrame()
    systems = every.columns
    table = pd.DataFrame(index=systems, columns=list(DIGITS), dtype=float)
    if scores:
        drawn = [
            resampled_means(of_dataset[systems].to_numpy(), seed=number)
            for number, of_dataset in enumerate(scores)
        ]
        means = sum(drawn) / len(drawn)
        table[["low", "high"]] = np.percentile(means, [2.5, 97.5], axis=0).T
    rival = RIVALS["searchain"]
    if rival in systems:
        # each data set counts as much as the others, however many questions it has
        weights = np.concatenate([np.full(len(each), 1 / len(each)) for each in scores])
        for name in systems.drop(rival):
            differences = every[name] - every[rival]
            table.loc[name, ENDS] = paired_interval(differences, weights)
            table.loc[name, "difference"] = np.average(differences, weights=weights)
            table.loc[name, "p"] = paired_p(differences * weights)
        table["p_holm"] = holm(table["p"].dropna())
    return table.round(DIGITS).rename_axis("system").reset_index()


def find_failures(systems: Sequence[System], p: Parameters) -> dict[str, str]:
    """The prompts of each system at which the model fails its gate, which is in the
    model's folder, if it has one (docs/laboratory.md).
    """
    gate = Path(resolve(p.model)) / "gate.csv"
    failed: set[str] = set()
    if gate.is_file():
        prompts = pd.read_csv(gate)
        failed = {*prompts["stage"][prompts["gate"] == "fails"]}
    failures = {}
    for system in systems:
        asked = {f"{system.module}/{stage}" for stage in system.stages}
        if system.reads:
            asked.add(f"ircot/{p.reader}")
        failures[system.name] = ", ".join(sorted(asked & failed))
    return failures


def with_right_replies(table: pd.DataFrame, p: Parameters) -> pd.Series:
    """The mean of each system over the data sets of a table, in percent, if all replies
    of the model were right, as recorded in the model's folder; empty if they are not.
    """
    path = Path(resolve(p.model)) / "gold.csv"
    if not path.is_file():
        return pd.Series(dtype=float)
    gold = pd.read_csv(path)
    gold = gold[gold["dataset"].isin(table["dataset"])]
    return gold.groupby("system")["gold"].mean()


def draw_means(means: pd.DataFrame, apart: pd.DataFrame, title: str) -> Figure:
    """All systems, the best first: the mean of each with its interval, the data sets
    `apart` with two classes, and the tokens. `means`: of `average`, with
    the columns of `compare_means` and `gold`, the mean with right replies; `apart`:
    rows of `compare_all`.
    """
    rows = means.sort_values(["mean", "tokens"], ascending=[False, True], kind="stable")
    names = list(rows["system"])
    sets = list(dict.fromkeys(apart["dataset"]))
    figure, (left, *middle, right) = subplots(
        *(1, 2 + len(sets)),
        figsize=(PAGE, 1.2 + ROW * len(rows)),
        sharey=True,
        width_ratios=[2, *(0.7 for _ in sets), 1],
    )
    draw_rows(left, rows, names, "system")
    left.plot(rows["gold"], range(len(rows)), **GOLD)
    left.set_xlabel("correct answers, %")
    for axis, name in zip(middle, sets, strict=True):
        of_set = apart[(apart["dataset"] == name) & apart["system"].isin(names)]
        draw_rows(axis, of_set.drop(columns="reported"), names, "system")
        axis.axvline(50, **CHANCE)
        axis.set_xlabel(f"{title_of(name)}, %")
    for y, tokens in enumerate(rows["tokens"]):
        right.plot(tokens, y, **family_of(names[y])[1])
    right.set(xlabel="tokens per question", xscale="log")
    right.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    right.xaxis.set_major_formatter("{x:,.0f}")
    right.minorticks_off()
    for y in (rows["p_holm"].to_numpy() >= LEVEL).nonzero()[0]:
        for axis in (left, right):
            axis.axhspan(y - 0.5, y + 0.5, color=BAND, linewidth=0, zorder=0)
    handles = explain(rows)
    if sets:
        handles.append(Line2D([], [], label="chance", **CHANCE))
    if rows["gold"].notna().any():
        handles.append(Line2D([], [], label="with right replies", **GOLD))
    alike = "no significant difference from SearChain"
    return finish(figure, title, [*handles, Patch(color=BAND, label=alike)])


def _by_system(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The scores of a data set's questions (rows) by system (columns)."""
    by_system = runs.groupby("system")
    return pd.DataFrame({name: per_question(of, metric) for name, of in by_system})
