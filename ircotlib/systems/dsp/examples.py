"""DSP's examples: pairs of question and answer, some of which the program itself annotates (Khattab
et al. 2022, §2.2).
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ircotlib.data import Paragraph
from ircotlib.metrics import exact_match
from ircotlib.prompting.prompt import render_paragraph
from ircotlib.text import normalise_answer

PAIR = re.compile(r"^Question: (.+)\nAnswer: (.+)$", re.MULTILINE)
BETWEEN = "\n\n\n"


class Step(NamedTuple):
    """What a stage was shown, and what it wrote; `written`: a search query or the answer."""

    context: tuple[Paragraph, ...]
    summary: str
    rationale: str
    written: str


class Attempt(NamedTuple):
    """One pass of search and predict: the steps of the hops, and the last step, the prediction."""

    question: str
    steps: tuple[Step, ...]
    last: Step


def read_pairs(prompt: str, question: str) -> list[tuple[str, str]]:
    """The questions and answers that a prompt shows, except the question asked."""
    return [pair for pair in PAIR.findall(prompt) if pair[0] != question]


def succeeds(tried: Attempt, gold: str) -> bool:
    """Whether the last paragraphs contain the gold answer and the prediction equals it, so that the
    example may be shown annotated (program).
    """
    texts = [normalise_answer(paragraph.text) for paragraph in tried.last.context]
    held = any(normalise_answer(gold) in text for text in texts)
    return held and exact_match(tried.last.written, [gold]) == 1


def examples_for(
    pairs: Sequence[tuple[str, str]], shown: Sequence[tuple[Attempt, Step]], field: str
) -> str:
    """The examples of a stage: pairs that are not annotated, then those that are (program)."""
    annotated = {tried.question for tried, _ in shown}
    plain = [
        f"Question: {asked}\nAnswer: {gold}" for asked, gold in pairs if asked not in annotated
    ]
    blocks = plain + [_show(tried.question, step, field) for tried, step in shown]
    return "".join(block + BETWEEN for block in blocks)


def _show(question: str, step: Step, field: str) -> str:
    """An annotated example, in the form in which the stages' templates show the question asked."""
    paragraphs = "".join(render_paragraph(paragraph) + "\n\n" for paragraph in step.context)
    summary = f"Summary: {step.summary}\n" if step.summary else ""
    rationale = f"Rationale: Let's think step by step. {step.rationale}{field} {step.written}"
    return f"{paragraphs}{summary}Question: {question}\n{rationale}"
