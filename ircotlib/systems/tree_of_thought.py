"""Tree-of-Thought w/ IR: proposes thoughts and votes (Yao 2023 §3; SearChain §4.1)."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from ircotlib.data import Prediction, Question
from ircotlib.program import LINE, Program, Retrieve, Sample
from ircotlib.systems import Prompts, WritePrompt, system
from ircotlib.text import answer_from_chain

BEST = re.compile(r"best choice is\D*(\d+)", re.IGNORECASE)  # released program


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
    n: int = 5,  # thoughts proposed per step (text tasks, §4.2)
    votes: int = 5,  # per step (text tasks, §4.2)
    temperature: float = 0.7,  # §4
    depth: int = 4,  # thoughts of a chain (ours; not in the paper)
    k: int = 3,  # paragraphs per retrieval (ours; not in the paper)
    max_tokens: int = 1000,  # released program
) -> Program:
    """Propose n thoughts, keep the one with the most votes, and retrieve with it
    (ours), until one gives the answer (ToT Algorithm 1, which keeps b = 1 states in
    text tasks, §4.2).
    """
    draw = partial(Sample, temperature=temperature, max_tokens=max_tokens)
    seen = dict.fromkeys((yield Retrieve(question.text, k)))  # all paragraphs, in order
    thoughts: list[str] = []
    answer = fault = ""
    while not answer and len(thoughts) < depth:
        if thoughts:  # ours; the paper does not retrieve
            seen |= dict.fromkeys((yield Retrieve(thoughts[-1], k)))
        # Algorithm 1: generate, evaluate by votes, keep the best
        so_far = f"{show(thoughts)}\nThought {len(thoughts) + 1}:".strip()
        prompt = prompts["propose"](question, tuple(seen), (so_far,))
        drawn = yield draw(prompt, n=n, stop=LINE)
        proposed = list(dict.fromkeys(each.text for each in drawn if each.text))
        if not proposed:
            fault = "no thought proposed"
            break
        best = 0
        if len(proposed) > 1:  # else no vote is needed (ours)
            chains = [show([*thoughts, thought]) for thought in proposed]
            ask = partial(prompts["vote"], question, tuple(seen))
            best, counted = yield from vote(chains, ask, partial(draw, n=votes))
            if not counted:
                fault = "no vote that names a choice"
        thoughts.append(proposed[best])
        answer = answer_from_chain(show(thoughts)) or ""
    if not answer:
        fault = fault or f"no answer in {depth} thoughts"
        answer = "".join(thoughts[-1:])
    chain = show(thoughts)
    return Prediction(answer, tuple(seen), tuple(thoughts), chain, fault=fault)


def show(thoughts: Sequence[str]) -> str:
    """The chain of these thoughts, as prompts show it."""
    numbered = enumerate(thoughts, start=1)
    return "\n".join(f"Thought {i}: {text}" for i, text in numbered)


def vote(
    chains: Sequence[str], ask: WritePrompt, draw: Callable[..., Sample]
) -> Program:
    """The place of the chain with the most votes, of ties the first, and how many votes
    named one (released program).
    """
    numbered = enumerate(chains, start=1)
    choices = "\n\n".join(f"Choice {i}:\n{chain}" for i, chain in numbered)
    drawn = yield draw(ask(choices=choices))
    named = [int(match[1]) - 1 for vote in drawn if (match := BEST.search(vote.text))]
    counts = Counter(number for number in named if 0 <= number < len(chains))
    return max(range(len(chains)), key=counts.__getitem__), counts.total()
