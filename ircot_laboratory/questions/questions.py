"""Questions like those in the data sets of both papers, with facts and gold chains."""

import random
from collections import Counter

from ircot_laboratory.questions import comparisons, searchain
from ircot_laboratory.questions.draw import Draw
from ircot_laboratory.questions.walks import draw_inference, draw_walk
from ircot_laboratory.world.records import Riddle, World

# IRCoT's data sets: kinds of questions, as named in the official files, and their
# shares
DATASETS = {
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
# the other data sets of SearChain; their official files name no kinds
SEARCHAIN_DATASETS = {
    "strategyqa": {"time": 0.4, "same": 0.3, "place": 0.3},
    "zsre": {"slot": 0.5, "country_slot": 0.5},
    "trex": {"slot": 0.75, "country_slot": 0.25},
    "fever": {"claim": 0.4, "bridge_claim": 0.6},
    "eli5": {"why": 0.25, "origin": 0.5, "meeting": 0.25},
}
BALANCED = ("strategyqa", "fever")  # both answers are equally frequent for each kind
ALL_DATASETS = DATASETS | SEARCHAIN_DATASETS
# draws without success after which a world counts as too small for a kind of question
TRIES = 3000
OTHERS = {  # kinds of questions that are not walks
    "comparison": comparisons.draw_comparison,
    "bridge_comparison": comparisons.draw_bridge_comparison,
    "inference": draw_inference,
    "age": comparisons.draw_age,
    "count": comparisons.draw_count,
    "time": searchain.draw_time,
    "same": searchain.draw_same,
    "place": searchain.draw_place,
    "slot": searchain.draw_slot,
    "country_slot": searchain.draw_country_slot,
    "claim": searchain.draw_claim,
    "bridge_claim": searchain.draw_bridge_claim,
    "why": searchain.draw_explanation,
    "origin": searchain.draw_explanation,
    "meeting": searchain.draw_meeting,
}


def draw_riddle(
    world: World,
    rng: random.Random,
    dataset: str,
    kind: str,
    dialect: str | None = None,
) -> Riddle:
    """Draw one question of a data set and kind (ALL_DATASETS; also "1hop" for IRCoT's
    data sets). `dialect`: the data set in whose style the chain is worded; None: its
    own.

    Raises ValueError if none is found, because the world is too small.
    """
    draw = Draw(world, rng, dataset, kind, dialect or dataset)
    draw_one = OTHERS.get(kind, draw_walk)
    for _ in range(TRIES):
        if riddle := draw_one(draw):
            return riddle
    raise ValueError(
        f"found no question of kind {kind!r} in {TRIES} draws "
        f"from {len(world.entities)} entities: make the world larger"
    )


def make_riddles(
    world: World, count: int, dataset: str, seed: int | str
) -> list[Riddle]:
    """Draw `count` different questions of a data set, in random order, with the share
    of each kind. Raises ValueError if the world is too small.
    """
    rng = random.Random(f"questions {dataset} {seed}")
    riddles: dict[tuple, Riddle] = {}
    shares = 0.0
    for kind, share in ALL_DATASETS[dataset].items():
        shares += share
        target = round(shares * count)  # of this kind and those before it
        most = target
        if dataset in BALANCED:  # half of this kind, rounded up
            most = -(-(target - len(riddles)) // 2)
        answers = Counter[str]()
        for _ in range(TRIES + 100 * count):
            if len(riddles) == target:
                break
            riddle = draw_riddle(world, rng, dataset, kind)
            if riddle.meaning not in riddles and answers[riddle.answer] < most:
                riddles[riddle.meaning] = riddle
                answers[riddle.answer] += 1
        else:
            raise ValueError(
                f"found {len(riddles)} different questions up to the kind {kind!r}, "
                f"expected {target}: make the world larger"
            )
    return rng.sample(list(riddles.values()), len(riddles))
