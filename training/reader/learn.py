"""Trains the extractive reader, or resumes from its checkpoint; reader.py is the command."""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from ircot_laboratory.questions.questions import DATASETS
from training.checkpoint import Training, resume, run_steps, write_trained
from training.reader.draws import Encyclopedia, draw_example
from training.reader.evaluate import best_threshold, draw_reading, measure_reading, open_books
from training.reader.model import (
    ReaderTeacher,
    encode_examples,
    make_reader,
    make_reader_tokenizer,
    read_examples,
    reading_loss,
)
from training.t5.recipe import STEPS_PER_WORLD, draw_worlds

CONFIDENCE = 1.5  # the threshold that best separates gold from other paragraphs (SearChain §4.1)
EVALUATE_EVERY = 250  # steps
CALIBRATION = 1_900_000_000  # seed of the worlds, with training names, that set the threshold


@dataclass(frozen=True, slots=True)
class ReaderRecipe:
    """The options of one training. `peak`: the highest learning rate; `rows`: examples per step."""

    steps: int
    seed: int = 0
    peak: float = 4e-3
    rows: int = 32

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step: warm-up over 100 steps, constant to 60% of the steps, then
        linear to 2% of the peak.
        """
        falling = 1 - 0.98 * (step / self.steps - 0.6) / 0.4
        return self.peak * min(1.0, (step + 1) / 100, max(0.02, falling))


def start_training(recipe: ReaderRecipe) -> Training:
    """A training at step 0, with new weights."""
    model = make_reader(len(make_reader_tokenizer()), recipe.seed)
    teacher = ReaderTeacher()
    weights = [*model.parameters(), *teacher.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=recipe.peak, betas=(0.9, 0.98), weight_decay=0.0)
    return Training(model, teacher, [optimizer], asdict(recipe))


def learn(training: Training, batch: dict[str, torch.Tensor], rate: float) -> dict[str, float]:
    """Take one step of the optimizer; return the parts of the loss."""
    loss, parts = reading_loss(training.t5.model, training.teacher, batch)
    [optimizer] = training.optimizers
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
    optimizer.param_groups[0]["lr"] = rate
    optimizer.step()
    return parts


def take_steps(training: Training, recipe: ReaderRecipe) -> Iterator[dict[str, float]]:
    """Take the remaining steps; yield the parts of the loss of each."""
    tokenizer, books = make_reader_tokenizer(), []
    for step in range(training.step, recipe.steps):
        if not books or step % STEPS_PER_WORLD == 0:
            worlds = draw_worlds(step, recipe.seed)
            books = [Encyclopedia(worlds[dataset], dataset) for dataset in DATASETS]
        rng = random.Random(f"reader {recipe.seed} {step}")
        examples = [draw_example(rng.choice(books), rng) for _ in range(recipe.rows)]
        yield learn(training, encode_examples(examples, tokenizer), recipe.learning_rate(step))


@torch.no_grad()
def calibrate(training: Training) -> float:
    """Shift the model's confidence so that CONFIDENCE is the threshold that best separates gold
    from other paragraphs, in unseen worlds with training names; return the shift.
    """
    books = open_books(CALIBRATION, size=600, held_out=False)
    tests = draw_reading(books, 500, seed=0)
    confidence, _ = read_examples(training.t5.model, tests)
    shift = CONFIDENCE - best_threshold(confidence, tests)
    training.t5.model.span_predictor.qa_classifier.bias += shift
    return round(shift, 3)


def train(out: Path, recipe: ReaderRecipe) -> None:
    """Train the reader, resuming from its checkpoint if there is one, and write it to `out`."""
    torch.set_num_threads(1)
    training = start_training(recipe)
    checkpoint = resume(training, out)
    tests = draw_reading(open_books(seed=1, size=600), 200, seed=1)

    def measure() -> dict[str, float]:
        return measure_reading(*read_examples(training.t5.model, tests), tests)

    run_steps(training, checkpoint, take_steps(training, recipe), measure, EVALUATE_EVERY)
    about = training.t5.recipe | {"shift": calibrate(training)}
    write_trained(training, make_reader_tokenizer(), out, about, "reading")
    checkpoint.unlink()
