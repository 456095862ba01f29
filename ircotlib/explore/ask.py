"""Asks systems a question of your own; tries a program that is written in a cell."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from ircotlib.data import Prediction, Question, whole
from ircotlib.datasets import score
from ircotlib.errors import UserError
from ircotlib.experiment.runs import answer_all
from ircotlib.experiment.setup import Setup, open_setup
from ircotlib.explore.markup import trace_as_text
from ircotlib.parameters import Parameters
from ircotlib.program import Outcome, Program
from ircotlib.systems import SEARCHAIN, System, choose_systems
from ircotlib.text import plain

DEFAULT = ("NoR QA", "OneR QA", "IRCoT QA", "SearChain")  # the systems that are asked


class Answered(NamedTuple):
    """What a system did with a question. `model`: its name."""

    system: str
    model: str
    outcome: Outcome[Prediction]

    def __str__(self) -> str:
        result = self.outcome.result
        head = plain(f"{self.system}, {self.model}")
        last = plain(f"{self.system} answers: {result.answer or 'nothing'}")
        return f"{head}\n{trace_as_text(self.outcome.trace, result.nodes)}\n{last}"


def ask(p: Parameters, text: str, systems: Sequence[str] = ()) -> Iterator[Answered]:
    """Ask systems, by name, or else the parameters' or DEFAULT, a question about the
    corpus of MuSiQue or the first data set. The agent writes for SearChain's study.
    """
    dataset = "musique" if "musique" in p.datasets else p.datasets[0]
    question = Question("own", " ".join(text.split()), ("?",), (), dataset)
    if not question.text or question.text != whole(question.text):
        raise UserError("found no question, expected one in UTF-8")
    for system in choose_systems(systems or p.systems or DEFAULT):
        own = p.for_agent() if system.study == SEARCHAIN else p
        setup = open_setup(own, dataset, "ask")
        setting = setup.choose(system, k=p.k, m=[*p.distractors, 0][0])
        outcome = answer_all(setup, system, [question], **setting)[question.id]
        yield Answered(system.name, Path(own.model).name, outcome)


def try_program(
    setup: Setup, program: Callable[[Question], Program], questions: Sequence[Question]
) -> float:
    """Run a program; print the first question's steps; return the mean score, in %."""
    system = System(program.__name__, program)
    outcomes = answer_all(setup, system, questions)
    model = Path(setup.parameters.model).name
    print(Answered(system.name, model, outcomes[questions[0].id]))
    measure = system.measure(setup.dataset)
    scores = [score(q, outcomes[q.id].result, setup.scored_as) for q in questions]
    mean = 100 * fmean(each[measure] for each in scores)
    print(f"\n{system.name}: {measure} {mean:.1f}%, {len(questions)} questions")
    return mean
