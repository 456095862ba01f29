"""Intermediate answers of Self-Ask, read in retrieved paragraphs; both ways are ours: Press
2023 asks a web search engine.
"""

from collections.abc import Sequence

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Extract, Extracted, Generate, Program


def read_answer(asked: Question, found: Sequence[Paragraph], prompts) -> Program:
    """A short answer that the model reads in the paragraphs (ours); "" where it says "unknown"."""
    if not found:
        return ""
    answer = yield Generate(prompts["read"](asked, found), stop=LINE, max_tokens=32)
    answer = answer.removesuffix(".")
    return "" if answer.lower() == "unknown" else answer


def extract_answer(asked: Question, found: Sequence[Paragraph]) -> Program:
    """The surest answer that is extracted from the paragraphs (ours); "" for none."""
    answers = []
    for paragraph in found:
        answers.append((yield Extract(asked.text, paragraph)))
    best = max(answers, key=lambda answer: answer.confidence, default=Extracted("", 0.0))
    return best.text.removesuffix(".")
