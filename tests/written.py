"""Runs written by hand."""

import pandas as pd

from ircotlib.data import Node
from ircotlib.experiment import stored
from ircotlib.experiment.runs import Run
from ircotlib.systems import all_systems

TEXTS = dict.fromkeys(("answer", "reading", "fault"), "")
NOTHING = TEXTS | dict.fromkeys(("paragraphs", "thoughts", "nodes", "trace"), [])


def write_run(folder, opened, lines, scores, system, setting):
    """Write a run on the first questions of a setup.

    `lines`: fields of predictions.jsonl. `scores`: rows of recall and F1.
    """
    questions = opened.test[: len(lines)]
    table = pd.DataFrame(scores, columns=["recall", "f1"])
    table = table.assign(paragraphs=0, steps=0)
    table.insert(0, "kind", [question.kind for question in questions])
    table.insert(0, "id", [question.id for question in questions])
    rows = [{"id": q.id} | NOTHING | line for q, line in zip(questions, lines)]
    run = Run(opened, all_systems()[system], "test", setting)
    about = run.identity | {"questions": len(rows), "counts": {}}
    stored.write_run(folder, rows, table, about)


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
