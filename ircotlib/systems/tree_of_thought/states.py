"""Tree-of-Thought's states, and its steps: proposing thoughts, voting (Yao et al. 2023, §3), and
retrieving with thoughts (ours).
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ircotlib.data import Paragraph
from ircotlib.program import LINE, Program, Retrieve, Sample
from ircotlib.systems import WritePrompt
from ircotlib.text import answer_from_chain

BEST = re.compile(r"best choice is\D*(\d+)", re.IGNORECASE)


class State(NamedTuple):
    """A node of the tree: the thoughts on the path to it, and the paragraphs retrieved there."""

    thoughts: tuple[str, ...]
    paragraphs: tuple[Paragraph, ...]

    @property
    def chain(self) -> str:
        """The thoughts, one numbered line each."""
        return "\n".join(f"Thought {i}: {text}" for i, text in enumerate(self.thoughts, start=1))

    @property
    def answer(self) -> str:
        """The answer that the thoughts give; "" if they give none."""
        return answer_from_chain(self.chain) or ""


def propose(states: Sequence[State], write: WritePrompt, draw: Callable[..., Sample]) -> Program:
    """Extend each state by each distinct thought sampled for it; states that give the answer are
    kept as they are.
    """
    grown = []
    for state in states:
        if state.answer:
            grown.append(state)
            continue
        so_far = f"{state.chain}\nThought {len(state.thoughts) + 1}:".strip()
        drawn = yield draw(write(state.paragraphs, (so_far,)), stop=LINE)
        texts = dict.fromkeys(thought.text for thought in drawn if thought.text)
        grown += [state._replace(thoughts=(*state.thoughts, text)) for text in texts]
    return grown


def vote(
    states: Sequence[State], b: int, write: WritePrompt, draw: Callable[..., Sample]
) -> Program:
    """The b states with the most votes, ties in their order, and the number of votes that could be
    read; other votes are ignored (program).
    """
    choices = "\n\n".join(f"Choice {i}:\n{s.chain}" for i, s in enumerate(states, start=1))
    paragraphs = tuple(dict.fromkeys(p for state in states for p in state.paragraphs))
    drawn = yield draw(write(paragraphs, choices=choices))
    named = [int(match[1]) - 1 for vote in drawn if (match := BEST.search(vote.text))]
    counts = Counter(number for number in named if 0 <= number < len(states))
    order = sorted(range(len(states)), key=lambda number: -counts[number])
    return [states[number] for number in order[:b]], counts.total()


def retrieve(states: Sequence[State], k: int) -> Program:
    """Retrieve k paragraphs with each state's last thought, unless the state gives the answer."""
    grown = []
    for state in states:
        retrieved = () if state.answer else (yield Retrieve(state.thoughts[-1], k))
        paragraphs = tuple(dict.fromkeys((*state.paragraphs, *retrieved)))
        grown.append(state._replace(paragraphs=paragraphs))
    return grown
