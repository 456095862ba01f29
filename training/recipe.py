"""What each step of a training is made of: its learning rate, its worlds, its examples."""

import random
from dataclasses import dataclass, replace

from ircotlib.laboratory.encyclopedia import make_world
from ircotlib.laboratory.questions import DATASETS
from ircotlib.laboratory.records import World
from ircotlib.prompts import FLAN_T5, GPT3, Style
from training.draws import CONCLUDED, Plan, draw_conclusion, draw_difference, draw_example
from training.examples import Example

PROMPT_TOKENS = 3600  # of one step
STEPS_PER_WORLD = 300
FRESH = 500_000  # the number of the first world that is for the conclusions of one step
EASY = 0.04  # share of the steps, the first, that have few paragraphs
ONE_DATASET = 0.15  # share of the steps, the first, of one data set and without demonstrations
LATE = 0.7  # share of the steps, from scratch, before prompts are as long as they will be
FLAT = 0.6  # share of the steps before the learning rate falls
PARAGRAPH, DEMONSTRATION, QUESTION = 45, 200, 40  # tokens, about


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one training is made of. `peak`: the highest learning rate. `grown`: whether it starts
    from a trained model, not from scratch.

    `causal`: whether the model is causal and so prompted as GPT-3 is, without instructions.
    """

    steps: int
    seed: int
    peak: float
    grown: bool = False
    causal: bool = False

    @property
    def style(self) -> Style:
        """How the model is prompted."""
        return GPT3 if self.causal else FLAN_T5

    def learning_rate(self, step: int) -> float:
        """200 steps of warm-up, flat to 60% of the steps, then linear to 2% of the peak."""
        falling = 1 - 0.98 * (step / self.steps - FLAT) / (1 - FLAT)
        return self.peak * min(1.0, (step + 1) / 200, max(0.02, falling))

    def plan(self, step: int, rng: random.Random) -> Plan:
        """From scratch 2 or 3 paragraphs at first; then up to 8 and few demonstrations, for short
        prompts are learned from fastest.

        In the end, and for a grown model always, up to 14 paragraphs, more demonstrations, and more
        chains that have begun, as in IRCoT's steps.
        """
        if not self.grown and step < EASY * self.steps:
            return Plan(rng.choice((2, 3)), 0)
        late = self.grown or step >= LATE * self.steps
        begun = 0.7 if late else 0.37
        if len(self.datasets(step)) > 1 and rng.random() < (0.5 if late else 0.25):
            paragraphs = rng.choice((2, 4, 8, 12) if late else (2, 3, 4))
            return Plan(paragraphs, rng.choice((1, 2, 3)) if late else 1, begun)
        return Plan(rng.choice((2, 4, 8, 12, 14) if late else (2, 3, 4, 6, 8)), 0, begun)

    def datasets(self, step: int) -> list[str]:
        """The data sets of a step's examples; MuSiQue, whose chains are the longest, twice as often
        as the others.
        """
        all_of_them = self.grown or step >= ONE_DATASET * self.steps
        return [*DATASETS, "musique"] if all_of_them else ["hotpotqa"]

    def is_conclusion(self, step: int) -> bool:
        """Whether the examples of a step are conclusions only: every fourth, every third while the
        rate falls or when reading is known.
        """
        every = 3 if self.grown or step >= FLAT * self.steps else 4
        return step % every == every - 1


def draw_worlds(step: int, seed: int) -> dict[str, World]:
    """The training world of a step as every data set has it; every third has few different names,
    so that they are easily confused.
    """
    number = step // STEPS_PER_WORLD
    variety = (0.35, 0.6, 1.0)[number % 3]
    return {
        dataset: _make_training_world(1_000_000 * (seed + 1) + number, dataset, variety)
        for dataset in DATASETS
    }


def _make_training_world(seed: int, dataset: str, variety: float) -> World:
    """A world of the names of training; where those of this variety are too few by chance, of some
    more.
    """
    try:
        return make_world(seed, 600, dataset, held_out=False, variety=variety)
    except ValueError:
        return make_world(seed, 600, dataset, held_out=False, variety=variety + 0.05)


def draw_batch(step: int, recipe: Recipe, worlds: dict[str, World]) -> list[Example]:
    """The examples of a step, of all its data sets."""
    rng = random.Random(f"{recipe.seed} {step}")
    if recipe.is_conclusion(step):
        return _draw_conclusions(step, recipe, rng)
    plan = replace(recipe.plan(step, rng), style=recipe.style)
    tokens = QUESTION + plan.paragraphs * PARAGRAPH + plan.demonstrations * DEMONSTRATION
    datasets = rng.choices(recipe.datasets(step), k=max(2, PROMPT_TOKENS // tokens))
    examples = [draw_example(worlds[dataset], dataset, rng, plan) for dataset in datasets]
    return [example for example in examples if example.target]


def _draw_conclusions(step: int, recipe: Recipe, rng: random.Random) -> list[Example]:
    """Conclusions, half of them differences of years alone, of a world of their own: one world has
    too few pairs of years to learn subtraction.
    """
    datasets = [one for one in recipe.datasets(step) for _ in CONCLUDED.get(one, ())]
    world = _make_training_world(1_000_000 * (recipe.seed + 1) + FRESH + step, "iirc", 1.0)
    if "iirc" in datasets and rng.random() < 0.5:
        return [draw_difference(world, rng, recipe.style) for _ in range(96)]
    drawn = rng.choices(datasets, k=48)
    return [draw_conclusion(world, rng, dataset, recipe.style) for dataset in drawn]
