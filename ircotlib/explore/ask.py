"""Asks systems a question of your own and shows every step."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ircotlib.data import Prediction, Question
from ircotlib.errors import UserError
from ircotlib.experiment.runs import answer_all, name_model
from ircotlib.experiment.setup import open_dataset, open_model, open_setup
from ircotlib.explore.markup import answers_as_html
from ircotlib.explore.trace import trace_as_text
from ircotlib.parameters import GOLD, Parameters
from ircotlib.program import Outcome
from ircotlib.systems import System, all_systems, choose_systems
from ircotlib.text import plain

LONGEST = 1_000  # characters of a question
DEFAULT = ("NoR QA", "OneR QA", "IRCoT QA", "SearChain")  # the systems that are asked


class Answered(NamedTuple):
    """What a system did with a question."""

    system: str
    outcome: Outcome[Prediction]
    model: str  # its name

    def __str__(self) -> str:
        steps = trace_as_text(self.outcome.trace, self.outcome.result.nodes)
        answer = plain(self.outcome.result.answer) or "nothing"
        return f"{self.system}, {self.model}\n{steps}\n{self.system} answers: {answer}"


def own_question(text: str, dataset: str) -> Question:
    """A record for a typed question, cut after 1,000 characters; UserError for an empty text."""
    text = " ".join(text.split())
    if not text:
        raise UserError("found no question, expected one, such as: Who founded …?")
    if len(text) > LONGEST:
        cut = f"the question is cut after {LONGEST:,} of its {len(text):,} characters"
        print(cut, file=sys.stderr, flush=True)
    return Question("own", text[:LONGEST].strip(), ("?",), (), dataset)


def ask(p: Parameters, text: str, systems: Sequence[str] = ()) -> Iterator[Answered]:
    """Ask systems, by name, those of the parameters or those of DEFAULT a question about the corpus
    of MuSiQue or, without it, of the first data set. The agent, if there is one, plays the systems
    of SearChain's study. The gold reader, which has only the steps of the data set's questions, is
    asked one of these by its text; UserError for another.
    """
    dataset = "musique" if "musique" in p.datasets else p.datasets[0]
    question = own_question(text, dataset)
    asked = find_systems(systems or p.systems)
    if p.model == GOLD:
        p = p.change(dev=0, test=None)
        stated = {" ".join(one.text.split()): one for one in open_dataset(p, dataset)[1]}
        if question.text not in stated:
            found = f"found none of {dataset} with the text {question.text!r}"
            raise UserError(f"question: {found}, expected one: the gold reader knows no other")
        question = stated[question.text]
        for system in asked:
            open_model(p).check(question, system)
    m = p.distractors[0] if p.distractors else 0
    for system in asked:
        own = p.for_agent() if system.study.by_agent else p
        bench = open_setup(own, dataset, "00_tour")
        model = Path(name_model(own)).name
        setting = bench.choose(system, k=p.k, m=m)
        outcome = answer_all(bench, system, [question], **setting)[question.id]
        yield Answered(system.name, outcome, model)


def ask_as_html(p: Parameters, text: str, systems: Sequence[str]) -> str:
    """What one or two systems did with a question, ready to be shown; see `ask`."""
    asked = {answered.system: answered for answered in ask(p, text, systems)}
    return answers_as_html({name: asked[name].outcome for name in systems})


def find_systems(names: Sequence[str] = ()) -> list[System]:
    """The systems of these names, in any case, or of DEFAULT. Raises UserError for others."""
    exact = {name.lower(): name for name in all_systems()}
    return choose_systems([exact.get(name.lower(), name) for name in names or DEFAULT])
