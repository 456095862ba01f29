"""Intermediate answers of Self-Ask, read from retrieved paragraphs in two ways, both ours: Press
2023 asks a web search engine.
"""

from collections.abc import Sequence

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Extract, Extracted, Generate, Program


def read_answer(asked: Question, found: Sequence[Paragraph], prompts) -> Program:
    """A short answer that the model reads from the paragraphs (ours); "" if it says "unknown"."""
    if not found:
        return ""
    answer = yield Generate(prompts["read"](asked, found), stop=LINE, max_tokens=32)
    answer = answer.removesuffix(".")
    return "" if answer.lower() == "unknown" else answer


def extract_answer(asked: Question, found: Sequence[Paragraph]) -> Program:
    """The most confident answer extracted from the paragraphs (ours); "" if there is none."""
    answers = []
    for paragraph in found:
        answers.append((yield Extract(asked.text, paragraph)))
    best = max(answers, key=lambda answer: answer.confidence, default=Extracted("", 0.0))
    return best.text.removesuffix(".")
