"""Runs question by question; `explore_box` is the widget over these functions."""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from ircotlib.data import Prediction, Question
from ircotlib.errors import DataError, UserError
from ircotlib.experiment import stored
from ircotlib.experiment.replay import replay_known
from ircotlib.explore.markup import MACROS
from ircotlib.program import Outcome
from ircotlib.retrieval.corpus import Corpus

# `read_marked`, or one that keeps its tables; of a run's folder and a measure
ReadMarked = Callable[[Path, str], pd.DataFrame]
UNSCORED = "not scored"  # neither right nor wrong
SET = "demonstration_set"
WORDS = {SET: "set", "data_dir": "data", "k": "K", "m": "M"}  # in names of runs


def read_all(folders: Iterable[Path]) -> dict[Path, dict]:
    """The run.json of each folder; a damaged one is left out with a warning."""
    abouts = {}
    for folder in dict.fromkeys(folders):
        try:
            abouts[folder] = stored.read_about(folder)
        except DataError as error:
            warnings.warn(f"left out {error}", stacklevel=2)
    return abouts


def list_runs(folders: Collection[Path]) -> pd.DataFrame:
    """List runs, a row per folder: what is in run.json, also as `about`; `metric`: to
    compare them by.
    """
    abouts = list(map(stored.read_about, folders))
    runs = pd.DataFrame(abouts).assign(folder=list(folders), about=abouts)
    return runs.assign(metric=stored.share_measure)


def label_runs(abouts: Sequence[Mapping], sets: bool = False) -> list[str]:
    """Name runs by their systems, and several of one system on a data set also by what
    differs in settings, experiments and parameters: "ReAct, K 4"; by the demonstration
    sets only with `sets`.
    """
    facts = pd.DataFrame(map(_facts_of, abouts)).fillna("")
    labels = pd.Series([about["system"] for about in abouts])
    for name in facts.columns.drop("dataset"):
        if name == SET and not sets:
            continue
        alike = facts.groupby([labels, "dataset"])[name]  # that have one label by now
        differing = labels[alike.transform("nunique") > 1]
        is_named = labels.isin(differing) & (facts[name] != "")
        word = WORDS.get(name, name.replace("_", " "))
        labels = labels.where(~is_named, labels + f", {word} " + facts[name])
    return list(labels)


def _facts_of(about: Mapping) -> dict[str, str]:
    """What runs may differ in, in the order in which it is named. Its own come first,
    and count: a run's K, not that of its parameters.
    """
    named = ("dataset", "experiment", "shown", "grid_of")
    own = about["setting"] | {name: about[name] for name in named}
    facts = own | about["parameters"] | own
    # a path without the folders of the machine that has it
    return {
        name: "" if value is None else Path(str(value)).name
        for name, value in facts.items()
    }


def read_marked(folder: Path, measure: str = "") -> pd.DataFrame:
    """The table of `read_predictions` with a `mark` for each question: "right"; "wrong,
    gold missed" if it lacks gold paragraphs, "wrong, gold found" if it has all, "wrong"
    if no gold paragraph is known; UNSCORED.
    """
    table = stored.read_predictions(folder, measure)
    return table.assign(mark=[_mark(row) for row in table.to_dict("records")])


def _mark(row: Mapping) -> str:
    if row["right"] is None:
        return UNSCORED
    if row["right"]:
        return "right"
    if row["gold_missed"]:
        return "wrong, gold missed"
    return "wrong, gold found" if row["gold_found"] else "wrong"


def compare_runs(
    folder_a: Path, folder_b: Path, read: ReadMarked = read_marked
) -> pd.DataFrame:
    """The questions that two runs share, with the answers, scores and marks of both, by
    one measure. `outcome`: "win", "loss" or "tie" of the first run, or UNSCORED.
    """
    runs = list_runs([folder_a, folder_b])
    of_a, of_b = runs["metric"] + " on " + runs["dataset"]
    if of_a != of_b:
        raise UserError(f"found {of_a} and {of_b}, expected one measure and data set")
    a, b = (
        read(run.folder, run.metric).rename(columns={run.metric: "score"})
        for run in runs.itertuples()
    )
    of_each = ["id", "answer", "score", "mark"]
    shared = a[["question", "kind", "answers", "metric", *of_each]]
    table = shared.merge(b[of_each], on="id", suffixes=("_a", "_b"))
    if table.empty:
        names = " and ".join(label_runs(runs["about"]))
        raise UserError(f"found no question that both {names} were asked")
    # rounded: means that differ only in the order of their sums are equal
    signs = np.sign((table["score_a"] - table["score_b"]).round(9))
    outcomes = signs.map({1: "win", -1: "loss", 0: "tie"}).fillna(UNSCORED)
    return table.assign(outcome=outcomes)


def show_question(
    folder: Path, id: str, other: Path | None = None, read: ReadMarked = read_marked
) -> str:
    """One question of a run as HTML: gold answers and paragraphs, the answer, and every
    step with its exact prompt, replayed from the call cache; beside those of `other`.
    """
    runs = list_runs([folder, other] if other else [folder])
    answers = []
    for run in runs.assign(name=label_runs(runs["about"], sets=True)).itertuples():
        table = read(run.folder, run.metric)
        rows = table[table["id"] == id].to_dict("records")
        if not rows:
            raise UserError(f"{run.folder}: found no question {id!r} in {len(table)}")
        outcome = replay_known(run.folder, [id]).get(id)
        answers.append(show_answer(run.name, rows[0], outcome))
    questions, corpus = stored.open_questions(runs["about"][0])
    return MACROS["side_by_side"](answers, show_gold(questions[id], corpus))


def show_gold(question: Question, corpus: Corpus) -> Markup:
    """A question with its gold answers and paragraphs."""
    gold = [stored.find_paragraph(id, question, corpus) for id in question.gold]
    return MACROS["question"](question, gold)


def show_answer(name: str, row: Mapping, outcome: Outcome | None) -> Markup:
    """A row of `read_predictions`, and its replayed steps (None: they are lost)."""
    gold = *row["gold_found"], *row["gold_missed"]
    did = outcome or Outcome(row["id"], Prediction(row["answer"]), ())
    return MACROS["answer"](name, did, gold, row, known=outcome is not None)
