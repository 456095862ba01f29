"""The question answering readers (IRCoT §3.2): programs that answer from given paragraphs."""

from collections.abc import Sequence

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Program
from ircotlib.systems import WritePrompt
from ircotlib.text import answer_from_chain


def cot_reader(
    question: Question,
    paragraphs: Sequence[Paragraph],
    *,
    prompt: WritePrompt,
    max_tokens: int = 200,
) -> Program:
    """Write a chain of thought from scratch and take its answer (IRCoT §3.2); return the answer and
    the generation.

    Without "answer is" the whole generation is the answer.
    """
    reading = yield Generate(prompt(question, paragraphs), stop=LINE, max_tokens=max_tokens)
    answer = answer_from_chain(reading)
    return (reading if answer is None else answer), reading


def direct_reader(
    question: Question,
    paragraphs: Sequence[Paragraph],
    *,
    prompt: WritePrompt,
    max_tokens: int = 200,
) -> Program:
    """Write the answer directly (IRCoT §3.2); return the answer and the generation, which are
    equal.
    """
    reading = yield Generate(prompt(question, paragraphs), stop=LINE, max_tokens=max_tokens)
    return reading, reading


# App. E: Flan-T5 reads directly, GPT3 by CoT
READERS = {"cot": cot_reader, "direct": direct_reader}
