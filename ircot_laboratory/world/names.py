"""The names in the encyclopedia: two words each, divided for good between training worlds and
held-out worlds.
"""

import random
import zlib
from itertools import product

from ircot_laboratory.world.tables import read_table

WORDS = {row["list"]: row["words"].split() for row in read_table("names")}
for _made in ("last", "place"):
    _heads, _tails = (WORDS.pop(f"{_made} {part}") for part in ("heads", "tails"))
    WORDS[_made] = [head + tail for head, tail in product(_heads, _tails)]

WOMEN, MEN = WORDS["women"], WORDS["men"]
LISTS = {name: WORDS[name] for name in ("currency", "language", "river")}  # values of relations
PARTS = {  # kind -> first words, last words
    row["kind"]: tuple(
        [word for part in row[column].split() for word in WORDS[part]]
        for column in ("first", "last")
    )
    for row in read_table("kinds")
}


def is_held_out(name: str) -> bool:
    """Whether a name belongs to the held-out worlds (one in three); no training world uses it."""
    return zlib.crc32(name.encode()) % 3 == 0


def draw_names(
    kind: str, count: int, taken: set[str], rng: random.Random, held_out: bool, variety: float = 1.0
) -> list[str]:
    """Draw `count` new names of a kind and add them to `taken`.

    `variety`: the share of name parts that are used at all, from 0 to 1; the smaller it is, the
    more alike the names. Raises ValueError if there are not enough names.
    """
    first, last = (rng.sample(part, max(2, round(variety * len(part)))) for part in PARTS[kind])
    names = [f"{a} {b}" for a in sorted(first) for b in sorted(last)]
    names = [name for name in names if is_held_out(name) == held_out and name not in taken]
    if count > len(names):
        reason = f"found {len(names)} names of kind {kind!r} left, expected {count}"
        raise ValueError(f"{reason}: make the world smaller")
    drawn = rng.sample(names, count)
    taken.update(drawn)
    return drawn
