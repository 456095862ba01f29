"""The names in the encyclopedia, divided for good between training worlds and held-out
worlds: two words each and, in a large world, others between them, so that names do not
run out.
"""

import random
import zlib
from collections.abc import Mapping
from itertools import product

from ircot_laboratory.world.relations import read_table

WORDS = {row["list"]: row["words"].split() for row in read_table("names")}
for _made in ("last", "place"):  # made of heads and tails
    _heads, _tails = WORDS.pop(f"{_made} heads"), WORDS.pop(f"{_made} tails")
    WORDS[_made] = [head + tail for head, tail in product(_heads, _tails)]

WOMEN, MEN = WORDS["women"], WORDS["men"]
# values of relations
LISTS = {name: WORDS[name] for name in ("currency", "language", "river")}
# kind -> first words, last words; kind -> words that may stand between
PARTS, BETWEEN = {}, {}
for row in read_table("kinds"):
    PARTS[row["kind"]] = tuple(
        [word for part in row[column].split() for word in WORDS[part]]
        for column in ("first", "last")
    )
    BETWEEN[row["kind"]] = WORDS[row["between"]]


def is_held_out(name: str) -> bool:
    """Whether a name is of held-out worlds (one in three), never of training worlds."""
    return zlib.crc32(name.encode()) % 3 == 0


def draw_names(
    kind: str,
    number: int,
    taken: set[str],
    rng: random.Random,
    held_out: bool,
    variety: float = 1.0,
    share: float = 1.0,
) -> list[str]:
    """Draw so many new names of a kind and add them to `taken`.

    `variety`: the share of name parts that are used at all, from 0 to 1; the smaller it
    is, the more alike the names. `share`: how many of the names have two words (see
    `find_shares`). Raises ValueError if there are not enough of these.
    """
    first, last = (
        rng.sample(part, max(2, round(variety * len(part)))) for part in PARTS[kind]
    )
    names = _list_names(sorted(first), sorted(last), taken, held_out)
    short = round(share * number)
    if short > len(names):
        raise ValueError(
            f"found {len(names)} names of kind {kind!r} left, expected {short}: "
            "make the world smaller"
        )
    drawn = dict.fromkeys(rng.sample(names, short))
    # words between: so many that names are left over, also for kinds that share them
    more = 1
    while 10 * number > len(first) * len(BETWEEN[kind]) ** more * len(last):
        more += 1
    while len(drawn) < number:
        between = rng.choices(BETWEEN[kind], k=more)
        name = " ".join((rng.choice(first), *between, rng.choice(last)))
        if is_held_out(name) == held_out and name not in taken:
            drawn[name] = None
    taken.update(drawn)
    return rng.sample([*drawn], number) if short < number else [*drawn]


def find_shares(
    numbers: Mapping[str, int], taken: set[str], held_out: bool
) -> dict[str, float]:
    """For a world with so many entities, the share of each kind's names that have two
    words: all if they suffice for the kinds that share them; otherwise so many that
    half of these are used.

    The others have words between, from a list of another kind, so that no name contains
    another: they are never the last of a name that begins alike, nor the first of one
    that ends alike.
    """
    shares = {}
    for kind, (first, last) in PARTS.items():
        same = [other for other in numbers if PARTS[other] == (first, last)]
        needed = sum(numbers[other] for other in same)
        left = len(_list_names(first, last, taken, held_out))
        shares[kind] = 1.0 if needed <= left else left / (2 * needed)
    return shares


def _list_names(
    first: list[str], last: list[str], taken: set[str], held_out: bool
) -> list[str]:
    names = [f"{a} {b}" for a in first for b in last]
    return [n for n in names if is_held_out(n) == held_out and n not in taken]
