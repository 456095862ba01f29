"""Run folders written by hand."""

import json

import pandas as pd

from ircotlib.data import Node
from ircotlib.files import write_table

NOTHING = {"answer": "", "paragraphs": [], "thoughts": [], "reading": "", "nodes": []}
NOTHING |= {"fault": "", "trace": []}


def write_run(
    folder, opened, lines, scores, system="IRCoT QA", setting=(), metric="f1", more=()
):
    """Write a run on the first questions of a setup: fields of predictions.jsonl,
    recall and F1, and `more` scores. `metric`: the run's own.
    """
    folder.mkdir(parents=True)
    about = {
        "experiment": "by_hand",
        "dataset": opened.dataset.name,
        "part": "test",
        "system": system,
    }
    about |= {"setting": dict(setting), "metric": metric, "shown": None, "grid_of": ""}
    about |= {
        "parameters": opened.parameters.model_dump(mode="json"),
        "questions": len(lines),
    }
    questions = opened.test[: len(lines)]
    rows = [
        {"id": q.id} | NOTHING | line for q, line in zip(questions, lines, strict=True)
    ]
    (folder / "predictions.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    table = pd.DataFrame(scores, columns=["recall", "f1", *more])
    table = table.assign(paragraphs=0, steps=0)
    table.insert(0, "kind", [question.kind for question in questions])
    table.insert(0, "id", [question.id for question in questions])
    write_table(folder / "scores.csv", table)
    (folder / "run.json").write_text(json.dumps(about))
    return folder


def node(mark=1, feedback=""):
    """A node that was compared with a passage."""
    return Node(
        "q?", "a", 1, mark, passage="p", found="b", feedback=feedback, mark=mark
    )


def run(scores, nodes=(), thoughts=(), reading=""):
    """A run as read_all_runs returns it, with a row for each score."""
    table = pd.DataFrame(
        {"score": scores}, [f"q{n}" for n in range(len(scores))], dtype=float
    )
    lists = {
        "thoughts": [thoughts] * len(scores),
        "nodes": [tuple(nodes)] * len(scores),
    }
    return table.assign(
        kind="2hop", reading=reading, right=table["score"] == 1, **lists
    )
