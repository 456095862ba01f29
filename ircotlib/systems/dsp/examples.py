"""DSP's examples: pairs of question and answer, some annotated by the program (DSP §2.2)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ircotlib.data import Paragraph
from ircotlib.metrics import cover_em, exact_match
from ircotlib.prompting.prompt import render_paragraph

QUERY, ANSWER = "\nSearch Query:", "\nAnswer:"  # the last fields (program)
BETWEEN = "\n\n---\n\n"  # program
PAIR = re.compile(r"^Question: (.+)\nAnswer: (.+)$", re.MULTILINE)


class Wording(NamedTuple):
    """What the prompts of a hop say, in addition to their template: the label above paragraphs, how
    a rationale begins (both the program's), and what the format says of the two.
    """

    label: str
    paragraphs_are: str
    opening: str
    rationale_is: str


CONTEXT = "Context:\n"
FIRST = Wording(
    label="",
    paragraphs_are="",
    opening=" To answer this question, we first need to find out",
    rationale_is="${what is missing}",
)
LATER = Wording(
    label=CONTEXT,
    paragraphs_are="${paragraphs that may help, each under its title}\n\n",
    opening=" Based on the context, we have learned the following.",
    rationale_is="${what helps in the context}",
)


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

    def show(self, hop: int | None) -> str:
        """The annotated examples of a hop, or of the prediction, in the form in which the templates
        show the question asked; a search shows no others (program).
        """
        blocks = []
        label, opening, field = CONTEXT, "", ANSWER
        if hop is not None:
            wording, field = LATER if hop else FIRST, QUERY
            label, opening = wording.label, wording.opening
        for question, hops, last in self.annotated:
            stage = last if hop is None else hops[hop]
            paragraphs = "".join(render_paragraph(shown) + "\n\n" for shown in stage.context)
            rationale = f"Let's think step by step.{opening} {stage.rationale}"
            asked = f"Question: {question}\nRationale: {rationale}{field} {stage.written}"
            blocks.append(label + paragraphs + asked + BETWEEN)
        return "".join(blocks)

    def show_pairs(self) -> str:
        """The pairs that are not annotated, which a prediction shows above its format (program)."""
        annotated = {solution.question for solution in self.annotated}
        pairs = [f"Question: {q}\nAnswer: {a}" for q, a in self.pairs if q not in annotated]
        return "\n\n".join(pairs) + BETWEEN if pairs else ""


def read_pairs(prompt: str, question: str) -> list[tuple[str, str]]:
    """The questions and answers that a prompt shows, except the question asked."""
    return [pair for pair in PAIR.findall(prompt) if pair[0] != question]


def succeeds(solution: Solution, gold: str) -> bool:
    """Whether a paragraph or its title has the words of the gold answer and the prediction equals
    it, so that the example may be shown annotated (program).
    """
    texts = [f"{paragraph.title} {paragraph.text}" for paragraph in solution.last.context]
    held = any(cover_em(text, [gold]) for text in texts)
    return held and exact_match(solution.last.written, [gold]) == 1
