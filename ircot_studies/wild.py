"""In the wild: what each change of IRCoT costs, one at a time and as others combine
them (ours): on real text by a reader that guesses what it has not read, in the
laboratory by a model.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ircot_studies.ask_or_state import (
    DRAWS,
    Search,
    open_search,
    read_asked,
    states_or_guesses,
)
from ircot_studies.differences import compare_pair, draw_differences
from ircotlib.data import Question
from ircotlib.datasets import score
from ircotlib.engine import scheduler
from ircotlib.experiment.runs import Run
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import Parameters
from ircotlib.program import Generate, Program, Retrieve
from ircotlib.results.figures import LINE_COLORS
from ircotlib.results.runs import in_order
from ircotlib.results.statistics import LEVEL, holm
from ircotlib.results.tables import title_of
from ircotlib.systems import find_system
from ircotlib.systems import rewrites as axes
from ircotlib.systems.rewrites import CHAIN, NO_CAP, REWRITES, rewritten

RELEASED = "IRCoT QA"  # with K = 4
SINGLE: dict[str, dict] = {  # of the released program, one axis each
    RELEASED: {},
    **{f"{n} rounds": {"rounds": n} for n in (2, 3, 5)},
    "query: question + sentence": {"query": axes.AFTER_QUESTION},
    "query: question + all thoughts": {"query": axes.AFTER_THOUGHTS},
    "query: whole reply": {"query": axes.REPLY},
    "kept: all": {"max_paragraphs": NO_CAP},
    "kept: the last 15": {"kept": axes.NEWEST},
    "kept: the last retrieval": {"kept": axes.REPLACED},
    "kept: 15, best rank first": {"kept": axes.BEST_FIRST},
    "kept: all, worst rank first": {"kept": axes.WORST_FIRST, "max_paragraphs": NO_CAP},
    "answer: from the chain": {"answer": CHAIN},
    "answer: the last thought": {"answer": axes.LAST_THOUGHT},
    "answer: forced": {"answer": axes.FORCED},
    **{f"K = {k}": {"k": k} for k in (2, 8)},
}
# those that a reader shows which writes one sentence at a time, and no answer
READABLE = [name for name in SINGLE if not name.startswith(("answer", "query: whole"))]
NEVER, NEVER_CHAIN = "no answer phrase", "no answer phrase, answer from the chain"
SAYS = "So the answer is: "
COLUMNS = ["column", "change", "id", "value", "read", "calls"]


def measure_reader(p: Parameters) -> pd.DataFrame:
    """The reader on all questions whose steps have sub-questions: a row for each, and
    each change. `value`: whether all gold paragraphs were shown, in percent, the mean
    of DRAWS guesses; `read`: paragraphs of all its prompts; `calls`: its thoughts.
    """
    rows = []
    for dataset in p.datasets:
        questions = read_asked(p, dataset)
        if not questions:  # HotpotQA
            continue
        search = open_search(p, dataset)
        answers = sorted({step.answer for q in questions for step in q.steps})
        for question, name in product(questions, READABLE):
            given = question, search, answers, SINGLE[name]
            plays = [play(*given, draw) for draw in range(DRAWS)]
            rows.append((title_of(dataset), name, question.id, *np.mean(plays, axis=0)))
    return pd.DataFrame(rows, columns=COLUMNS)


def play(
    question: Question, search: Search, answers: Sequence[str], change: dict, draw: int
) -> tuple[float, int, int]:
    """Run the program with the reader of `states_or_guesses`; see `measure_reader`."""
    prompts = {"cot": lambda question, paragraphs, thoughts: paragraphs}
    program = rewritten(question, prompts=prompts, read=None, answer=CHAIN, **change)
    seen: set[str] = set()
    kept: set[str] = set()  # what the reader sees now
    sentences = states_or_guesses(question, kept, draw, answers)
    next(sentences)  # the question, which the program asks itself
    read = calls = 0
    reply: object = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration:
            return 100.0 * seen.issuperset(question.gold), read, calls
        if isinstance(request, Retrieve):
            reply = search(request.query)[: request.k]
            continue
        assert isinstance(request, Generate)
        kept.clear()
        kept.update(paragraph.id for paragraph in request.prompt)
        seen |= kept
        read += len(kept)
        calls += 1
        reply = next(sentences, f"{SAYS}known.")


def never_says(question: Question, **given) -> Program:
    """The program with a model that never writes the phrase which ends a chain, as chat
    models may not.
    """
    program = rewritten(question, **given)
    reply: object = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration as end:
            return end.value
        reply = yield request
        if isinstance(request, Generate):
            reply = str(reply).replace(SAYS, "It is ")


def measure_model(p: Parameters) -> pd.DataFrame:
    """A model with all changes, and as others run it, on the test questions; see
    `measure_reader`. `value`: F1 in percent; `read`: tokens of all its prompts.
    """
    base = find_system("FS-RAG")  # for its prompts, which all rewrites share
    ours = replace(base, program=rewritten, inner=None)
    never = replace(base, program=never_says, inner=rewritten)
    runs = [(name, ours, change) for name, change in SINGLE.items()]
    runs += [(NEVER, never, {}), (NEVER_CHAIN, never, {"answer": CHAIN})]
    runs += [(name, find_system(name), {}) for name in REWRITES]
    rows = []
    for dataset in p.datasets:
        setup = open_setup(p, dataset, "wild")
        programs = {}  # all at once, for full batches
        for name, system, change in runs:
            setting = setup.choose(base, m=[*p.distractors, 0][0]) | change
            run = Run(setup, system, "test", setting)
            for question in setup.test:
                programs[f"{name} {question.id}"] = run.program(question)
        outcomes, _ = scheduler.run(programs, setup.backends, setup.calls)
        for name, *_ in runs:
            for question in setup.test:
                outcome = outcomes[f"{name} {question.id}"]
                f1 = 100 * score(question, outcome.result, setup.scored_as)["f1"]
                calls = [s for s in outcome.trace if isinstance(s.request, Generate)]
                read = sum(step.prompt_tokens for step in calls)
                id = f"{dataset}/{question.id}"
                rows.append((title_of(p.model), name, id, f1, read, len(calls)))
    return pd.DataFrame(rows, columns=COLUMNS)


def find_losses(rows: pd.DataFrame) -> pd.DataFrame:
    """By how many points each change is below IRCoT QA on the same questions, with the
    95% interval and p corrected for all changes of a column (Holm); what is read and
    how often the model is called, for a question. The largest mean loss comes first.
    """
    losses = []
    for column, group in rows.groupby("column", sort=False):
        values = group.pivot(index="id", columns="change", values="value")
        costs = group.groupby("change")[["read", "calls"]].mean()
        for change in group["change"].unique():
            test = compare_pair(values[RELEASED], values[change])
            row = {"column": column, "change": change, **test, **costs.loc[change]}
            losses.append(row)
    table = pd.DataFrame(losses).drop(columns="mean_first")
    table = table.rename(columns={"mean_second": "mean", "difference": "lost"})
    tested = table[table["change"] != RELEASED]
    table["p_holm"] = tested.groupby("column")["p"].transform(holm)
    order = tested.groupby("change")["lost"].mean().sort_values(ascending=False)
    return in_order(table, "change", [RELEASED, *order.index]).round(4)


def draw_losses(losses: pd.DataFrame, labels: dict[str, str]) -> Figure:
    """Points lost by each change, side by side. `labels`: the points of each column."""
    changed = losses[losses["change"] != RELEASED]
    names = {name: name for name in changed["change"]}
    table = changed.assign(
        row=changed["change"],
        color=np.where(changed["p_holm"] < LEVEL, LINE_COLORS[0], LINE_COLORS[3]),
        tested=True,
        difference=changed["lost"],
    )
    title = "What each change of IRCoT costs (blue: significant)"
    figure = draw_differences(in_order(table, "column", labels), title, "column", names)
    for axis, label in zip(figure.axes, labels.values(), strict=True):
        axis.set_xlabel(label)
    return figure
