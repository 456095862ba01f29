"""Decides the learning rate, and what the examples of each step are like."""

import random
from dataclasses import dataclass

from ircot_laboratory.questions.questions import DATASETS
from ircotlib.prompting.prompt import FLAN_T5, GPT3, Style
from training.rate import learning_rate

# stand in for Flan-T5 base, large, XL and XXL; about 0.25, 0.35, 1.3 and 2.7 million
# parameters
DEPTH = {"num_layers": 4, "num_decoder_layers": 3}
SIZES = {
    "base": {"d_model": 48, "num_heads": 2, "d_ff": 96, **DEPTH},
    "large": {"d_model": 64, "num_heads": 2, "d_ff": 128, **DEPTH},
    "xl": {"d_model": 128, "num_heads": 4, "d_ff": 256, **DEPTH},
    "xxl": {"d_model": 192, "num_heads": 6, "d_ff": 384, **DEPTH},
}
EASY = 0.04  # the first 4% of the steps have few paragraphs
ONE_DATASET = 0.15  # the first 15% have one data set and no demonstrations
# after 70% of the steps, in a training from scratch, prompts reach their full length
LATE = 0.7
WARM_UP = 200  # steps in which the learning rate rises
FEW, MANY = (1, 2, 3), (1, 2, 3, 4, 4, 4, 5)  # demonstrations in late prompts
FLAT = 0.6  # after 60% of the steps, the learning rate falls


@dataclass(frozen=True, slots=True)
class Plan:
    """What the examples of a step are like."""

    paragraphs: int
    demonstrations: int
    begun: float = 0.37  # the share of chains that are partly written
    style: Style = FLAN_T5  # how the model is prompted


@dataclass(frozen=True, slots=True)
class T5Recipe:
    """The options of one training."""

    steps: int
    seed: int
    peak: float  # the highest learning rate
    grown: bool = False  # whether it starts from a trained model
    causal: bool = False  # prompted like GPT-3, without instructions

    @property
    def style(self) -> Style:
        """How the model is prompted."""
        return GPT3 if self.causal else FLAN_T5

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        return learning_rate(step, self.steps, self.peak, WARM_UP, FLAT)

    def plan(self, step: int, rng: random.Random) -> Plan:
        """The plan of a step. A model from scratch first gets 2 or 3 paragraphs, then
        up to 8 and few demonstrations, since it learns fastest from short prompts.

        In the last steps, and in all steps of a grown model, there are up to 14
        paragraphs, more demonstrations, and more chains that are partly written, as in
        IRCoT's steps. A causal model gets MANY.
        """
        if not self.grown and step < EASY * self.steps:
            return Plan(rng.choice((2, 3)), 0)
        late = self.grown or step >= LATE * self.steps
        share = 0.5 if late else 0.25
        demonstrated = len(self.datasets(step)) > 1 and rng.random() < share
        if not late and demonstrated:
            return Plan(rng.choice((2, 3, 4)), 1)
        if not late:
            return Plan(rng.choice((2, 3, 4, 6, 8)), 0)
        if demonstrated:
            paragraphs = rng.choice((2, 4, 8, 12))
            return Plan(paragraphs, rng.choice(MANY if self.causal else FEW), 0.7)
        return Plan(rng.choice((2, 4, 8, 12, 14)), 0, 0.7)

    def datasets(self, step: int) -> list[str]:
        """A step's data sets; MuSiQue, with the longest chains, is there twice."""
        all_of_them = self.grown or step >= ONE_DATASET * self.steps
        return [*DATASETS, "musique"] if all_of_them else ["hotpotqa"]

    def is_conclusion(self, step: int) -> bool:
        """Whether a step has conclusions only: every fourth, late every third."""
        every = 3 if self.grown or step >= FLAT * self.steps else 4
        return step % every == every - 1
