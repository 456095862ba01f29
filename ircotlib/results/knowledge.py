"""Knowledge in weights and in prompts, on MuSiQue's questions and their parts (SearChain A.2.1)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import pandas as pd

from ircotlib.data import Prediction, Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.datasets.musique import SubQuestion, read_parts
from ircotlib.engine.scheduler import run
from ircotlib.experiment.laboratory import data_folder
from ircotlib.experiment.setup import Setup, program_of
from ircotlib.files.paths import ROOT
from ircotlib.files.progress import show_progress
from ircotlib.metrics import cover_em
from ircotlib.program import LINE, Generate, Program
from ircotlib.results.statistics import mean_interval
from ircotlib.systems import System, choose_systems
from ircotlib.systems.readers import WritePrompt

Parts = Mapping[str, tuple[SubQuestion, ...]]


def find_parts(bench: Setup) -> Parts:
    """The parts of a bench's test questions, by question id, from the official file."""
    folder = ROOT / data_folder(bench.parameters.data_dir)
    parts = read_parts(find_questions(find_dataset("musique"), folder))
    return {question.id: parts[question.id] for question in bench.test}


def ask_parts(bench: Setup, system: System, parts: Parts) -> pd.DataFrame:
    """Ask a system each part as a question of its own, with the id "QUESTION/part N", N from 0;
    returns the table of `ask_questions`.
    """
    questions = []
    for question in bench.test:
        for n, part in enumerate(parts[question.id]):
            text = {"text": part.question, "answers": (part.answer,)}
            questions.append(replace(question, id=f"{question.id}/part {n}", **text))
    return ask_questions(bench, system, questions)


def ask_questions(bench: Setup, system: System, questions: Iterable[Question]) -> pd.DataFrame:
    """The cover-EM of a system's answers by id (`score`), and whether it is 1 (`right`)."""
    build = program_of(bench, system)
    return _run(bench, [(question, build(question)) for question in questions])


def _run(bench: Setup, pairs: Sequence[tuple[Question, Program]]) -> pd.DataFrame:
    programs = {question.id: program for question, program in pairs}
    with show_progress(f"{bench.dataset.name} parts", len(programs)) as progress:
        outcomes, _ = run(programs, bench.backends, bench.calls, progress)
    scores = {q.id: cover_em(outcomes[q.id].result.answer, q.answers) for q, _ in pairs}
    table = pd.DataFrame({"score": pd.Series(scores, dtype=float)})
    return table.assign(right=table["score"] == 1)


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


def compare_forms(bench: Setup, parts: Parts, of_parts: pd.DataFrame) -> pd.DataFrame:
    """One row per question, panel and i: whether the question is answered right when the model must
    know the last i parts by heart (SearChain Figure 10). The other parts are in the prompt, in
    panel "a" with their answers. Asked are questions whose last i parts (panel "a", S_i), or all
    parts (panel "b", S_all), the model answers right. `of_parts`: from `ask_parts`.
    """
    [system] = choose_systems(["Least-to-Most"])
    write = bench.prompt("solve", system=system)
    listen = getattr(bench.model, "listen", None)
    ask = partial(answer_given_parts, **bench.tokens(system))
    rows = []
    pairs = []
    for question in bench.test:
        of_one = parts[question.id]
        known = [of_parts["right"][f"{question.id}/part {n}"] for n in range(len(of_one))]
        for panel, i in product("ab", range(1, len(of_one) + 1)):
            # S_i: the last i parts are known; S_all: all are, with only questions in the prompt
            if all(known[-i:] if panel == "a" else known):
                variant = replace(question, id=f"{question.id} {panel}{i}")
                heard = listen(variant, system) if listen else None
                own = heard.writer(system.module, "solve", write) if heard else write
                given = of_one[: len(of_one) - i], panel == "a"
                pairs.append((variant, ask(variant, *given, write=own)))
                rows.append((question.id, panel, len(of_one), i))
    table = pd.DataFrame(rows, columns=["id", "panel", "hops", "i"])
    return table.assign(right=_run(bench, pairs)["right"].to_numpy())


def count_forms(forms: pd.DataFrame) -> pd.DataFrame:
    """Figure 10: accuracy, with its 95% interval, and number of questions by panel, hops and i; in
    the panel "a of b" those of "a" on the questions that panel "b" has, too. `forms`: from
    `compare_forms`.
    """
    panel_a, panel_b = (forms["panel"] == name for name in "ab")
    shared = forms[panel_a & forms["id"].isin(forms["id"][panel_b])].assign(panel="a of b")
    groups = pd.concat([forms, shared]).groupby(["panel", "hops", "i"])["right"]
    counted = groups.agg(accuracy="mean", n="size").reset_index()
    ends = [mean_interval(right) for _, right in groups]
    counted[["low", "high"]] = pd.DataFrame(ends, columns=["low", "high"])
    return counted.round(3)
