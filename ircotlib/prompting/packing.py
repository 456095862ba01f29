"""Fits a prompt into a context window by dropping parts of it (IRCoT §4.1)."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

JOIN = 4  # the most tokens that joining two texts can add, with a margin
PARTS = ("\n\n", "\n", " ")  # the separators at which the text written so far is cut, in this order


class Piece(NamedTuple):
    """A piece of a prompt with its number of tokens; `stays`: it is never dropped."""

    text: str
    tokens: int
    stays: bool = False


class Part(NamedTuple):
    """A part of a prompt; `stays`: nothing of it is ever dropped."""

    text: str
    stays: bool = True


def surely_fits(text: str, limit: int) -> bool:
    """Whether a text has at most `limit` tokens with any tokenizer, so that they need not be
    counted (ours): in ASCII text every token has at least one character.
    """
    return len(text) + JOIN <= limit and text.isascii()


def pack(pieces: Sequence[Piece], limit: int, count_tokens: Callable[[str], int]) -> str | None:
    """Join pieces, after dropping some from the front until at most `limit` tokens are left
    (released program); None if those that stay are too long.

    The pieces' tokens are added up, which is exact to a token or two per join. Only where that
    could matter is the joined text counted, and further pieces are dropped while it is too long.
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
    """Join the parts above the question, those from the question on, and the text written so far,
    after dropping as much as needed to fit; None if the parts that stay are too long.

    Dropped are first lines of `above`, from the top (released program); then the oldest parts of
    `so_far`: blocks between blank lines or, if the last block alone is too long, its lines, then
    its words; last words of `below` (ours). Parts that stay are never dropped.
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
    """The words of a text, each with the white space that follows it."""
    return re.findall(r"\S+\s*|\s+", text)
