"""Decides the learning rate, the worlds and the examples of each step of a training."""

import random
from dataclasses import dataclass, replace

from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.records import World
from ircotlib.prompting.prompt import FLAN_T5, GPT3, Style
from training.t5.draws import CONCLUDED, Plan, draw_conclusion, draw_difference, draw_example
from training.t5.examples import Example

# stand in for Flan-T5 base, large, XL and XXL; about 0.25, 0.35, 1.3 and 2.7 million parameters
SIZES = {
    "base": {"d_model": 48, "num_heads": 2, "num_layers": 4, "num_decoder_layers": 3, "d_ff": 96},
    "large": {"d_model": 64, "num_heads": 2, "num_layers": 4, "num_decoder_layers": 3, "d_ff": 128},
    "xl": {"d_model": 128, "num_heads": 4, "num_layers": 4, "num_decoder_layers": 3, "d_ff": 256},
    "xxl": {"d_model": 192, "num_heads": 6, "num_layers": 4, "num_decoder_layers": 3, "d_ff": 384},
}
PROMPT_TOKENS = 3600  # in one step, about
STEPS_PER_WORLD = 300
FRESH = 500_000  # worlds from this number on are for the conclusions of a single step
EASY = 0.04  # the first 4% of the steps have few paragraphs
ONE_DATASET = 0.15  # the first 15% have one data set and no demonstrations
LATE = 0.7  # after 70% of the steps, in a training from scratch, prompts reach their full length
FLAT = 0.6  # after 60% of the steps, the learning rate falls
PARAGRAPH, DEMONSTRATION, QUESTION = 45, 200, 40  # their lengths in tokens, about


@dataclass(frozen=True, slots=True)
class Recipe:
    """The options of one training. `peak`: the highest learning rate. `grown`: whether it starts
    from a trained model. `causal`: whether the model is causal, and so prompted like GPT-3, without
    instructions.
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
        """The learning rate of a step: warm-up over 200 steps, constant to 60% of the steps, then
        linear to 2% of the peak.
        """
        falling = 1 - 0.98 * (step / self.steps - FLAT) / (1 - FLAT)
        return self.peak * min(1.0, (step + 1) / 200, max(0.02, falling))

    def plan(self, step: int, rng: random.Random) -> Plan:
        """The plan of a step. A model from scratch first gets 2 or 3 paragraphs, then up to 8 and
        few demonstrations, since it learns fastest from short prompts.

        In the last steps, and in all steps of a grown model, there are up to 14 paragraphs, more
        demonstrations, and more chains that are partly written, as in IRCoT's steps.
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
        """The data sets of a step's examples. MuSiQue, with the longest chains, is there twice."""
        all_of_them = self.grown or step >= ONE_DATASET * self.steps
        return [*DATASETS, "musique"] if all_of_them else ["hotpotqa"]

    def is_conclusion(self, step: int) -> bool:
        """Whether a step has conclusions only: every fourth step, or every third while the learning
        rate falls and for a grown model, which can already read.
        """
        every = 3 if self.grown or step >= FLAT * self.steps else 4
        return step % every == every - 1


def draw_worlds(step: int, seed: int) -> dict[str, World]:
    """The training world of a step in the form of every data set. The variety of names changes from
    world to world: the fewer there are, the more easily they are confused.
    """
    number = step // STEPS_PER_WORLD
    variety = (0.35, 0.6, 1.0)[number % 3]
    return {
        dataset: _make_training_world(1_000_000 * (seed + 1) + number, dataset, variety)
        for dataset in DATASETS
    }


def _make_training_world(seed: int, dataset: str, variety: float) -> World:
    """Make a world with training names. If this variety happens to have too few names, it is
    raised a little.
    """
    try:
        return make_world(seed, 600, dataset, held_out=False, variety=variety)
    except ValueError:
        return make_world(seed, 600, dataset, held_out=False, variety=variety + 0.05)


def draw_batch(step: int, recipe: Recipe, worlds: dict[str, World]) -> list[Example]:
    """Draw the examples of a step."""
    rng = random.Random(f"{recipe.seed} {step}")
    if recipe.is_conclusion(step):
        return _draw_conclusions(step, recipe, rng)
    plan = replace(recipe.plan(step, rng), style=recipe.style)
    tokens = QUESTION + plan.paragraphs * PARAGRAPH + plan.demonstrations * DEMONSTRATION
    datasets = rng.choices(recipe.datasets(step), k=max(2, PROMPT_TOKENS // tokens))
    examples = [draw_example(worlds[dataset], dataset, rng, plan) for dataset in datasets]
    return [example for example in examples if example.target]


def _draw_conclusions(step: int, recipe: Recipe, rng: random.Random) -> list[Example]:
    """Draw conclusions, in half of these steps only differences of years. Each step has a world of
    its own: one world has too few pairs of years to learn subtraction from.
    """
    datasets = [one for one in recipe.datasets(step) for _ in CONCLUDED.get(one, ())]
    world = _make_training_world(1_000_000 * (recipe.seed + 1) + FRESH + step, "iirc", 1.0)
    if "iirc" in datasets and rng.random() < 0.5:
        return [draw_difference(world, rng, recipe.style) for _ in range(96)]
    drawn = rng.choices(datasets, k=48)
    return [draw_conclusion(world, rng, dataset, recipe.style) for dataset in drawn]
