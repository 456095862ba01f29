"""Teaches the chains of IRCoT and its reader."""

from training.teachers.closed import give_answer
from training.teachers.mind import Mind, Reply, Situation

LEAD = "So the answer is:"


def ircot_cot(mind: Mind, situation: Situation) -> Reply:
    """The rest of the chain, as far as paragraphs or memory have its facts. If a
    paragraph now shows that an earlier sentence was wrong, the rest begins with the
    corrected sentence.
    """
    if not situation.thoughts:
        mind.forget()
    sentences = []
    for n in range(_next_step(mind, situation), len(mind.steps)):
        known = mind.settle(n, situation.paragraphs)
        if not known and sentences:  # only what is known is taught
            return Reply(" ".join(sentences), ends=False)
        sentences.append(mind.say(n))
    conclusion, _ = mind.conclude()
    ending = [conclusion, give_answer(mind, LEAD)]
    ending = [text for text in ending if text and text not in situation.thoughts]
    return Reply(" ".join([*sentences, *ending]))


def _next_step(mind: Mind, situation: Situation) -> int:
    """The first step not stated or stated wrongly; what was after it is forgotten."""
    stated = [text for text in situation.thoughts if text in mind.worded]
    if not stated:
        return 0
    following = mind.worded[stated[-1]][0] + 1
    mind.forget(following)
    for n in range(following):
        true = mind.stated_value(n, situation.paragraphs)
        if true and true != mind.values.get(n, true):
            mind.forget(n)
            return n
    return following
