"""Fits a prompt into a context window by leaving out parts of it (IRCoT §4.1)."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

JOIN = 4  # the most tokens that joining two texts can add, with a margin
DEMONSTRATION, ABOVE, WRITTEN, BELOW = "demonstration", "above", "written", "below"


class Segment(NamedTuple):
    """A part of a prompt. `kind`: that of its CUTS; "": it always stays whole."""

    text: str
    kind: str = ""


def after(separator: str) -> Callable[[str], list[str]]:
    """A function that cuts a text after each separator."""

    def cut(text: str) -> list[str]:
        *pieces, last = text.split(separator)
        return [*(piece + separator for piece in pieces), last]

    return cut


# What is left out, in this order: pieces of the parts of a kind, from the front. The last piece of
# the text written so far always stays.
CUTS = (
    (DEMONSTRATION, lambda text: [text]),  # whole (released program)
    (ABOVE, re.compile(r".+\n*|\n+").findall),  # lines (released program); all that follow are ours
    (WRITTEN, after("\n\n")),
    (WRITTEN, after("\n")),
    (WRITTEN, after(" ")),
    (BELOW, re.compile(r"\S+\s*|\s+").findall),  # words
)


def surely_fits(text: str, limit: int) -> bool:
    """Whether a text has at most `limit` tokens with any tokenizer, so that they need not be
    counted (ours): in ASCII text every token has at least one character.
    """
    return len(text) + JOIN <= limit and text.isascii()


def fit(parts: Sequence[Segment], limit: int, count_tokens: Callable[[str], int]) -> str | None:
    """Join parts, after leaving out as much as needed, in the order of CUTS, for at most `limit`
    tokens; None if what always stays is too long (IRCoT §4.1).
    """
    for kind, cut in CUTS:
        texts = [(cut(part.text) if part.kind == kind else [part.text]) for part in parts]
        parts = [Segment(t, part.kind) for part, pieces in zip(parts, texts) for t in pieces]
        going = [part for part in parts if part.kind == kind]
        if kind == WRITTEN:
            going = going[:-1]
        while (text := _join(parts, limit, count_tokens)) is None and going:
            parts.remove(going.pop(0))
        if text is not None:
            return text
    return None


def _join(parts: Sequence[Segment], limit: int, count_tokens: Callable[[str], int]) -> str | None:
    """The parts as one text; None if it is too long. Their tokens are added up, which is exact to a
    token or two per join; only where that could matter is the joined text counted.
    """
    total = sum(count_tokens(part.text) for part in parts)
    if total > limit:
        return None
    text = "".join(part.text for part in parts)
    sure = total + JOIN * (len(parts) - 1) <= limit
    return text if sure or count_tokens(text) <= limit else None
