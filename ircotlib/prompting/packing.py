"""Fits a prompt into a context window by leaving out parts of it (IRCoT §4.1)."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

JOIN = 4  # the most tokens that joining two texts can add, with a margin
DEMONSTRATION, ABOVE, WRITTEN, BELOW = "demonstration", "above", "written", "below"


class Segment(NamedTuple):
    """A part of a prompt."""

    text: str
    kind: str = ""  # of its CUTS; "": it always stays whole


def cut_after(separator: str, text: str) -> list[str]:
    *pieces, last = text.split(separator)
    return [*(piece + separator for piece in pieces), last]


# What is left out, kind by kind, in this order: pieces of the segments, from the front;
# the last piece of what the model wrote stays
CUTS = (
    (DEMONSTRATION, lambda text: [text]),  # whole (released program)
    # lines (released program); all that follow are ours
    (ABOVE, re.compile(r".+\n*|\n+").findall),
    *((WRITTEN, partial(cut_after, separator)) for separator in ("\n\n", "\n", " ")),
    (BELOW, re.compile(r"\S+\s*|\s+").findall),  # words
)


def surely_fit(total: int, count: int, limit: int) -> bool:
    """Whether `count` texts of `total` tokens have at most `limit` tokens as one text."""
    return total + JOIN * (count - 1) <= limit


def fit(
    segments: Sequence[Segment], limit: int, count_tokens: Callable[[str], int]
) -> list[Segment] | None:
    """The segments, or pieces of them, that are left after leaving out as much as
    needed, in the order of CUTS, for at most `limit` tokens; None if what always stays
    is too long (IRCoT §4.1).
    """
    for kind, cut in CUTS:
        pieces = []
        for segment in segments:
            texts = cut(segment.text) if segment.kind == kind else [segment.text]
            pieces += [Segment(text, segment.kind) for text in texts]
        segments = pieces
        going = [piece for piece in pieces if piece.kind == kind]
        if kind == WRITTEN:
            going = going[:-1]
        total = sum(count_tokens(piece.text) for piece in pieces)
        while True:
            # where a token or two per join could matter, the joined text is counted
            if surely_fit(total, len(pieces), limit):
                return pieces
            if total <= limit and count_tokens(join(pieces)) <= limit:
                return pieces
            if not going:
                break
            pieces.remove(dropped := going.pop(0))
            total -= count_tokens(dropped.text)
    return None


def join(segments: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in segments)
