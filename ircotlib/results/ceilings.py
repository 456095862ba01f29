"""The most that each system can find: a gold reader, which knows what each next step asks, writes
in place of a model (ours; docs/gold.md).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from ircotlib.data import Question
from ircotlib.datasets.musique import RELATION
from ircotlib.engine.cache import Calls
from ircotlib.errors import UserError
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import GOLD, Parameters
from ircotlib.program import Outcome, Retrieve
from ircotlib.results.statistics import mean_interval
from ircotlib.systems import all_systems


class Method(NamedTuple):
    """A system with a setting of its program, and its name in tables and figures."""

    name: str
    system: str
    setting: Mapping[str, object] = {}


# each system that retrieves, with its paper's or its program's setting; of OneR as many paragraphs
# as IRCoT keeps at most (footnote 5)
METHODS = [
    Method("OneR", "OneR", {"k": 15}),
    Method("IRCoT", "IRCoT", {"k": 4}),
    Method("SearChain", "SearChain"),
    Method("Self-Ask", "Self-Ask"),
    Method("ReAct", "ReAct"),
    Method("DecomP", "DecomP", {"k": 4}),
    Method("DSP", "DSP"),
    Method("Tree-of-Thought w/ IR", "Tree-of-Thought w/ IR"),
    Method("Verify-and-Edit", "Verify-and-Edit", {"always_edit": True}),
    Method("Plan-and-Solve w/ IR", "Plan-and-Solve w/ IR"),
    Method("ToolFormer", "ToolFormer"),
    Method("Direct Retrieval", "Direct Retrieval"),
]
METHODS_BY_K = [
    Method(name, name, {"k": k})
    for name in ("IRCoT", "OneR", "SearChain", "Tree-of-Thought w/ IR")
    for k in (1, 2, 3, 4, 6, 8)
]
METHODS_BY_RETRIEVER = [m for m in METHODS if m.name in ("OneR", "IRCoT", "SearChain", "DecomP")]
METHODS_BY_STEP = [m for m in METHODS if m.name in ("OneR", "IRCoT", "SearChain", "DSP")]


def find_ceilings(p: Parameters, methods: Sequence[Method]) -> tuple[pd.DataFrame, list[str]]:
    """Let methods answer all questions that have gold paragraphs, and count what they find: one row
    per data set, method and question; and why methods are left out, one line each.

    `found`: whether all gold paragraphs are among those that the system kept; `lost`: the steps
    (1, 2, …) of which no supporting paragraph is; `searched`: the paragraphs of the corpus.
    """
    rows, left_out = [], {}
    for dataset in p.datasets:
        # the gold reader takes no time: its replies are not stored
        gold = p.change(model=GOLD, dev=0, test=None)
        setup = open_setup(gold, dataset, "gold", calls=Calls())
        questions = [question for question in setup.test if question.gold]
        about = {"dataset": dataset, "searched": len(setup.retriever.corpus)}
        for method in methods:
            system = all_systems()[method.system]
            try:
                setup.model.check(setup.test[0], system)
            except UserError as error:
                left_out[str(error)] = None
                continue
            outcomes = answer_all(setup, system, questions, **method.setting)
            named = {"method": method.name, "system": system.name, "k": method.setting.get("k")}
            rows += [about | named | _count_found(q, outcomes[q.id]) for q in questions]
    return pd.DataFrame(rows), list(left_out)


def _count_found(question: Question, outcome: Outcome) -> dict:
    """How much was found for a question, at what cost, and the steps of which nothing was."""
    ids = {paragraph.id for paragraph in outcome.result.paragraphs}
    steps, gold = question.steps, {*question.gold}
    # MuSiQue has sub-questions in natural words and as relations ("Ada Moss >> father"); where
    # there are none, the steps are sentences
    relations = any(RELATION in step.question for step in steps)
    asked = all(step.question for step in steps)
    return {
        "id": question.id,
        "hops": len(steps),
        "wording": "sentences" if not asked else "relations" if relations else "natural",
        "found": float(gold <= ids),
        "recall": len(ids & gold) / len(gold),
        "paragraphs": len(ids),
        "retrievals": sum(isinstance(step.request, Retrieve) for step in outcome.trace),
        "lost": [n for n, step in enumerate(steps, 1) if step.gold and ids.isdisjoint(step.gold)],
    }


def average_found(rows: pd.DataFrame, *by: str) -> pd.DataFrame:
    """For each group: `mean`, the share of questions of which all gold paragraphs were found, with
    its 95% interval, and the mean recall, in percent; paragraphs and retrievals a question.
    """
    groups = rows.groupby(list(by), sort=False, dropna=False)
    ends = groups["found"].agg(lambda found: mean_interval(found.to_numpy())).tolist()
    means = groups[["found", "recall", "paragraphs", "retrievals"]].mean()
    table = pd.DataFrame(
        {
            "mean": 100 * means["found"],
            **{end: [100 * pair[n] for pair in ends] for n, end in enumerate(("low", "high"))},
            "recall": 100 * means["recall"],
            "n": groups.size(),
            **means[["paragraphs", "retrievals"]],
        }
    )
    return table.round(3).reset_index()


def average_steps(rows: pd.DataFrame, fewest: int = 20) -> pd.DataFrame:
    """For each data set, number of steps and system, and each step: `mean`, the share of questions
    of which a paragraph that supports the step was found, with its 95% interval, in percent; of
    data sets that state sub-questions, and of numbers of steps that at least `fewest` questions
    have.
    """
    asked = rows[rows["wording"] != "sentences"]
    each = asked.assign(step=[range(1, hops + 1) for hops in asked["hops"]])
    each = each.explode("step", ignore_index=True)
    lost = [step in lost for step, lost in zip(each["step"], each["lost"], strict=True)]
    each = each.assign(found=1.0 - pd.Series(lost))
    table = average_found(each, "dataset", "hops", "system", "step")
    columns = ["dataset", "hops", "system", "step", "mean", "low", "high", "n"]
    return table[table["n"] >= fewest].sort_values(["dataset", "hops"], kind="stable")[columns]
