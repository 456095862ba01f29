"""Worlds to train the T5s and the extractive reader on, with names of their own."""

import random

from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.records import World

STEPS_PER_WORLD = 300


def draw_worlds(step: int, seed: int) -> dict[str, World]:
    """The training world of a step in the form of every data set. The variety of names
    changes from world to world: the fewer there are, the more easily they are confused.
    """
    number = step // STEPS_PER_WORLD
    variety = (0.35, 0.6, 1.0)[number % 3]
    return {d: make_training_world(seed, number, d, variety) for d in DATASETS}


def make_training_world(seed: int, number: int, dataset: str, variety: float) -> World:
    """The `number`-th world with training names, of more variety if these run out."""
    seed = 1_000_000 * (seed + 1) + number
    try:
        return make_world(seed, 600, dataset, held_out=False, variety=variety)
    except ValueError:
        return make_world(seed, 600, dataset, held_out=False, variety=variety + 0.05)


def draw_alike(world: World, title: str, rng: random.Random) -> str:
    """Draw a title that shares a word with this one; it may be the same title."""
    return rng.choice(world.by_word[rng.choice(title.split())])
