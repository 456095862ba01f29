"""The question answering readers (IRCoT §3.2): programs that answer from given paragraphs."""

from collections.abc import Sequence

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Program
from ircotlib.systems import SETS, System, WritePrompt
from ircotlib.text import answer_from_chain

Paragraphs = Sequence[Paragraph]
MAX_TOKENS = 200  # released program


def cot_reader(
    question: Question, paragraphs: Paragraphs, *, prompt: WritePrompt, max_tokens: int = MAX_TOKENS
) -> Program:
    """Write a chain of thought from scratch; return its answer, or the whole chain if it gives
    none, and the chain (IRCoT §3.2).
    """
    reading = yield Generate(prompt(question, paragraphs), stop=LINE, max_tokens=max_tokens)
    answer = answer_from_chain(reading)
    # not of the form "answer is: ...": the full generation is the answer (§3.2)
    return (reading if answer is None else answer), reading


def direct_reader(
    question: Question, paragraphs: Paragraphs, *, prompt: WritePrompt, max_tokens: int = MAX_TOKENS
) -> Program:
    """Write the answer directly; return it twice, as answer and as generation (IRCoT §3.2)."""
    reading = yield Generate(prompt(question, paragraphs), stop=LINE, max_tokens=max_tokens)
    return reading, reading  # the field "A: " has only the answer (§3.2)


# App. E: Flan-T5 reads directly, GPT3 by CoT
READERS = {"cot": cot_reader, "direct": direct_reader}
# the owner of their prompts, and of those in which a model names pages (App. B)
READER = System(
    name="the reader",
    program=cot_reader,
    stages={"cot": "answers", "direct": "answers", "titles": "names pages to look at"},
    templates="ircot",
    demonstrated_by=SETS,  # three sets of 15 questions (§4.1)
)
