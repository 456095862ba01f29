"""Teaches Tree-of-Thought: proposed thoughts, some of which are wrong, and votes."""

import inspect
import re

from ircot_laboratory.questions.verdicts import REFUTES, SUPPORTS
from ircot_laboratory.teachers.closed import give
from ircot_laboratory.teachers.conclusions import OPPOSITE, named
from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Asked, Reply
from ircot_laboratory.world.encyclopedia import draw_value
from ircotlib.systems.tree_of_thought import tree_of_thought

WRONG = 0.4  # share of the other thoughts of a state that are wrong
DRAWN = inspect.signature(tree_of_thought).parameters["n"].default  # thoughts of a state
OTHER = {**OPPOSITE, SUPPORTS: REFUTES, REFUTES: SUPPORTS}


def propose(mind: Mind, asked: Asked) -> Reply:
    """The next thought: a sentence of the chain, or the answer. Of the thoughts drawn for a state,
    in random order, one is right and taught; the others may be wrong.
    """
    done = _thoughts(asked.so_far)
    if mind.notes.get("place") != asked.so_far:
        right, is_known = _next(mind, done, asked.paragraphs)
        others = [_wrong(mind, len(done), right) for _ in range(DRAWN - 1)]
        drawn = [Reply(right), *(Reply(text, taught=False) for text in others)]
        mind.rng.shuffle(drawn)
        mind.notes |= {"place": asked.so_far, "drawn": drawn}
        mind.notes["next"] = right if is_known else None
    return mind.notes["drawn"].pop()


def _thoughts(text: str) -> list[str]:
    """The thoughts of a chain."""
    return re.findall(r"^Thought \d+: (.+)$", text, re.MULTILINE)


def _next(mind: Mind, done: list[str], paragraphs) -> tuple[str, bool]:
    """The next thought, and whether it is known, not made up."""
    if not done:
        mind.forget()
    for text in done:
        if text in mind.asked:
            mind.accept(mind.asked[text][0], mind.said[text])
    n = sum(text in mind.asked for text in done)
    if n < len(mind.steps) and len(done) < 3:
        mind.find(n, paragraphs)
        return mind.say(n), n not in mind.unsure
    mind.find_all(paragraphs, n)
    return give(mind), not mind.unsure.intersection(range(n, len(mind.steps)))


def _wrong(mind: Mind, n: int, right: str) -> str:
    """With probability WRONG, the right thought with a wrong value or answer; otherwise itself."""
    if mind.rng.random() > WRONG or mind.is_long and right not in mind.asked:
        return right
    if right not in mind.asked:
        answer = mind.conclude()[1]
        return right.replace(answer, _another_answer(mind, answer))
    true = mind.values[n]
    mind.accept(n, _another_value(mind, n))
    text = mind.say(n)
    mind.accept(n, true)
    return text


def _another_answer(mind: Mind, answer: str) -> str:
    names = named(mind.riddle)
    if answer in names and len(names) > 1:  # of a comparison
        return next(name for name in names if name != answer)
    return OTHER.get(answer) or _another_value(mind, len(mind.steps) - 1)


def _another_value(mind: Mind, n: int) -> str:
    return draw_value(mind.relation(n), mind.subject(n), mind.library.by_kind, mind.rng)


def vote(mind: Mind, asked: Asked) -> str:
    """The right thought, and a vote for the first choice that ends with it; where the right one is
    not known, the thought of choice 1 and a vote for it. A thought that gives the answer is put in
    other words: written alone, it ends a reply.
    """
    choices = str(asked.fields["choices"]).split("\n\n")
    right = mind.notes["next"] or _thoughts(choices[0])[-1]
    best = [n for n, one in enumerate(choices, start=1) if one.endswith(right)]
    said = right.replace("The answer is", "It is", 1)
    return f"{said} The best choice is {best[0] if best else 1}."


STAGES = {"tree_of_thought/propose": propose, "tree_of_thought/vote": vote}
