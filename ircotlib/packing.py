"""Packing a prompt into a context window: what is dropped where it is too long (IRCoT §4.1)."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

JOIN = 4  # tokens that joining two texts adds at most, with a margin
PARTS = ("\n\n", "\n", " ")  # between the parts that are dropped of what was written so far


class Piece(NamedTuple):
    """A text of a prompt with its number of tokens; `stays`: it is never dropped."""

    text: str
    tokens: int
    stays: bool = False


class Part(NamedTuple):
    """A text of a prompt; `stays`: none of it is ever dropped."""

    text: str
    stays: bool = True


def surely_fits(text: str, limit: int) -> bool:
    """Whether a text has at most `limit` tokens whatever the tokenizer, which need not count them:
    no token of ASCII text is shorter than a character.
    """
    return len(text) + JOIN <= limit and text.isascii()


def pack(pieces: Sequence[Piece], limit: int, count_tokens: Callable[[str], int]) -> str | None:
    """Join pieces, dropped from the front until all of it is at most `limit` tokens (released
    program); None: those that stay are too long.

    Tokens are added up, which is exact to a token or two for each join; only where that could
    matter is the finished text counted, and while it is too long another piece goes.
    """
    kept, total = list(pieces), sum(piece.tokens for piece in pieces)
    going = [piece for piece in pieces if not piece.stays]
    while True:
        if total <= limit:
            text = "".join(piece.text for piece in kept)
            if total + JOIN * (len(kept) - 1) <= limit or count_tokens(text) <= limit:
                return text
        if not going:
            return None
        kept.remove(going[0])
        total -= going.pop(0).tokens


def cut(
    above: Sequence[Part],
    below: Sequence[Part],
    so_far: str,
    limit: int,
    count_tokens: Callable[[str], int],
) -> str | None:
    """What is above the question, the question and what is below it, and what was written so far,
    without as much of them as makes them fit; None: what stays is too long.

    First go lines of what does not stay above, from the top (released program); then the oldest
    parts of what was written: what is between blank lines; where the last of these alone is too
    long its lines, then its words; last the words of what does not stay below (ours).
    """

    def pieces(parts: Sequence[Part], split: Callable[[str], list[str]]) -> list[Piece]:
        texts = ((text, one.stays) for one in parts for text in _split(one, split))
        return [Piece(text, count_tokens(text), stays) for text, stays in texts]

    lines, whole = pieces(above, _lines), pieces([Part(part.text) for part in below], _words)
    for between in PARTS:
        *oldest, last = so_far.split(between)
        parts = [*(Part(part + between, False) for part in oldest), Part(last)]
        written = pieces(parts, lambda text: [text])
        if (text := pack([*lines, *whole, *written], limit, count_tokens)) is not None:
            return text
    return pack([*lines, *pieces(below, _words), written[-1]], limit, count_tokens)


def _split(part: Part, split: Callable[[str], list[str]]) -> list[str]:
    return [part.text] if part.stays else split(part.text)


def _lines(text: str) -> list[str]:
    """The lines of a text, each with the blank lines below it."""
    return re.findall(r".+\n*|\n+", text)


def _words(text: str) -> list[str]:
    """The words of a text, each with the white space after it."""
    return re.findall(r"\S+\s*|\s+", text)
