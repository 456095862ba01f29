"""DSP's examples: pairs of question and answer, some annotated by the program (DSP §2.2)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ircotlib.data import Paragraph
from ircotlib.metrics import exact_match
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, render_paragraph
from ircotlib.text import normalise_answer

PAIR = re.compile(r"^Question: (.+)\nAnswer: (.+)$", re.MULTILINE)


class Stage(NamedTuple):
    """What a stage was shown, and what it wrote; `written`: a search query or the answer."""

    context: tuple[Paragraph, ...]
    summary: str = ""
    rationale: str = ""
    written: str = ""


class Solution(NamedTuple):
    """How a question was solved: the stages of the hops, and the last stage, the prediction."""

    question: str
    hops: tuple[Stage, ...]
    last: Stage


class Examples(NamedTuple):
    """Pairs of question and answer, and the successful solutions of some of them."""

    pairs: Sequence[tuple[str, str]]
    annotated: Sequence[Solution] = ()

    def show(self, hop: int | None, field: str) -> str:
        """The examples of a hop, or of the prediction: the annotated pairs come last (program)."""
        # ours: both kinds in all stages; their code shows a search only annotated ones
        annotated = {solution.question for solution in self.annotated}
        blocks = [f"Question: {q}\nAnswer: {a}" for q, a in self.pairs if q not in annotated]
        for solution in self.annotated:
            stage = solution.last if hop is None else solution.hops[hop]
            blocks.append(_show(solution.question, stage, field))
        return "".join(block + BETWEEN_DEMONSTRATIONS for block in blocks)


def read_pairs(prompt: str, question: str) -> list[tuple[str, str]]:
    """The questions and answers that a prompt shows, except the question asked."""
    return [pair for pair in PAIR.findall(prompt) if pair[0] != question]


def succeeds(solution: Solution, gold: str) -> bool:
    """Whether the last paragraphs contain the gold answer and the prediction equals it, so that the
    example may be shown annotated (program).
    """
    texts = [normalise_answer(paragraph.text) for paragraph in solution.last.context]
    held = any(normalise_answer(gold) in text for text in texts)  # there by tokens (program)
    return held and exact_match(solution.last.written, [gold]) == 1


def show_summary(summary: str) -> str:
    """The line with a summary, "" if there is none."""
    return f"Summary: {summary}\n" if summary else ""


def _show(question: str, stage: Stage, field: str) -> str:
    """An annotated example, in the form in which the stages' templates show the question asked."""
    paragraphs = "".join(render_paragraph(paragraph) + "\n\n" for paragraph in stage.context)
    summary = show_summary(stage.summary)
    rationale = f"Rationale: Let's think step by step. {stage.rationale}{field} {stage.written}"
    return f"{paragraphs}{summary}Question: {question}\n{rationale}"
