"""Knowledge in weights and in prompts, on MuSiQue's questions and their parts (SearChain A.2.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import pandas as pd

from ircotlib.data import Prediction, Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.datasets.musique import SubQuestion, read_parts
from ircotlib.engine.scheduler import run
from ircotlib.experiment.laboratory import data_folder
from ircotlib.experiment.setup import Setup, program_of
from ircotlib.files import ROOT
from ircotlib.metrics import cover_em
from ircotlib.papers.searchain import Row
from ircotlib.program import LINE, Generate, Program
from ircotlib.results.statistics import mean_interval
from ircotlib.systems import System, WritePrompt, choose_systems

Parts = Mapping[str, Sequence[SubQuestion]]  # by question id


def find_parts(setup: Setup) -> Parts:
    """The parts of a setup's test questions, from the official file."""
    folder = ROOT / data_folder(setup.parameters.data_dir)
    parts = read_parts(find_questions(find_dataset("musique"), folder))
    return {question.id: parts[question.id] for question in setup.test}


def ask_parts(setup: Setup, system: System, parts: Parts) -> pd.Series:
    """Whether a system answers right (`ask_questions`) each part, as a question of its own with the
    id "QUESTION/part N", N from 0.
    """
    texts = {f"{id}/part {n}": part for id, of in parts.items() for n, part in enumerate(of)}
    of_any = setup.test[0]
    questions = [
        replace(of_any, id=id, text=part.question, answers=(part.answer,))
        for id, part in texts.items()
    ]
    return ask_questions(setup, system, questions)


def ask_questions(setup: Setup, system: System, questions: Iterable[Question]) -> pd.Series:
    """Whether a system answers questions right, by cover-EM."""
    build = program_of(setup, system)
    return _answer(setup, {question: build(question) for question in questions})


def _answer(setup: Setup, programs: Mapping[Question, Program]) -> pd.Series:
    named = {question.id: program for question, program in programs.items()}
    outcomes, _ = run(named, setup.backends, setup.calls)
    right = {q.id: cover_em(outcomes[q.id].result.answer, q.answers) == 1 for q in programs}
    return pd.Series(right, dtype=bool)


def answer_given_parts(
    question: Question,
    parts: Sequence[SubQuestion],
    answered: bool,
    write: WritePrompt,
    max_tokens: int,
) -> Program:
    """Answer a question in a prompt that first lists some of its parts, with or without answers
    (SearChain A.2.1), in the form of Least-to-Most's last step (ours: no prompt is shown).
    """
    # with answers: knowledge in the prompt (Figure 10a); without: in the weights (Figure 10b)
    answers = [part.answer if answered else "" for part in parts]
    texts = [*(part.question for part in parts), question.text]
    pairs = zip(answers, texts[1:], strict=True)
    so_far = "".join(f"{answer}\nQ: {following}\nA: " for answer, following in pairs)
    prompt = write(replace(question, text=texts[0]), thoughts=(so_far,))
    return Prediction((yield Generate(prompt, stop=LINE, max_tokens=max_tokens)))


def compare_forms(setup: Setup, parts: Parts, knows: pd.Series) -> pd.DataFrame:
    """One row per question, panel and i: whether the question is answered right when the model must
    know the last i parts by heart (SearChain Figure 10). The other parts are in the prompt, in
    panel "a" with their answers. Asked are questions whose last i parts (panel "a", S_i), or all
    parts (panel "b", S_all), the model answers right. `knows`: from `ask_parts`.
    """
    [system] = choose_systems(["Least-to-Most"])
    options = {"write": setup.prompt("solve", system=system), **setup.tokens(system)}
    rows, programs = [], {}
    for question in setup.test:
        of_one = parts[question.id]
        known = [knows[f"{question.id}/part {n}"] for n in range(len(of_one))]
        for panel, i in product("ab", range(1, len(of_one) + 1)):
            # S_i: the last i parts are known; S_all: all are, with only questions in the prompt
            if all(known[-i:] if panel == "a" else known):
                given = of_one[: len(of_one) - i], panel == "a"
                variant = replace(question, id=f"{question.id} {panel}{i}")
                programs[variant] = answer_given_parts(variant, *given, **options)
                rows.append((question.id, panel, len(of_one), i))
    table = pd.DataFrame(rows, columns=["id", "panel", "hops", "i"])
    return table.assign(right=_answer(setup, programs).to_numpy())


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
