"""Runs question by question; `explore_box` is the widget over these functions."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from ircotlib.data import Prediction, Question
from ircotlib.errors import UserError
from ircotlib.experiment.replay import LOST, replay_known
from ircotlib.experiment.stored import (
    AGAIN,
    find_paragraph,
    open_questions,
    parameters_of,
    read_about,
    share_measure,
)
from ircotlib.explore.markup import answer_as_html, question_as_html, side_by_side
from ircotlib.program import Outcome
from ircotlib.results.causes import UNSCORED, find_causes
from ircotlib.retrieval.corpus import Corpus

# `find_causes`, or one that keeps its tables; of a run's folder and a measure
FindCauses = Callable[[Path, str], pd.DataFrame]


def list_runs(folders: Iterable[Path]) -> pd.DataFrame:
    """List runs, a row per folder, with a `name`; `metric`: to compare them by."""
    rows = []
    for folder in folders:
        about = read_about(folder)
        setting = [f"{n} {v}".replace("_", " ") for n, v in about["setting"].items()]
        model = Path(about["parameters"]["model"]).name
        row = {column: about[column] for column in ("dataset", "system", "metric")}
        row["name"] = ", ".join([about["system"], *setting, model])
        rows.append(row | {"folder": Path(folder)})
    runs = pd.DataFrame(rows)
    return runs.assign(metric=share_measure) if rows else runs


def name_experiment(about: Mapping) -> str:
    """A run's experiment in words: its notebook, and what its parameters change."""
    shown = about["shown"] and f"shown {about['shown']}"
    words = [about["experiment"], about["grid_of"], shown]
    return " ".join(filter(None, [*words, parameters_of(about).command_line()]))


def compare_runs(
    folder_a: Path, folder_b: Path, find: FindCauses = find_causes
) -> pd.DataFrame:
    """The questions that two runs share, with the answers, scores and causes of both,
    by one measure. `outcome`: "win", "loss" or "tie" of the first run, or "not scored".
    """
    runs = list_runs([folder_a, folder_b])
    of_a, of_b = runs["metric"] + " on " + runs["dataset"]
    if of_a != of_b:
        raise UserError(
            f"found {of_a} and {of_b}, expected the same questions and measure"
        )
    metric = runs["metric"][0]
    a, b = (
        find(run, metric).rename(columns={metric: "score"}) for run in runs["folder"]
    )
    of_run = ["answer", "score", "cause"]
    a = a[["id", "question", "kind", "answers", "metric", *of_run]]
    table = a.merge(b[["id", *of_run]], on="id", suffixes=("_a", "_b"))
    # rounded: means that differ only in the order of their sums are equal
    signs = np.sign((table["score_a"] - table["score_b"]).round(9))
    outcomes = signs.map({1: "win", -1: "loss", 0: "tie"}).fillna(UNSCORED)
    return table.assign(outcome=outcomes)


def show_question(
    folder: Path, id: str, other: Path | None = None, find: FindCauses = find_causes
) -> str:
    """One question of a run as HTML: gold answers and paragraphs, the answer, and every
    step with its exact prompt, replayed from the call cache; beside those of `other`.
    """
    answers = []
    for run in list_runs(filter(None, (folder, other))).to_dict("records"):
        table = find(run["folder"], run["metric"]).set_index("id", drop=False)
        outcome = replay_known(run["folder"], [id]).get(id)
        answers.append(show_answer(run["name"], table.loc[id].to_dict(), outcome))
    questions, corpus = open_questions(read_about(folder))
    return side_by_side(answers, show_gold(questions[id], corpus))


def show_gold(question: Question, corpus: Corpus) -> Markup:
    """A question with its gold answers and paragraphs."""
    gold = [find_paragraph(id, question, corpus) for id in question.gold]
    return question_as_html(question, gold)


def show_answer(name: str, row: Mapping, outcome: Outcome | None) -> Markup:
    """A run's answer to a question: its row of `find_causes`, and its replayed steps
    (None: the replies are lost, and a line says so).
    """
    gold = *row["gold_found"], *row["gold_missed"]
    facts = [f"{len(row['gold_found'])} of {len(gold)} gold paragraphs", row["cause"]]
    score = row[row["metric"]]
    if not pd.isna(score):
        facts.insert(0, f"{row['metric']} {score:.2f}")
    if outcome is None:
        facts.append(f"its steps are not shown: {LOST}; {AGAIN}")
        outcome = Outcome(row["id"], Prediction(row["answer"], fault=row["fault"]), ())
    elif outcome.result.answer != row["answer"]:
        before = f"when it was scored, it answered “{row['answer']}”"
        facts.append(f"{before}: the system's program is another one now")
    return answer_as_html(name, outcome, gold, facts)
