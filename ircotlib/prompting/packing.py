"""Fits a prompt into a context window by leaving out parts of it (IRCoT §4.1)."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

JOIN = 4  # the most tokens that joining a text to another can add, with a margin
DEMONSTRATION, ABOVE, WRITTEN, BELOW = "demonstration", "above", "written", "below"


class Segment(NamedTuple):
    """A part of a prompt."""

    text: str
    kind: str = ""  # of its CUTS; "": it always stays whole


def cut_after(separator: str, text: str) -> list[str]:
    """The pieces of a text, the last of which may be empty.

    >>> cut_after(" ", "It is "), cut_after("\\n\\n", "A.\\n\\n\\nB.")
    (['It ', 'is ', ''], ['A.\\n\\n', '\\nB.'])
    """
    *pieces, last = text.split(separator)
    return [*(piece + separator for piece in pieces), last]


# What is left out, kind by kind, in this order: pieces of the segments, from the front;
# the last piece of what the model wrote stays
CUTS: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
    (DEMONSTRATION, lambda text: [text]),  # whole (released program)
    (ABOVE, re.compile(r".+\n*|\n+").findall),  # lines (released program)
    (WRITTEN, partial(cut_after, "\n\n")),  # from here on ours: parts of a chat,
    (WRITTEN, partial(cut_after, "\n")),  # lines,
    (WRITTEN, partial(cut_after, " ")),  # words
    (BELOW, re.compile(r"\S+\s*|\s+").findall),  # words
)


def fit(
    segments: Sequence[Segment], limit: int, count_tokens: Callable[[str], int]
) -> list[Segment] | None:
    """The segments, or the pieces of them that are left after leaving out as much as
    needed, in the order of CUTS, for at most `limit` tokens; None if what always stays
    is too long (IRCoT §4.1).
    """
    pieces = list(segments)
    for kind, cut in CUTS:
        whole, pieces = pieces, []
        for segment in whole:
            texts = cut(segment.text) if segment.kind == kind else [segment.text]
            pieces += [Segment(text, segment.kind) for text in texts]
        going = [piece for piece in pieces if piece.kind == kind]
        if kind == WRITTEN:
            going = going[:-1]
        total = sum(count_tokens(piece.text) for piece in pieces)
        while True:
            # where a token or two per join could matter, the joined text is counted
            if total + JOIN * (len(pieces) - 1) <= limit:
                return pieces
            if total <= limit and count_tokens(join(pieces)) <= limit:
                return pieces
            if not going:
                break
            dropped = going.pop(0)
            pieces.remove(dropped)  # the first of equal ones
            total -= count_tokens(dropped.text)
    return None


def join(segments: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in segments)
