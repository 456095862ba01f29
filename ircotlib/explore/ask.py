"""Asks systems a question of your own and shows every step: on the command line, in notebooks and
from Python.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ircotlib.data import Question
from ircotlib.errors import UserError
from ircotlib.parameters import Parameters
from ircotlib.program import (
    Duplicate,
    Extract,
    Generate,
    NearestTitle,
    Outcome,
    Retrieve,
    Sample,
    Step,
    unknown,
)
from ircotlib.running.experiment import answer
from ircotlib.running.setup import open_bench
from ircotlib.systems import IRCOT, System, all_systems, choose_systems

LONGEST = 1_000  # characters of a question
DEFAULT = ("NoR QA", "OneR QA", "IRCoT QA", "SearChain")  # the systems that are asked


class Asked(NamedTuple):
    """What a system did with a question."""

    system: str
    outcome: Outcome

    def __str__(self) -> str:
        steps = trace_as_text(self.outcome.trace)
        answer = _plain(self.outcome.result.answer) or "nothing"
        return f"{self.system}\n{steps}\n{self.system} answers: {answer}"


def own_question(text: str, dataset: str) -> Question:
    """A question record for a typed text; after 1,000 characters it is cut off, which stderr says.

    Raises UserError for an empty text.
    """
    text = " ".join(text.split())
    if not text:
        raise UserError("found no question, expected one, such as: Who founded …?")
    if len(text) > LONGEST:
        cut = f"the question is cut after {LONGEST:,} of its {len(text):,} characters"
        print(cut, file=sys.stderr, flush=True)
    return Question("own", text[:LONGEST].strip(), ("?",), (), dataset)


def ask(p: Parameters, text: str, systems: Sequence[str] = ()) -> Iterator[Asked]:
    """Ask systems, by their papers' names in any case, a question about the corpus of MuSiQue, or
    of the first data set if that is not among them; without names, the parameters' systems, or
    those of DEFAULT. The agent, if the parameters name one, plays the systems of SearChain's study.
    """
    dataset = "musique" if "musique" in p.datasets else p.datasets[0]
    question = own_question(text, dataset)
    m = p.distractors[0] if p.distractors else 0
    for system in find_systems(systems or p.systems):
        bench = open_bench(p if system.study == IRCOT else p.for_agent(), dataset, "00_tour")
        yield Asked(system.name, answer(bench, system, question, k=p.k, m=m))


def find_systems(names: Sequence[str] = ()) -> list[System]:
    """The systems of these names, in any case, or of DEFAULT. Raises UserError for others."""
    exact = {name.lower(): name for name in all_systems()}
    return choose_systems([exact.get(name.lower(), name) for name in names or DEFAULT])


def trace_as_text(trace: Sequence[Step]) -> str:
    """The steps of a trace, one per line, without prompts."""
    return "\n".join(f"{number}. {_line(step)}" for number, step in enumerate(trace, start=1))


def _line(step: Step) -> str:
    request, reply = step.request, step.reply
    match request:
        case Retrieve():
            what = f"retrieve {request.k} with “{request.query}”"
            found = " · ".join(paragraph.title for paragraph in reply)
        case NearestTitle():
            what = f"find the page titled most like “{request.title}”"
            found = " · ".join(reply)
        case Extract():
            what = f"read “{request.paragraph.title}” for “{request.query}”"
            found = f"{reply.text} ({reply.confidence:.2f})" if reply.text else ""
        case Duplicate():
            what = f"compare with {len(request.earlier)} earlier queries “{request.query}”"
            found = f"{reply:.2f}"
        case Generate():
            what, found = "generate", reply
        case Sample():
            what, found = f"draw {request.n}", " | ".join(one.text for one in reply)
        case _:
            raise unknown(request)
    return f"{_plain(what)} → {_plain(found) or 'nothing'}"


def _plain(text: str) -> str:
    """A text in one line, without control characters."""
    return "".join(one if one.isprintable() else " " for one in text).strip()
