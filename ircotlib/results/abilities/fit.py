"""Does the simulated reader predict how well the agent plays? Its dials are set to what was
measured of the agent, and its scores compared with the agent's in 13_head_to_head.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd

from ircotlib.files.paths import resolve
from ircotlib.parameters import Parameters
from ircotlib.playing.cache import Calls
from ircotlib.playing.scheduler import run
from ircotlib.program import Generate, Sample
from ircotlib.results.abilities.simulated_plays import SimulatedPlay, open_play, play_all
from ircotlib.results.head_to_head import EXPERIMENT, measures_of, panels_of
from ircotlib.results.runs import count_parsed, count_requests, find_test_runs, has_runs
from ircotlib.results.searchain_measures import KNEW, read_run
from ircotlib.running.backends import open_dataset
from ircotlib.running.laboratory import find_facts
from ircotlib.running.predictions import read_scores
from ircotlib.running.programs import program_of
from ircotlib.running.run import read_about
from ircotlib.systems import all_systems
from ircotlib.text import is_reasoning, sentences

PLAYING = "playing.json"  # how well the agent plays each stage (training.agent.evaluate)
ONE, BY_STAGE, CLASS_MEAN = "one rate", "rates by stage", "mean of the class"
CLOSED, SEARCHES, STEPS = "closed", "one retrieval", "many steps"
STEPWISE = ("DSP", "DecomP", "IRCoT QA", "ReAct", "ReAct -> CoT-SC", "SearChain", "Self-Ask")
STEPWISE += ("Tree-of-Thought w/ IR",)  # what they search for depends on what they found before
COLUMNS = ["dataset", "system", "class", "n", "measured", ONE, BY_STAGE, CLASS_MEAN]
WITH_RETRIEVAL, ADMITS = "SearChain", "searchain/chain"  # the stage that can leave a query unsolved

Runs = Mapping[tuple[str, str], Path]  # folders by data set and system, from `find_test_runs`


def share_known(p: Parameters, dataset: str, runs: Runs) -> float:
    """The share of the facts in the chains of CoT, which does not retrieve, that are true."""
    facts = find_facts(p, dataset)
    chains = read_run(runs[dataset, KNEW])
    verdicts = Counter()
    for question in open_dataset(p, dataset)[1]:
        for sentence in sentences(chains["reading"][question.id]):
            if not is_reasoning(sentence):
                verdicts[facts.judge(sentence, question)] += 1
    return verdicts["true"] / max(1, verdicts["true"] + verdicts["false"])


def set_dials(p: Parameters, runs: Runs) -> list[SimulatedPlay]:
    """A play for each run, of the same system with the same setting. What is known, and how often
    the reader of SearChain says that it is not, is measured in each data set, and the share of
    unread replies in each run. What else is not known is made up; nothing is misread.
    """
    of_dataset = {}
    for dataset in {dataset: None for dataset, _ in runs}:
        knows = share_known(p, dataset, runs)
        chains = read_run(runs[dataset, WITH_RETRIEVAL])["nodes"]
        # in SearChain's first chains, before any feedback
        unsolved = fmean(node.unsolved for nodes in chains for node in nodes if node.round == 1)
        admits = unsolved / (1 - knows) if knows < 1 else 0.0
        of_dataset[dataset] = knows, {ADMITS: {"makes_up": max(0.0, 1 - admits)}}
    plays = []
    for (dataset, system), folder in runs.items():
        about = read_about(folder)
        counts = count_parsed(folder)
        replies = max(1, count_requests(about)["calls"] / about["questions"])
        # a question is parsed if each of its replies is
        breaks_form = 1 - (counts["parsed"] / counts["questions"]) ** (1 / replies)
        knows, stages = of_dataset[dataset]
        dials = {"knows": knows, "makes_up": 1.0, "breaks_form": breaks_form}
        plays.append(SimulatedPlay(dataset, system, dials, about["setting"], stages=stages))
    return plays


def count_facts(p: Parameters, plays: Sequence[SimulatedPlay], questions: int) -> dict[str, tuple]:
    """For each stage, how many facts a reply takes from paragraphs, and how many from paragraphs
    and from memory, on average.
    """
    counts = defaultdict(list)
    p = p.change(test=questions)
    for play in plays:
        bench = open_play(p, play)
        build = program_of(bench, all_systems()[play.system], **play.setting)
        outcomes, _ = run({q.id: build(q) for q in bench.test}, bench.backends, Calls(None))
        for step in (step for outcome in outcomes.values() for step in outcome.trace):
            if isinstance(step.request, Generate | Sample):
                prompt = step.request.prompt
                read = {belief.fact for belief in prompt.settled if belief.passage}
                stated = {belief.fact for belief in prompt.settled if not belief.made_up}
                counts[prompt.stage].append((len(read), len(stated)))
    return {stage: tuple(map(fmean, zip(*pairs, strict=True))) for stage, pairs in counts.items()}


def rate_misreading(
    right: Mapping[str, float], facts: Mapping[str, tuple]
) -> tuple[float, dict[str, float]]:
    """The share of facts that are misread in all stages that read, and in each of them: if r of its
    turns are `right` and state m facts, 1 - r^(1/m). `facts`: from `count_facts`.
    """
    reading = {stage: stated for stage, (read, stated) in facts.items() if read and stage in right}
    together = sum(log(right[stage]) for stage in reading) / sum(reading.values())
    return 1 - exp(together), {s: 1 - right[s] ** (1 / stated) for s, stated in reading.items()}


def predict_agent(p: Parameters, questions: int = 40) -> pd.DataFrame:
    """Predict the runs of 13_head_to_head on the data sets with runs of KNEW and WITH_RETRIEVAL, of
    which the dials are measured; see `predict`. Empty if there are none, or if it was not measured
    how well their model plays each stage.
    """
    [panel, *_] = panels_of(p)
    playing = Path(resolve(panel.model)) / PLAYING
    is_measured = playing.is_file() and has_runs(panel, EXPERIMENT)
    every = find_test_runs(panel, EXPERIMENT) if is_measured else {}
    known = [name for name, system in every if system == KNEW and (name, WITH_RETRIEVAL) in every]
    runs = {key: folder for key, folder in every.items() if key[0] in known}
    if not runs:
        return pd.DataFrame(columns=COLUMNS)
    right = json.loads(playing.read_text(encoding="utf-8"))["by stage"]
    return predict(panel, runs, right, questions)


def predict(
    p: Parameters, runs: Runs, right: Mapping[str, float], questions: int, counted: int = 4
) -> pd.DataFrame:
    """The agent's score in each run, and the simulated reader's on the same questions with one
    misreading rate (ONE) and with rates by stage (BY_STAGE), in percent; beside them what needs no
    simulation, CLASS_MEAN (`add_class_mean`).

    `p`: of the runs; `right`: the share of the model's turns that are right, given gold replies
    before, by stage; `questions`: at most so many of each run; `counted`: those from which facts
    are counted.
    """
    plays = set_dials(p, runs)
    rate, rates = rate_misreading(right, count_facts(p, plays, counted))
    one = [replace(play, dials=play.dials | {"misreads": rate}) for play in plays]
    stages = {stage: {"misreads": of_stage} for stage, of_stage in rates.items()}
    many = []
    for play in one:
        admits = {stage: stages.get(stage, {}) | dials for stage, dials in play.stages.items()}
        many.append(replace(play, stages=stages | admits))
    questions = min(questions, p.test or questions)
    table = play_all(p, [*one, *many], questions, p.dev)
    means = 100 * table.groupby("play")["score"].mean()
    rows = []
    for n, ((dataset, system), folder) in enumerate(runs.items()):
        about = read_about(folder)
        metric = measures_of(dataset)[0]
        scores = read_scores(folder, about)
        ids = table["id"][table["play"] == n]
        kind = SEARCHES if count_requests(about)["retrievals"] else CLOSED
        kind = STEPS if system in STEPWISE else kind
        row = {"dataset": dataset, "system": system, "class": kind, "n": len(ids)}
        row["measured"] = 100 * fmean(scores[id][metric] for id in ids)
        rows.append(row | {ONE: means[n], BY_STAGE: means[n + len(runs)]})
    return add_class_mean(pd.DataFrame(rows).round(1))


def add_class_mean(table: pd.DataFrame) -> pd.DataFrame:
    """A table of `predict` with, in each row, the mean of what was measured for the other systems
    of the same class and data set.
    """
    groups = table.groupby(["dataset", "class"])["measured"]
    others = groups.transform("sum") - table["measured"]
    return table.assign(**{CLASS_MEAN: (others / (groups.transform("size") - 1)).round(2)})


def compare_predictions(table: pd.DataFrame) -> pd.DataFrame:
    """How well each prediction agrees with what was measured, in all rows: Spearman's rank
    correlation; the mean absolute error, the mean error and the root mean square error, in points;
    this one without what is chance with so many questions, whose variance is subtracted. Of the
    systems with STEPS alone: the correlation of their means (that of CLASS_MEAN is -1 whatever was
    measured, and left out) and the mean absolute error. `worst`: the largest mean errors.
    """
    rows = []
    steps = table[table["class"] == STEPS]
    means = steps.groupby("system")[["measured", ONE, BY_STAGE]].mean().corr("spearman")
    for way in (ONE, BY_STAGE, CLASS_MEAN):
        errors = table[way] - table["measured"]
        drawn = ["measured"] if way == CLASS_MEAN else ["measured", way]  # samples of n questions
        chance = sum(table[x] * (100 - table[x]) / (table["n"] - 1) for x in drawn).mean()
        of_systems = errors.groupby(table["system"]).mean().sort_values(key=abs, ascending=False)
        worst = ", ".join(f"{name} {error:+.0f}" for name, error in of_systems[:3].items())
        row = {"prediction": way, "correlation": table["measured"].corr(table[way], "spearman")}
        row |= {"absolute error": errors.abs().mean(), "error": errors.mean()}
        row |= {"root mean square": np.sqrt((errors**2).mean())}
        row |= {"without chance": np.sqrt(np.maximum(0, (errors**2).mean() - chance))}
        row |= {f"{STEPS}: correlation": means["measured"].get(way)}
        row |= {f"{STEPS}: absolute error": (steps[way] - steps["measured"]).abs().mean()}
        rows.append(row | {"worst": worst})
    return pd.DataFrame(rows).round(2)
