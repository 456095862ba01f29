"""Teaches answers at once, and CoT, Auto-CoT and Recite-and-answer."""

from ircotlib.systems.auto_cot import SO
from training.teachers.mind import Mind, Reply, Situation


def give_answer(mind: Mind, lead: str = "The answer is") -> str:
    """The sentence that gives the answer, or a long answer after a colon."""
    _, answer = mind.conclude()
    if mind.is_long:
        return f"{lead.removesuffix(':')}: {answer}"
    return f"{lead} {answer}."


def write_chain(mind: Mind, paragraphs=()) -> list[str]:
    """The sentences of all steps, and the conclusion from them, if any."""
    sentences = mind.settle_all(paragraphs)
    conclusion, _ = mind.conclude()
    return [*sentences, conclusion] if conclusion else sentences


def write_chain_and_answer(
    mind: Mind, paragraphs=(), lead: str = "The answer is"
) -> str:
    """A chain and its answer; a long answer is the chain itself, written once."""
    chain = write_chain(mind, paragraphs)
    answer = give_answer(mind, lead)
    return answer if mind.is_long else " ".join([*chain, answer])


def answer_alone(mind: Mind) -> Reply:
    """The answer alone; not knowable if it depends on made-up values not written."""
    return Reply(mind.conclude()[1], knowable=not mind.made_up)


def direct_direct(mind: Mind, situation: Situation) -> Reply:
    """The answer alone, from the paragraphs, if any."""
    mind.settle_all(situation.paragraphs)
    return answer_alone(mind)


def cot_cot(mind: Mind, situation: Situation) -> str:
    """A chain and its answer."""
    return write_chain_and_answer(mind)


def auto_cot_chain(mind: Mind, situation: Situation) -> str:
    """A chain, or its answer, if the text ends with the words that ask for it."""
    if situation.so_far.endswith(SO):
        return mind.conclude()[1] if mind.is_long else f"{mind.conclude()[1]}."
    return " ".join(write_chain(mind))


def recite_recite(mind: Mind, situation: Situation) -> str:
    """Two passages, each with half of the steps."""
    sentences = mind.settle_all()
    half = (len(sentences) + 1) // 2
    first = " ".join(sentences[:half])
    second = " ".join(sentences[half:])
    return f"{first}\n\nAnswer 2: {second or first}"


def recite_answer(mind: Mind, situation: Situation) -> str:
    """The answer that follows from the recited passages."""
    for n in range(len(mind.steps)):
        accept_sentence(mind, n, situation.fields["recitation"])
    return give_answer(mind)


def accept_sentence(mind: Mind, n: int, text: str) -> bool:
    """Believe a text that states step n as the reader does; return whether it does."""
    for sentence, value in mind.sentences.items():
        if mind.worded[sentence] == (n, mind.fact(n)) and sentence in text:
            mind.accept(n, value)
            return True
    return False
