"""Tree-of-Thought w/ IR: breadth-first search over thoughts, proposed and voted on (Yao et al.
2023, §3, Algorithm 1), with retrieval (SearChain §4.1).
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Program, Retrieve, Sample
from ircotlib.systems import SEARCHAIN, System
from ircotlib.systems.readers import WritePrompt
from ircotlib.text import answer_from_chain

BEST = re.compile(r"best choice is\D*(\d+)", re.IGNORECASE)


class State(NamedTuple):
    """A node of the tree: the thoughts on the way to it, and what was retrieved on it."""

    thoughts: tuple[str, ...]
    paragraphs: tuple[Paragraph, ...]

    @property
    def chain(self) -> str:
        """The thoughts, a numbered line each."""
        return "\n".join(f"Thought {i}: {text}" for i, text in enumerate(self.thoughts, start=1))

    @property
    def answer(self) -> str:
        """The answer that the thoughts give; "" if they give none."""
        return answer_from_chain(self.chain) or ""


def tree_of_thought(
    question: Question,
    *,
    prompts: Mapping[str, WritePrompt],
    n: int = 5,  # thoughts proposed for a state (text tasks, §4.2)
    votes: int = 5,  # of a step (text tasks, §4.2)
    b: int = 1,  # states kept (text tasks, §4.2)
    temperature: float = 0.7,  # §4
    depth: int = 4,  # thoughts of a chain: unsaid, this is ours
    k: int = 3,  # paragraphs of a retrieval: unsaid, this is ours
    max_tokens: int = 200,
) -> Program:
    """Propose n thoughts for each state, vote, keep b, and retrieve with what was kept, until the
    first state gives the answer (ToT Algorithm 1).

    What a thought is (one line of a chain), and that the question and each thought kept are
    queries, is ours: no text says how retrieval came in.
    """
    draw = partial(Sample, temperature=temperature, max_tokens=max_tokens)
    states = [State((), (yield Retrieve(question.text, k)))]
    seen, fault = dict.fromkeys(states[0].paragraphs), ""
    for _ in range(depth):
        grown = yield from propose(
            states, partial(prompts["propose"], question), partial(draw, n=n)
        )
        if not grown:
            fault = "no thought proposed"
            break
        states = grown
        if len(grown) > b:
            write = partial(prompts["vote"], question)
            states, read = yield from vote(grown, b, write, partial(draw, n=votes))
            fault = fault or ("" if read else "no vote that names a choice")
        if states[0].answer or len(states[0].thoughts) == depth:
            break
        states = yield from retrieve(states, k)
        seen |= dict.fromkeys(p for state in states for p in state.paragraphs)
    best = states[0]
    last = best.thoughts[-1] if best.thoughts else ""
    fault = fault or ("" if best.answer else f"no answer in {depth} thoughts")
    return Prediction(best.answer or last, tuple(seen), best.thoughts, best.chain, fault=fault)


def propose(states: Sequence[State], write: WritePrompt, draw: Callable[..., Sample]) -> Program:
    """The states with each different next thought; one that has its answer stays as it is."""
    grown = []
    for state in states:
        if state.answer:
            grown.append(state)
            continue
        so_far = f"{state.chain}\nThought {len(state.thoughts) + 1}:".strip()
        drawn = yield draw(write(state.paragraphs, (so_far,)), stop=LINE)
        texts = dict.fromkeys(one.text for one in drawn if one.text)
        grown += [state._replace(thoughts=(*state.thoughts, text)) for text in texts]
    return grown


def vote(
    states: Sequence[State], b: int, write: WritePrompt, draw: Callable[..., Sample]
) -> Program:
    """The b states with most votes, ties in their order, and how many votes could be read; others
    are dropped (program).
    """
    choices = "\n\n".join(f"Choice {i}:\n{s.chain}" for i, s in enumerate(states, start=1))
    paragraphs = tuple(dict.fromkeys(p for state in states for p in state.paragraphs))
    drawn = yield draw(write(paragraphs, choices=choices))
    named = [int(found[1]) - 1 for one in drawn if (found := BEST.search(one.text))]
    counts = Counter(place for place in named if 0 <= place < len(states))
    order = sorted(range(len(states)), key=lambda place: -counts[place])
    return [states[place] for place in order[:b]], counts.total()


def retrieve(states: Sequence[State], k: int) -> Program:
    """The states with k more paragraphs each, found with the last thought."""
    grown = []
    for state in states:
        found = () if state.answer else (yield Retrieve(state.thoughts[-1], k))
        paragraphs = tuple(dict.fromkeys((*state.paragraphs, *found)))
        grown.append(state._replace(paragraphs=paragraphs))
    return grown


SYSTEMS = (
    System(
        "Tree-of-Thought w/ IR",
        tree_of_thought,
        stages=("propose", "vote"),
        better_than=("CoT", "CoT-SC"),
        reported=("Tree-of-Thought w/ IR",),
        study=SEARCHAIN,
        color="#2f6f4f",
        order=260,
    ),
)
