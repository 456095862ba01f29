"""Tree-of-Thought w/ IR: proposes thoughts and votes (Yao 2023 §3; SearChain §4.1)."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import LINE, Program, Retrieve, Sample
from ircotlib.systems import Prompts, WritePrompt, system
from ircotlib.text import answer_from_chain

BEST = re.compile(r"best choice is\D*(\d+)", re.IGNORECASE)  # released program


class State(NamedTuple):
    """A node of the tree: the thoughts on the path to it, and their paragraphs."""

    thoughts: tuple[str, ...]
    paragraphs: tuple[Paragraph, ...]

    @property
    def chain(self) -> str:
        numbered = enumerate(self.thoughts, start=1)
        return "\n".join(f"Thought {i}: {text}" for i, text in numbered)

    @property
    def answer(self) -> str:
        return answer_from_chain(self.chain) or ""


@system(
    "Tree-of-Thought w/ IR",
    draws=("n", "votes"),
    propose="proposes a thought",
    vote="votes for the best thought",
)
def tree_of_thought(
    question: Question,
    *,
    prompts: Prompts,
    n: int = 5,  # thoughts proposed per state (text tasks, §4.2)
    votes: int = 5,  # per step (text tasks, §4.2)
    b: int = 1,  # states kept (text tasks, §4.2)
    temperature: float = 0.7,  # §4
    depth: int = 4,  # thoughts of a chain (ours; not in the paper)
    k: int = 3,  # paragraphs per retrieval (ours; not in the paper)
    max_tokens: int = 1000,  # released program
) -> Program:
    """Propose n thoughts for each state, vote, keep the b best, and retrieve with them
    (ours), until the first state gives the answer (ToT Algorithm 1).
    """
    draw = partial(Sample, temperature=temperature, max_tokens=max_tokens)
    ask = partial(prompts["propose"], question)
    ask_to_vote = partial(prompts["vote"], question)
    states = [State((), (yield Retrieve(question.text, k)))]
    seen = dict.fromkeys(states[0].paragraphs)
    fault = ""
    for _ in range(depth):
        # Algorithm 1: generate, evaluate by votes, keep the b best
        grown = yield from propose(states, ask, partial(draw, n=n))
        if not grown:
            fault = "no thought proposed"
            break
        states = grown
        if len(grown) > b:  # else all are kept, and no vote is needed (ours)
            draw_votes = partial(draw, n=votes)
            states, counted = yield from vote(grown, b, ask_to_vote, draw_votes)
            if not counted:
                fault = "no vote that names a choice"
        if states[0].answer or len(states[0].thoughts) == depth:
            break
        states = yield from retrieve(states, k)  # ours; the paper does not retrieve
        seen |= dict.fromkeys(p for state in states for p in state.paragraphs)
    best = states[0]
    answer = best.answer
    if not answer:
        answer = best.thoughts[-1] if best.thoughts else ""
        fault = fault or f"no answer in {depth} thoughts"
    return Prediction(answer, tuple(seen), best.thoughts, best.chain, fault=fault)


def propose(
    states: Sequence[State], write: WritePrompt, draw: Callable[..., Sample]
) -> Program:
    """Extend each state without an answer by each distinct thought sampled for it."""
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
    """The b states with the most votes, and how many votes named a choice (program)."""
    numbered = enumerate(states, start=1)
    choices = "\n\n".join(f"Choice {i}:\n{state.chain}" for i, state in numbered)
    paragraphs = tuple(dict.fromkeys(p for state in states for p in state.paragraphs))
    drawn = yield draw(write(paragraphs, choices=choices))
    named = [int(match[1]) - 1 for vote in drawn if (match := BEST.search(vote.text))]
    counts = Counter(number for number in named if 0 <= number < len(states))
    order = sorted(range(len(states)), key=lambda number: -counts[number])
    best = [states[number] for number in order[:b]]  # Algorithm 1; of ties the first
    return best, counts.total()


def retrieve(states: Sequence[State], k: int) -> Program:
    """Retrieve k paragraphs with the last thought of each state without an answer."""
    grown = []
    for state in states:
        retrieved = () if state.answer else (yield Retrieve(state.thoughts[-1], k))
        paragraphs = tuple(dict.fromkeys((*state.paragraphs, *retrieved)))
        grown.append(state._replace(paragraphs=paragraphs))
    return grown
