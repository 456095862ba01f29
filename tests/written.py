"""Run folders written by hand."""

import json

import pandas as pd

from ircotlib.data import Node
from ircotlib.files import write_table

TEXTS = dict.fromkeys(("answer", "reading", "fault"), "")
NOTHING = TEXTS | dict.fromkeys(("paragraphs", "thoughts", "nodes", "trace"), [])


def write_run(
    folder, opened, lines, scores, system="IRCoT QA", setting=(), metric="f1", more=()
):
    """Write a run on the first questions of a setup.

    `lines`: fields of predictions.jsonl. `scores`: rows of recall, F1 and `more`.
    """
    folder.mkdir(parents=True)
    description = {
        "experiment": "by_hand",
        "dataset": opened.dataset.name,
        "part": "test",
        "system": system,
        "setting": dict(setting),
        "metric": metric,
        "shown": None,
        "grid_of": "",
        "parameters": opened.parameters.model_dump(mode="json"),
        "questions": len(lines),
    }
    questions = opened.test[: len(lines)]
    with (folder / "predictions.jsonl").open("w") as file:
        for question, line in zip(questions, lines, strict=True):
            file.write(json.dumps({"id": question.id} | NOTHING | line) + "\n")
    table = pd.DataFrame(scores, columns=["recall", "f1", *more])
    table = table.assign(paragraphs=0, steps=0)
    table.insert(0, "kind", [question.kind for question in questions])
    table.insert(0, "id", [question.id for question in questions])
    write_table(folder / "scores.csv", table)
    (folder / "run.json").write_text(json.dumps(description))
    return folder


def node(mark=1, feedback=""):
    """A node that was compared with a passage."""
    read = {"passage": "p", "found": "b", "feedback": feedback}
    return Node("q?", "a", 1, mark, **read, mark=mark)


def run(scores, nodes=(), thoughts=(), reading=""):
    """A run as read_all_runs returns it, with a row for each score."""
    ids = [f"q{n}" for n in range(len(scores))]
    table = pd.DataFrame({"score": scores}, ids, dtype=float)
    return table.assign(
        kind="2hop",
        reading=reading,
        right=table["score"] == 1,
        thoughts=[thoughts] * len(scores),
        nodes=[tuple(nodes)] * len(scores),
    )
