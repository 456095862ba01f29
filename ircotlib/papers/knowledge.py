"""Knowledge in weights and in prompts, on MuSiQue's questions and their parts (SearChain A.2.1)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import pandas as pd

from ircotlib.data import Prediction, Question
from ircotlib.engine.scheduler import run
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup
from ircotlib.metrics import cover_em
from ircotlib.papers.ceilings import fill
from ircotlib.papers.searchain import Row
from ircotlib.program import LINE, Generate, Program
from ircotlib.results.statistics import mean_interval
from ircotlib.systems import System, choose_systems
from ircotlib.systems.readers import WritePrompt


def parts_of(question: Question) -> list[Question]:
    """The parts of a question, with the answers of earlier ones, as questions of their own."""
    all_found = [True] * len(question.steps)
    parts = [(fill(question, n, all_found), step.answer) for n, step in enumerate(question.steps)]
    return [
        replace(question, id=f"{question.id}/part {n}", text=text, answers=(answer,))
        for n, (text, answer) in enumerate(parts)
    ]


def ask_questions(setup: Setup, system: System, questions: Sequence[Question]) -> pd.Series:
    """Whether a system answers questions right, by cover-EM."""
    outcomes = answer_all(setup, system, questions)
    right = {q.id: cover_em(outcomes[q.id].result.answer, q.answers) == 1 for q in questions}
    return pd.Series(right, dtype=bool)


def answer_given_parts(
    question: Question, parts: Sequence[Question], answered: bool, write: WritePrompt, **tokens: int
) -> Program:
    """Answer a question in a prompt that first lists some of its parts, with or without answers
    (SearChain A.2.1), in the form of Least-to-Most's last step (ours: no prompt is shown).
    """
    # with answers: knowledge in the prompt (Figure 10a); without: in the weights (Figure 10b)
    answers = [part.answers[0] if answered else "" for part in parts]
    texts = [*(part.text for part in parts), question.text]
    pairs = zip(answers, texts[1:], strict=True)
    so_far = "".join(f"{answer}\nQ: {following}\nA: " for answer, following in pairs)
    prompt = write(replace(question, text=texts[0]), thoughts=(so_far,))
    return Prediction((yield Generate(prompt, stop=LINE, **tokens)))


def compare_forms(setup: Setup, knows: pd.Series) -> pd.DataFrame:
    """One row per question, panel and i: whether the question is answered right when the model must
    know the last i parts by heart (SearChain Figure 10). The other parts are in the prompt, in
    panel "a" with their answers. Asked are questions whose last i parts (panel "a", S_i), or all
    parts (panel "b", S_all), the model answers right. `knows`: which parts it does,
    from `ask_questions`.
    """
    [system] = choose_systems(["Least-to-Most"])
    options = {"write": setup.prompt("solve", system=system), **setup.tokens(system)}
    rows, golds, programs = [], [], {}
    for question in setup.test:
        of_one = parts_of(question)
        known = [knows[part.id] for part in of_one]
        for panel, i in product("ab", range(1, len(of_one) + 1)):
            # S_i: the last i parts are known; S_all: all are, with only questions in the prompt
            if all(known[-i:] if panel == "a" else known):
                given = of_one[: len(of_one) - i], panel == "a"
                program = answer_given_parts(question, *given, **options)
                programs[f"{question.id} {panel}{i}"] = program
                rows.append((question.id, panel, len(of_one), i))
                golds.append(question.answers)
    outcomes, _ = run(programs, setup.backends, setup.calls)
    answers = [outcome.result.answer for outcome in outcomes.values()]
    right = [cover_em(*of) == 1 for of in zip(answers, golds, strict=True)]
    table = pd.DataFrame(rows, columns=["id", "panel", "hops", "i"])
    return table.assign(right=pd.Series(right, dtype=bool))


def count_forms(forms: pd.DataFrame) -> pd.DataFrame:
    """Figure 10: accuracy, with its 95% interval, and number of questions by panel, hops and i; in
    the panel "a of b" those of "a" on the questions that panel "b" has, too.
    """
    panel_a, panel_b = (forms["panel"] == name for name in "ab")
    shared = forms[panel_a & forms["id"].isin(forms["id"][panel_b])].assign(panel="a of b")
    groups = pd.concat([forms, shared]).groupby(["panel", "hops", "i"])["right"]
    counted = groups.agg(accuracy="mean", n="size").reset_index()
    ends = [mean_interval(right) for _, right in groups]
    counted[["low", "high"]] = pd.DataFrame(ends, columns=["low", "high"])
    return counted.round(3)


def measure_known(right: pd.Series, forms: pd.DataFrame) -> Iterator[Row]:
    """Accuracy, 0 to 1, on those of MuSiQue's questions whose parts the model all answers right
    (Table 7): panel "b" of `forms` has them (S_all, SearChain A.2.1). `right`: of `ask_questions`.
    """
    known = forms[forms["panel"] == "b"].drop_duplicates("id")
    for hops, ids in known.groupby("hops")["id"]:
        yield f"musique_{hops}hop", "LLM", "accuracy_where_parts_known", right[ids]
