"""Names of the encyclopedia: two words each, divided once and for all between training worlds and
held-out worlds.
"""

import random
import zlib
from itertools import product

from ircotlib.laboratory.tables import read_table

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

    `variety`: share of the name parts that is used at all, 0 to 1; the smaller, the more names look
    alike. Raises ValueError when there are not enough names.
    """
    first, last = (rng.sample(part, max(2, round(variety * len(part)))) for part in PARTS[kind])
    names = [f"{a} {b}" for a in sorted(first) for b in sorted(last)]
    names = [name for name in names if is_held_out(name) == held_out and name not in taken]
    if count > len(names):
        found = f"{count} names of kind {kind!r} wanted, {len(names)} left"
        raise ValueError(f"{found}: make the world smaller")
    drawn = rng.sample(names, count)
    taken.update(drawn)
    return drawn
