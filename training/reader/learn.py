"""Trains the extractive reader, or resumes; __main__.py is the command."""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch

from ircot_laboratory.questions.questions import DATASETS
from training.loop import Parts, Training, adamw, descend, run_training, write_trained
from training.rate import learning_rate
from training.reader.draw_examples import Encyclopedia, draw_reader_example
from training.reader.evaluate import (
    best_threshold,
    draw_reader_tests,
    measure_answers,
    open_books,
)
from training.reader.model import (
    ReaderTeacher,
    encode_reader_examples,
    make_reader,
    make_reader_tokenizer,
    read_reader_examples,
    reader_losses,
)
from training.worlds import STEPS_PER_WORLD, draw_worlds

# the threshold that best separates gold from other paragraphs (SearChain §4.1)
CONFIDENCE = 1.5
EVALUATE_EVERY = 250  # steps
# seed of the worlds, with training names, that set the threshold
CALIBRATION = 1_900_000_000
# steps, and the share of the steps after which the learning rate falls
WARM_UP, FLAT = 100, 0.6


@dataclass(frozen=True, slots=True)
class ReaderRecipe:
    """The options of a training; `peak`: highest learning rate; `rows`: per step."""

    steps: int
    seed: int = 0
    peak: float = 4e-3
    rows: int = 32

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        return learning_rate(step, self.steps, self.peak, WARM_UP, FLAT)


def start_reader(recipe: ReaderRecipe) -> Training:
    """A training at step 0, with new weights."""
    model = make_reader(len(make_reader_tokenizer()), recipe.seed)
    teacher = ReaderTeacher()
    optimizer = adamw([*model.parameters(), *teacher.parameters()], recipe.peak)
    return Training(model, teacher, [optimizer], asdict(recipe))


def learn_reader(
    training: Training, batch: dict[str, torch.Tensor], rate: float
) -> Parts:
    """Take one step of the optimizer; return the losses."""
    losses = reader_losses(training.model, training.teacher, batch)
    return descend(training, losses, rate)


def take_reader_steps(training: Training, recipe: ReaderRecipe) -> Iterator[Parts]:
    """Take the remaining steps; yield the losses of each."""
    tokenizer = make_reader_tokenizer()
    books: list[Encyclopedia] = []
    for step in range(training.step, recipe.steps):
        if not books or step % STEPS_PER_WORLD == 0:
            worlds = draw_worlds(step, recipe.seed)
            books = [Encyclopedia(worlds[dataset], dataset) for dataset in DATASETS]
        rng = random.Random(f"reader {recipe.seed} {step}")
        rows = range(recipe.rows)
        examples = [draw_reader_example(rng.choice(books), rng) for _ in rows]
        batch = encode_reader_examples(examples, tokenizer)
        yield learn_reader(training, batch, recipe.rate(step))


@torch.no_grad()
def calibrate(model) -> float:
    """Shift the model's confidence so that CONFIDENCE is the threshold that best
    separates gold from other paragraphs, in unseen worlds with training names; return
    the shift.
    """
    books = open_books(CALIBRATION, size=600, held_out=False)
    tests = draw_reader_tests(books, 500, seed=0)
    confidence, _ = read_reader_examples(model, tests)
    shift = CONFIDENCE - best_threshold(confidence, tests)
    model.span_predictor.qa_classifier.bias += shift
    return round(shift, 3)


def train_reader(out: Path, recipe: ReaderRecipe) -> None:
    """Train the reader, or resume from its checkpoint, and write it to `out`."""
    training = start_reader(recipe)
    tests = draw_reader_tests(open_books(seed=1, size=600), 200, seed=1)

    def measure(model) -> dict[str, float]:
        return measure_answers(*read_reader_examples(model, tests), tests)

    take_steps = partial(take_reader_steps, recipe=recipe)
    run_training(training, out, take_steps, measure, EVALUATE_EVERY)
    shift = calibrate(training.model)
    write_trained(training, make_reader_tokenizer(), out, {"shift": shift}, "reading")
