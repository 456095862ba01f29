"""The parts of questions, as data sets state them: which parts of MuSiQue's a model
knows by heart, and which it needs in its prompt (SearChain A.2.1).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import pandas as pd

from ircotlib.data import Prediction, Question
from ircotlib.engine.scheduler import run
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup
from ircotlib.metrics import cover_em
from ircotlib.papers.searchain import Measured
from ircotlib.program import LINE, Generate, Program
from ircotlib.results.statistics import mean_interval
from ircotlib.systems import System, WritePrompt, choose_systems

PLACE = re.compile(r"#(\d+)")  # where a sub-question has the answer of an earlier step


def fill(question: Question, number: int, answers: Sequence[str]) -> str:
    """The sub-question of a step with `answers` to those before it."""

    def answer(place: re.Match) -> str:
        earlier = int(place[1]) - 1
        return answers[earlier] if 0 <= earlier < number else place[0]

    return " ".join(PLACE.sub(answer, question.steps[number].question).split())


def parts_of(question: Question) -> list[Question]:
    """The parts of a question, with earlier answers, as questions of their own."""
    answers = [step.answer for step in question.steps]
    return [
        replace(
            question,
            id=f"{question.id}/part {number}",
            text=fill(question, number, answers),
            answers=(step.answer,),
        )
        for number, step in enumerate(question.steps)
    ]


def ask_questions(
    setup: Setup, system: System, questions: Sequence[Question]
) -> pd.Series:
    """Whether a system answers questions right, by cover-EM, by their ids."""
    outcomes = answer_all(setup, system, questions)
    answers = {each.id: outcomes[each.id].result.answer for each in questions}
    right = {q.id: cover_em(answers[q.id], q.answers) == 1 for q in questions}
    return pd.Series(right, dtype=bool)


def answer_given_parts(
    question: Question,
    parts: Sequence[Question],
    answered: bool,
    write: WritePrompt,
    max_tokens: int,
) -> Program:
    """Answer a question in a prompt that first lists some of its parts, with or without
    answers (SearChain A.2.1), in the form of Least-to-Most's last step (ours: no prompt
    is shown).
    """
    # with answers: knowledge in the prompt (Figure 10a); without: in the weights (10b)
    answers = [part.answers[0] if answered else "" for part in parts]
    texts = [*(part.text for part in parts), question.text]
    pairs = zip(answers, texts[1:], strict=True)
    so_far = "".join(f"{answer}\nQ: {following}\nA: " for answer, following in pairs)
    prompt = write(replace(question, text=texts[0]), thoughts=(so_far,))
    answer = yield Generate(prompt, stop=LINE, max_tokens=max_tokens)
    return Prediction(answer)


def compare_forms(setup: Setup, knows: pd.Series) -> pd.DataFrame:
    """One row per question, panel and i: whether the question is answered right when
    the model must know its last i parts by heart (SearChain Figure 10). The prompt has
    the other parts: in panel "a" with their answers, in "b" without. Panel "a" has the
    questions whose last i parts the model answers right (S_i), "b" those of which it
    does all (S_all). `knows`: whether it answers a part right (`ask_questions`).
    """
    [system] = choose_systems(["Least-to-Most"])
    write = setup.prompt("solve", system=system)
    most = setup.tokens(system)["max_tokens"]
    rows, programs = [], {}
    for question in setup.test:
        parts = parts_of(question)
        known = [knows[part.id] for part in parts]
        for panel, i in product("ab", range(1, len(parts) + 1)):
            if not all(known[-i:] if panel == "a" else known):  # S_i, or S_all
                continue
            given = parts[: len(parts) - i]
            program = answer_given_parts(question, given, panel == "a", write, most)
            programs[f"{question.id} {panel}{i}"] = program
            rows.append((question.id, panel, len(parts), i, question.answers))
    outcomes, _ = run(programs, setup.backends, setup.calls)
    answers = [outcome.result.answer for outcome in outcomes.values()]
    table = pd.DataFrame(rows, columns=["id", "panel", "hops", "i", "golds"])
    right = [score == 1 for score in map(cover_em, answers, table.pop("golds"))]
    return table.assign(right=pd.Series(right, dtype=bool))


def count_forms(forms: pd.DataFrame) -> pd.DataFrame:
    """Figure 10: accuracy, with its 95% interval, and number of questions by panel,
    hops and i; in the panel "a of b" those of "a" on the questions that panel "b" has,
    too.
    """
    of_b = forms["id"].isin(forms["id"][forms["panel"] == "b"])
    shared = forms[(forms["panel"] == "a") & of_b].assign(panel="a of b")
    groups = pd.concat([forms, shared]).groupby(["panel", "hops", "i"])["right"]
    counted = groups.agg(accuracy="mean", n="size").reset_index()
    ends = [mean_interval(right) for _, right in groups]
    counted[["low", "high"]] = pd.DataFrame(ends, columns=["low", "high"])
    return counted.round(3)


def measure_known(right: pd.Series, forms: pd.DataFrame) -> Iterator[Measured]:
    """Accuracy, 0 to 1, on the questions of MuSiQue all of whose parts the model
    answers right (Table 7): panel "b" of `forms` has them (S_all, SearChain A.2.1).
    `right`: of `ask_questions`.
    """
    metric = "accuracy_where_parts_known"
    known = forms[forms["panel"] == "b"].drop_duplicates("id")
    for hops, ids in known.groupby("hops")["id"]:
        yield Measured(f"musique_{hops}hop", "LLM", metric, right[ids])
