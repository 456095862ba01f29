"""The extractive reader of SearChain (§3.3) as a tool that other systems may use, too (ours)."""

from collections.abc import Sequence
from typing import NamedTuple

from ircotlib.data import Paragraph
from ircotlib.program import Extract, Program


class Found(NamedTuple):
    """What was extracted, the confidence of the reader, and the paragraph that it is from."""

    text: str
    confidence: float
    paragraph: Paragraph


def extract_best(query: str, paragraphs: Sequence[Paragraph]) -> Program:
    """The most confident of the answers extracted from paragraphs, of equal ones the first, as
    Found; None without paragraphs.
    """
    found = []
    for paragraph in paragraphs:
        text, confidence = yield Extract(query, paragraph)
        found.append(Found(text, confidence, paragraph))
    return max(found, key=lambda one: one.confidence, default=None)


def answer_by_extracting(query: str, paragraphs: Sequence[Paragraph]) -> Program:
    """A short answer, the most confident one; "" if there is none."""
    best = yield from extract_best(query, paragraphs)
    return best.text.removesuffix(".") if best else ""
