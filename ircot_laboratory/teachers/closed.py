"""Teaches stages without retrieval: Direct Prompting, CoT, Auto-CoT, Recite-and-answer."""

from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Asked, Reply
from ircotlib.systems.auto_cot import SO


def give(mind: Mind, lead: str = "The answer is") -> str:
    """The sentence that gives the answer, or a long answer after a colon."""
    answer = mind.conclude()[1]
    return f"{lead.removesuffix(':')}: {answer}" if mind.is_long else f"{lead} {answer}."


def write_chain(mind: Mind, paragraphs=(), first: int = 0) -> list[str]:
    """The sentences of the steps from `first` on, and the conclusion from all steps, if any."""
    said = mind.find_all(paragraphs, first)
    conclusion, _ = mind.conclude()
    return [*said, conclusion] if conclusion else said


def write_whole(mind: Mind, paragraphs=(), lead: str = "The answer is") -> str:
    """A chain and its answer. A long answer is the chain itself, and is written only once."""
    chain = write_chain(mind, paragraphs)
    return " ".join([*([] if mind.is_long else chain), give(mind, lead)])


def give_alone(mind: Mind) -> Reply:
    """The answer alone. It is not `sure` if it depends on made-up values that are not written."""
    return Reply(mind.conclude()[1], sure=not mind.unsure)


def direct(mind: Mind, asked: Asked) -> Reply:
    """The answer alone."""
    mind.forget()
    mind.find_all()
    return give_alone(mind)


def cot(mind: Mind, asked: Asked) -> str:
    """A chain and its answer."""
    mind.forget()
    return write_whole(mind)


def auto_cot_chain(mind: Mind, asked: Asked) -> str:
    """A chain, or its answer, if the text ends with the words that ask for it."""
    if asked.so_far.endswith(SO):
        return mind.conclude()[1] if mind.is_long else f"{mind.conclude()[1]}."
    mind.forget()
    return " ".join(write_chain(mind))


def recite(mind: Mind, asked: Asked) -> str:
    """Two passages, each with half of the steps."""
    mind.forget()
    said = mind.find_all()
    half = (len(said) + 1) // 2
    first, second = (" ".join(part) for part in (said[:half], said[half:]))
    return f"{first}\n\nAnswer 2: {second or first}"


def answer_from_recitation(mind: Mind, asked: Asked) -> str:
    """The answer that follows from the recited passages."""
    for n in range(len(mind.steps)):
        accept_sentence(mind, n, asked.fields["recitation"])
    return give(mind)


def accept_sentence(mind: Mind, n: int, text: str) -> bool:
    """Believe the answer to step n that a text states in one of the agent's sentences. Return
    whether the text has such a sentence.
    """
    sentences = [said for said, (step, fact) in mind.asked.items() if step == n and said in text]
    for said in sentences:
        fact, value = mind.asked[said][1], mind.said[said]
        if fact == mind.fact(n):
            mind.accept(n, value)
            return True
    return False


STAGES = {
    "direct/direct": direct,
    "cot/cot": cot,
    "react/cot": cot,
    "auto_cot/chain": auto_cot_chain,
    "auto_cot/ask": cot,
    "recite/recite": recite,
    "recite/answer": answer_from_recitation,
}
