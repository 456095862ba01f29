"""Runs question by question; `explore_box` is the widget over these functions."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from ircotlib.data import Prediction, Question
from ircotlib.errors import DataError, UserError
from ircotlib.experiment import stored
from ircotlib.experiment.replay import replay_known
from ircotlib.explore.markup import MACROS, question_as_html
from ircotlib.program import Outcome
from ircotlib.results.causes import UNSCORED, find_causes
from ircotlib.retrieval.corpus import Corpus

# `find_causes`, or one that keeps its tables; of a run's folder and a measure
FindCauses = Callable[[Path, str], pd.DataFrame]
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


def list_runs(folders: Iterable[Path]) -> pd.DataFrame:
    """List runs, a row per folder: what is in run.json, also as `about`, and a `name`;
    `metric`: to compare them by.
    """
    rows = []
    for folder in folders:
        about = stored.read_about(folder)
        setting = [f"{n} {v}".replace("_", " ") for n, v in about["setting"].items()]
        model = Path(about["parameters"]["model"]).name
        name = ", ".join([about["system"], *setting, model])
        rows.append(about | {"name": name, "folder": Path(folder), "about": about})
    return pd.DataFrame(rows).assign(metric=stored.share_measure)


def label_runs(abouts: Iterable[Mapping], sets: bool = False) -> list[str]:
    """Name runs by their systems, and several of one system on a data set also by what
    differs in settings, experiments and parameters: "ReAct, K 4"; by the demonstration
    sets only with `sets`.
    """
    facts = []
    for about in abouts:
        named = ("system", "dataset", "experiment", "shown", "grid_of")
        own = about["setting"] | {name: about[name] for name in named}
        # its own come first, and count: a run's K, not that of its parameters
        facts.append(own | about["parameters"] | own)
    labels = [fact["system"] for fact in facts]
    names = dict.fromkeys(name for fact in facts for name in fact if name != SET)
    for name in (*names, SET) if sets else names:
        alike: dict[tuple, set] = {}  # the values of runs that have one label by now
        for label, fact in zip(labels, facts, strict=True):
            place = label, fact["dataset"], name != SET and fact.get(SET)
            alike.setdefault(place, set()).add(str(fact.get(name)))
        differing = {label for (label, *_), values in alike.items() if len(values) > 1}
        word = WORDS.get(name, name.replace("_", " "))
        for at, (label, fact) in enumerate(zip(labels, facts, strict=True)):
            # a path without the folders of the machine that has it
            value = Path(str(fact.get(name))).name
            if label in differing and value not in ("None", ""):
                labels[at] += f", {word} {value}"
    return labels


def compare_runs(
    folder_a: Path, folder_b: Path, find: FindCauses = find_causes
) -> pd.DataFrame:
    """The questions that two runs share, with the answers, scores and causes of both,
    by one measure. `outcome`: "win", "loss" or "tie" of the first run, or "not scored".
    """
    runs = list_runs([folder_a, folder_b])
    a, b = (find(run.folder, run.metric).set_index("id") for run in runs.itertuples())
    of_a, of_b = runs["metric"] + " on " + runs["dataset"]
    if of_a != of_b:
        raise UserError(f"found {of_a} and {of_b}, expected one measure and data set")
    shared = [id for id in a.index if id in b.index]
    if not shared:
        names = " and ".join(label_runs(runs["about"]))
        raise UserError(f"found no question that both {names} were asked")
    table = a.loc[shared, ["question", "kind", "answers", "metric"]]
    columns = {"answer": "answer", runs["metric"][0]: "score", "cause": "cause"}
    for suffix, run in (("_a", a), ("_b", b)):
        of_run = run.loc[shared, [*columns]].rename(columns=columns)
        table = table.join(of_run.add_suffix(suffix))
    # rounded: means that differ only in the order of their sums are equal
    signs = np.sign((table["score_a"] - table["score_b"]).round(9))
    outcomes = signs.map({1: "win", -1: "loss", 0: "tie"}).fillna(UNSCORED)
    return table.assign(outcome=outcomes).reset_index()


def show_question(
    folder: Path, id: str, other: Path | None = None, find: FindCauses = find_causes
) -> str:
    """One question of a run as HTML: gold answers and paragraphs, the answer, and every
    step with its exact prompt, replayed from the call cache; beside those of `other`.
    """
    answers = []
    for run in list_runs(filter(None, (folder, other))).itertuples():
        table = find(run.folder, run.metric)
        rows = table[table["id"] == id].to_dict("records")
        if not rows:
            raise UserError(f"{run.folder}: found no question {id!r} in {len(table)}")
        outcome = replay_known(run.folder, [id]).get(id)
        answers.append(show_answer(run.name, rows[0], outcome))
    questions, corpus = stored.open_questions(stored.read_about(folder))
    return MACROS["side_by_side"](answers, show_gold(questions[id], corpus))


def show_gold(question: Question, corpus: Corpus) -> Markup:
    """A question with its gold answers and paragraphs."""
    gold = [stored.find_paragraph(id, question, corpus) for id in question.gold]
    return question_as_html(question, gold)


def show_answer(name: str, row: Mapping, outcome: Outcome | None) -> Markup:
    """A run's row of `find_causes`, and its replayed steps (None: they are lost)."""
    gold = *row["gold_found"], *row["gold_missed"]
    did = outcome or Outcome(row["id"], Prediction(row["answer"]), ())
    return MACROS["answer"](name, did, gold, row, known=outcome is not None)
