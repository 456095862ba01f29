"""Inspects runs question by question; `explore_box` is the widget over these functions."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from markupsafe import Markup

from ircotlib.data import Prediction, Question
from ircotlib.errors import UserError
from ircotlib.experiment import runs as of_runs
from ircotlib.explore.markup import answer_as_html, question_as_html, side_by_side
from ircotlib.program import Outcome
from ircotlib.results.causes import UNSCORED, find_causes
from ircotlib.retrieval.corpus import Corpus

BOTH = ["question", "kind", "answers", "metric"]  # columns that two runs share


def list_runs(folders: Iterable[Path]) -> pd.DataFrame:
    """List runs, a row per folder, with a `name`; `metric`: the measure to compare them
    by.
    """
    rows = []
    for folder in folders:
        about = of_runs.read_about(folder)
        setting = [
            f"{name} {value}".replace("_", " ")
            for name, value in about["setting"].items()
        ]
        name = ", ".join(
            [about["system"], *setting, Path(about["parameters"]["model"]).name]
        )
        row = {column: about[column] for column in ("dataset", "system", "metric")}
        rows.append(row | {"name": name, "folder": Path(folder)})
    return (
        pd.DataFrame(rows).assign(metric=of_runs.share_measure)
        if rows
        else pd.DataFrame()
    )


def compare_runs(folder_a: Path, folder_b: Path) -> pd.DataFrame:
    """The questions that two runs share, with the answers, scores and causes of both,
    by one measure. `outcome`: "win", "loss" or "tie" of the first run, or "not scored".
    """
    runs = list_runs([folder_a, folder_b])
    a, b = (
        run.set_index("id") for run in map(find_causes, runs["folder"], runs["metric"])
    )
    measured = [
        f"{run['metric'].iloc[0]} on {run['dataset'].iloc[0]}" for run in (a, b)
    ]
    shared = [id for id in a.index if id in b.index]
    if measured[0] != measured[1] or not shared:
        raise UserError(
            f"found {' and '.join(measured)}, expected the same questions and measure"
        )
    metric = a["metric"].iloc[0]
    table = a.loc[shared, BOTH]
    for letter, run in (("a", a), ("b", b)):
        columns = {"answer": "answer", metric: "score", "cause": "cause"}
        side = run.loc[shared, [*columns]].rename(columns=columns)
        table = table.join(side.add_suffix(f"_{letter}"))
    signs = np.sign((table["score_a"] - table["score_b"]).round(9))
    names = {1: "win", -1: "loss", 0: "tie"}
    return table.assign(outcome=signs.map(names).fillna(UNSCORED)).reset_index()


def show_question(folder: Path, id: str, other: Path | None = None) -> str:
    """One question of a run as HTML: gold answers and paragraphs, the answer, and every
    step with its exact prompt, replayed from the call cache; beside those of another
    run, if named.
    """
    answers = []
    for run in list_runs(filter(None, (folder, other))).to_dict("records"):
        causes = find_causes(run["folder"], run["metric"]).to_dict("records")
        rows = {row["id"]: row for row in causes}
        if id not in rows:
            raise UserError(
                f"{run['folder']}: found no question {id!r} among {len(rows)}"
            )
        outcome = of_runs.replay_known(run["folder"], [id]).get(id)
        answers.append(show_answer(run["name"], rows[id], outcome))
    questions, corpus = of_runs.open_questions(of_runs.read_about(folder))
    return side_by_side(answers, show_gold(questions[id], corpus))


def show_gold(question: Question, corpus: Corpus) -> Markup:
    """A question with its gold answers and paragraphs."""
    gold = [of_runs.find_paragraph(id, question, corpus) for id in question.gold]
    return question_as_html(question, gold)


def show_answer(name: str, row: Mapping, outcome: Outcome | None) -> Markup:
    """A run's answer to a question: its row of `find_causes`, and its steps, as they
    are replayed; without replies, a line that says so.
    """
    gold = *row["gold_found"], *row["gold_missed"]
    score = row[row["metric"]]
    facts = [f"{len(row['gold_found'])} of {len(gold)} gold paragraphs", row["cause"]]
    if not pd.isna(score):
        facts.insert(0, f"{row['metric']} {score:.2f}")
    if outcome is None:
        facts += [f"its steps are not shown: {of_runs.LOST}; {of_runs.AGAIN}"]
        outcome = Outcome(row["id"], Prediction(row["answer"], fault=row["fault"]), ())
    elif outcome.result.answer != row["answer"]:
        changed = "the system's program is another one now"
        facts += [f"when it was scored, it answered “{row['answer']}”: {changed}"]
    return answer_as_html(name, outcome, gold, facts)
