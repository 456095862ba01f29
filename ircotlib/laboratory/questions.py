"""Questions about an encyclopedia as four data sets ask them, with gold facts and gold chains of
thought.
"""

import random

from ircotlib.laboratory.comparisons import (
    draw_age,
    draw_bridge_comparison,
    draw_comparison,
    draw_count,
)
from ircotlib.laboratory.draw import Draw
from ircotlib.laboratory.records import Riddle, World
from ircotlib.laboratory.walks import draw_inference, draw_walk

DATASETS = {  # kinds of question, by their names in the official files, and their shares
    "hotpotqa": {"bridge": 0.75, "comparison": 0.25},
    "2wikimultihopqa": {
        "compositional": 0.4,
        "comparison": 0.2,
        "bridge_comparison": 0.2,
        "inference": 0.2,
    },
    "musique": {"2hop": 0.5, "3hop1": 0.3, "4hop1": 0.2},
    "iirc": {"span": 0.5, "age": 0.25, "count": 0.25},
}
TRIES = 3000  # draws after which a world is too small for a kind of question
OTHERS = {  # kinds of question that are no walks
    "comparison": draw_comparison,
    "bridge_comparison": draw_bridge_comparison,
    "inference": draw_inference,
    "age": draw_age,
    "count": draw_count,
}


def draw_riddle(
    world: World, rng: random.Random, dataset: str, kind: str, dialect: str | None = None
) -> Riddle:
    """Draw one question of a data set and kind (DATASETS; "1hop" in any); `dialect`: the data set
    whose chains its chain is worded like, None: its own.

    Raises ValueError when none is found: the world is too small.
    """
    draw = Draw(world, rng, dataset, kind, dialect or dataset)
    draw_one = OTHERS.get(kind, draw_walk)
    for _ in range(TRIES):
        if riddle := draw_one(draw):
            return riddle
    found = f"no question of kind {kind!r} in {TRIES} draws from {len(world.entities)} entities"
    raise ValueError(f"found {found}: make the world larger")


def make_riddles(world: World, count: int, dataset: str, seed: int) -> list[Riddle]:
    """Draw `count` different questions of a data set, each kind in its share, in random order;
    ValueError when the world is too small.
    """
    rng, riddles, shares = random.Random(f"questions {dataset} {seed}"), {}, 0.0
    for kind, share in DATASETS[dataset].items():
        shares += share
        target = round(shares * count)
        for _ in range(TRIES + 100 * count):
            if len(riddles) == target:
                break
            riddle = draw_riddle(world, rng, dataset, kind)
            riddles.setdefault(riddle.meaning, riddle)
        else:
            found = f"found {len(riddles)} different questions up to the kind {kind!r}"
            raise ValueError(f"{found}, expected {target}: make the world larger")
    return rng.sample(list(riddles.values()), len(riddles))
