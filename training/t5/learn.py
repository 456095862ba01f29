"""Trains a T5 or the causal model, or resumes; __main__.py is the command."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from torch import nn

from ircot_laboratory.world.records import World
from training.causal import CausalTeacher, causal_losses
from training.loop import (
    Parts,
    Training,
    descend,
    make_optimizers,
    run_training,
    write_trained,
)
from training.t5.causal_encode import encode_causal
from training.t5.causal_model import make_causal_model
from training.t5.draw_examples import draw_batch
from training.t5.encode import encode
from training.t5.evaluate import reading_accuracy, writer
from training.t5.grow import grow
from training.t5.model import make_t5, make_tokenizer
from training.t5.recipe import T5Recipe
from training.t5.teach import T5Teacher, t5_losses
from training.words import order_numbers
from training.worlds import STEPS_PER_WORLD, draw_worlds

EVALUATE_EVERY = 2000  # steps


def start_t5(
    size: str, recipe: T5Recipe, start: Path | None = None, device: str = "cpu"
) -> Training:
    """A training at step 0, from scratch or from the trained model in `start`."""
    tokenizer = make_tokenizer()
    if recipe.causal:
        model = make_causal_model(len(tokenizer), recipe.seed)
    else:
        model = make_t5(size, len(tokenizer), recipe.seed)
    old_width = 0
    begun = None
    if start:
        old_width = grow(start, model)
        begun = {"folder": start.name}
        if (start / "training.json").is_file():
            begun = json.loads((start / "training.json").read_text())
    if old_width < model.config.hidden_size:
        order_numbers(model, tokenizer, old_width)
    options = {"size": size, **asdict(recipe), "start": begun}
    return Training(*make_parts(model.to(device), recipe.peak), options)


def make_parts(model: nn.Module, peak: float) -> tuple[nn.Module, nn.Module, list]:
    """A model, its teacher, and its optimizers."""
    kind = T5Teacher if model.config.is_encoder_decoder else CausalTeacher
    teacher = kind(model.config.hidden_size).to(model.device)
    return model, teacher, make_optimizers(model, teacher, peak)


def learn_t5(training: Training, batch: dict[str, torch.Tensor], rate: float) -> Parts:
    """Take one step of the optimizers; return the losses."""
    model = training.model
    batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
    with torch.autocast(model.device.type, dtype=torch.bfloat16):
        find_losses = t5_losses if model.config.is_encoder_decoder else causal_losses
        losses = find_losses(model, training.teacher, batch)
    return descend(training, losses, rate, rate)


def take_t5_steps(training: Training, recipe: T5Recipe) -> Iterator[Parts]:
    """Take the remaining steps; yield the losses of each."""
    tokenizer = make_tokenizer()
    make_tensors = encode_causal if recipe.causal else encode
    worlds: dict[str, World] = {}
    for step in range(training.step, recipe.steps):
        if not worlds or step % STEPS_PER_WORLD == 0:
            worlds = draw_worlds(step, recipe.seed)
        batch = make_tensors(draw_batch(step, recipe, worlds), tokenizer)
        kind = "conclusion " if recipe.is_conclusion(step) else ""
        losses = learn_t5(training, batch, recipe.rate(step))
        yield {kind + name: loss for name, loss in losses.items()}


def train_t5(out: Path, size: str, recipe: T5Recipe, start: Path | None = None) -> None:
    """Train a model, or resume, on a GPU if there is one, and write it to `out`."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    training = start_t5(size, recipe, start, device)
    # only a T5's prompts end with </s>
    tokenizer = make_tokenizer(ends=not recipe.causal)

    def measure(model: nn.Module) -> dict:
        write = writer(model, tokenizer)
        return reading_accuracy(write, questions=40, seed=1, style=recipe.style)

    take_steps = partial(take_t5_steps, recipe=recipe)
    run_training(training, out, take_steps, measure, EVALUATE_EVERY)
    write_trained(training, tokenizer, out, {"device": device})
