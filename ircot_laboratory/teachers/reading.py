"""Teaches stages that read paragraphs: IRCoT and its readers, Direct Retrieval."""

from ircot_laboratory.teachers.closed import give, give_alone, write_chain
from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Asked, Reply

LEAD = "So the answer is:"


def reason(mind: Mind, asked: Asked) -> Reply:
    """The rest of the chain, as far as paragraphs or memory have its facts. If a paragraph now
    shows that an earlier sentence was wrong, the rest begins with the corrected sentence.
    """
    if not asked.thoughts:
        mind.forget()
    first = _goes_on(mind, asked)
    said = []
    for n in range(first, len(mind.steps)):
        known = mind.find(n, asked.paragraphs)
        if not known and said:
            return Reply(" ".join(said), ends=False)
        said.append(mind.say(n))
    conclusion, _ = mind.conclude()
    ending = [conclusion, give(mind, LEAD)]
    ending = [text for text in ending if text and text not in asked.thoughts]
    return Reply(" ".join([*said, *ending]))


def _goes_on(mind: Mind, asked: Asked) -> int:
    """The step of the next sentence: the first one that was not stated, or was stated wrongly. What
    was stated before a corrected sentence, about later steps, no longer counts.
    """
    said = [mind.asked[text][0] for text in asked.thoughts if text in mind.asked]
    if not said:
        return 0
    last = said[-1]
    for n in [n for n in mind.values if n > last]:
        del mind.values[n]
    for n in range(last + 1):
        true = mind.is_stated(n, asked.paragraphs)
        if true and true != mind.values.get(n, true):
            for later in [one for one in mind.values if one >= n]:
                del mind.values[later]
            return n
    return last + 1


def answer(mind: Mind, asked: Asked) -> Reply:
    """The answer alone, from the paragraphs."""
    mind.forget()
    write_chain(mind, asked.paragraphs)
    return give_alone(mind)


STAGES = {"ircot/cot": reason, "ircot/direct": answer, "direct_retrieval/read": answer}
