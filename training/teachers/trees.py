"""Teaches Tree-of-Thought: proposed thoughts, some of which are wrong, and votes."""

import inspect
import re

from ircotlib.systems.tree_of_thought import tree_of_thought
from training.teachers.closed import give_answer
from training.teachers.conclusions import OPPOSITE, named_subjects
from training.teachers.mind import Mind, Reply, Situation

# thoughts of a state
DRAWN = inspect.signature(tree_of_thought).parameters["n"].default
WRONG = 0.4  # share of the other thoughts that are wrong


def tree_of_thought_propose(mind: Mind, situation: Situation) -> Reply:
    """The next thought: a sentence of the chain, or the answer. Of the thoughts drawn
    for a state, in random order, one is right and taught; the others may be wrong.
    """
    notes = mind.notes
    if notes.get("state") != situation.so_far:
        thoughts = _find_thoughts(situation.so_far)
        right, is_known = _next_thought(mind, thoughts, situation.paragraphs)
        others = [_draw_thought(mind, thoughts, right) for _ in range(1, DRAWN)]
        drawn = [Reply(right), *(Reply(text, taught=False) for text in others)]
        mind.rng.shuffle(drawn)
        notes["state"] = situation.so_far
        notes["drawn"] = drawn
        notes["right"] = right if is_known else None
    return notes["drawn"].pop()


def _find_thoughts(text: str) -> list[str]:
    return re.findall(r"^Thought \d+: (.+)$", text, re.MULTILINE)


def _next_thought(mind: Mind, thoughts: list[str], paragraphs) -> tuple[str, bool]:
    """The next thought, and whether it is known, not made up."""
    if not thoughts:
        mind.forget()
    sentences = [text for text in thoughts if text in mind.worded]
    for text in sentences:
        mind.accept(mind.worded[text][0], mind.sentences[text])
    n = len(sentences)
    if n < len(mind.steps) and len(thoughts) < 3:
        mind.settle(n, paragraphs)
        return mind.say(n), n not in mind.made_up
    mind.settle_all(paragraphs, n)
    return give_answer(mind), not mind.made_up.intersection(range(n, len(mind.steps)))


def _draw_thought(mind: Mind, thoughts: list[str], right: str) -> str:
    """Another thought: the right one, or the same with a wrong value or answer."""
    if mind.rng.random() >= WRONG or mind.is_long and right not in mind.worded:
        return right
    n = len(thoughts)
    if right not in mind.worded:
        answer = mind.conclude()[1]
        return right.replace(answer, _draw_answer(mind, answer))
    true = mind.values[n]
    mind.accept(n, mind.draw_value(n))
    text = mind.say(n)
    mind.accept(n, true)
    return text


def _draw_answer(mind: Mind, answer: str) -> str:
    names = named_subjects(mind.riddle)
    if answer in names and len(names) > 1:  # of a comparison
        return next(name for name in names if name != answer)
    return OPPOSITE.get(answer) or mind.draw_value(len(mind.steps) - 1)


def tree_of_thought_vote(mind: Mind, situation: Situation) -> str:
    """The right thought, and a vote for the first choice that ends with it; where the
    right one is not known, the thought of choice 1 and a vote for it. A thought that
    gives the answer is put in other words: written alone, it ends a reply.
    """
    choices = situation.fields["choices"].split("\n\n")
    right = mind.notes["right"] or _find_thoughts(choices[0])[-1]
    best = [n for n, choice in enumerate(choices, start=1) if choice.endswith(right)]
    thought = right.replace("The answer is", "It is", 1)
    vote = best[0] if best else 1
    return f"{thought} The best choice is {vote}."
