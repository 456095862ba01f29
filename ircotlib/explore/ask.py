"""Asks the systems a question of your own and shows every step: in 00_tour, on the command line and
from Python.
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple

from ircotlib.data import Question
from ircotlib.explore.trace import plain, trace_as_text
from ircotlib.parameters import Parameters
from ircotlib.program import Outcome
from ircotlib.running.experiment import answer
from ircotlib.running.setup import open_bench
from ircotlib.systems import ANSWER, choose_systems

LONGEST = 1_000  # characters of a question


class Asked(NamedTuple):
    """What a system did with a question."""

    system: str
    outcome: Outcome

    def __str__(self) -> str:
        answer = plain(self.outcome.result.answer) or "nothing"
        return f"{trace_as_text(self.outcome.trace)}\n{self.system} answers: {answer}"


def own_question(text: str, dataset: str) -> Question:
    """A question record for a typed text; after 1,000 characters it is cut off, which stderr says.

    Raises ValueError for an empty text.
    """
    text = " ".join(text.split())
    if not text:
        raise ValueError("found no question, expected one, such as: Who was the mother of …?")
    if len(text) > LONGEST:
        cut = f"the question is cut after {LONGEST:,} of its {len(text):,} characters"
        print(cut, file=sys.stderr, flush=True)
    return Question("own", text[:LONGEST].strip(), ("?",), (), dataset)


def ask(p: Parameters, text: str) -> Iterator[Asked]:
    """Ask the systems that `p` names, or all of IRCoT's that answer, a question about the corpus of
    MuSiQue, or of the first data set if that is not among them.
    """
    dataset = "musique" if "musique" in p.datasets else p.datasets[0]
    question = own_question(text, dataset)
    bench = open_bench(p, dataset, "00_tour")
    for system in choose_systems(p.systems):
        if system.tuned_by == ANSWER:
            yield Asked(system.name, answer(bench, system, question, k=p.k, m=1))
