"""Trains a T5 or the causal model, or resumes from its checkpoint; train.py is the command."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedTokenizerFast

from ircotlib.prompting.prompt import Style
from training.checkpoint import Training, resume, run_steps, write_trained
from training.t5.causal import make_causal_model
from training.t5.causal_encode import encode_causal
from training.t5.causal_teach import CausalTeacher, causal_loss
from training.t5.encode import encode
from training.t5.evaluate import reading_accuracy, writer
from training.t5.grow import grow
from training.t5.model import make_model, make_tokenizer, order_numbers
from training.t5.recipe import STEPS_PER_WORLD, Recipe, draw_batch, draw_worlds
from training.t5.teach import Teacher, total_loss

EVALUATE_EVERY = 2000  # steps


def make_optimizers(
    model: nn.Module, teacher: nn.Module, peak: float
) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al. 2024) for the matrices of linear layers, AdamW for all other weights.

    Muon's updates are scaled to the size of AdamW's, so that both can share a learning rate. With
    Muon the models need fewer steps to learn where to attend.
    """
    matrices, rest = split_weights(model, teacher)
    muon = torch.optim.Muon(matrices, lr=peak, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    return [muon, torch.optim.AdamW(rest, lr=peak, betas=(0.9, 0.98), weight_decay=0.0)]


def split_weights(
    model: nn.Module, teacher: nn.Module
) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The matrices of the model's linear layers, and all other weights, the teacher's too."""
    embedding = model.get_input_embeddings().weight  # shared with the output layer
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    matrices = dict.fromkeys(one.weight for one in layers if one.weight is not embedding)
    weights = (*model.parameters(), *teacher.parameters())
    return list(matrices), [weight for weight in weights if weight not in matrices]


def learn(training: Training, batch: dict[str, torch.Tensor], rate: float) -> dict[str, float]:
    """Take one step of the optimizers; return the parts of the loss."""
    model, teacher = training.t5.model, training.teacher
    batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
    with torch.autocast(model.device.type, dtype=torch.bfloat16):
        find_loss = total_loss if model.config.is_encoder_decoder else causal_loss
        loss, parts = find_loss(model, teacher, batch)
    model.zero_grad()
    teacher.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([*model.parameters(), *teacher.parameters()], 1.0)
    for optimizer in training.optimizers:
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    return parts


def start_training(
    size: str, recipe: Recipe, start: Path | None = None, device: str = "cpu"
) -> Training:
    """A training at step 0, from scratch or from the trained model in the folder `start`."""
    tokenizer = make_tokenizer()
    if recipe.causal:
        model = make_causal_model(len(tokenizer), recipe.seed)
    else:
        model = make_model(size, len(tokenizer), recipe.seed)
    old_width = grow(start, model) if start else 0
    if old_width < model.config.hidden_size:
        order_numbers(model, tokenizer, old_width)
    model.to(device)
    teacher = (CausalTeacher if recipe.causal else Teacher)(model.config.hidden_size).to(device)
    made_of = {"size": size, **asdict(recipe), "start": read_about(start) if start else None}
    return Training(model, teacher, make_optimizers(model, teacher, recipe.peak), made_of)


def train(out: Path, size: str, recipe: Recipe, start: Path | None = None) -> None:
    """Train one model, resuming from its checkpoint if there is one, and write it to `out`. Uses a
    GPU if there is one.
    """
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    training = start_training(size, recipe, start, device)
    checkpoint = resume(training, out)
    measure = partial(_measure, training.t5.model, recipe.style)
    run_steps(training, checkpoint, take_steps(training, recipe), measure, EVALUATE_EVERY)
    tokenizer = _prompt_tokenizer(training.t5.model)
    write_trained(training, tokenizer, out, training.t5.recipe | {"device": device})
    checkpoint.unlink(missing_ok=True)


def read_about(folder: Path) -> dict:
    """The record of how the model was made that a training starts from."""
    path = folder / "training.json"
    return json.loads(path.read_text()) if path.is_file() else {"folder": folder.name}


def take_steps(training: Training, recipe: Recipe) -> Iterator[dict[str, float]]:
    """Take the remaining steps; yield the parts of the loss of each."""
    tokenizer, write_batch = make_tokenizer(), encode_causal if recipe.causal else encode
    worlds = None
    for step in range(training.step, recipe.steps):
        if worlds is None or step % STEPS_PER_WORLD == 0:
            worlds = draw_worlds(step, recipe.seed)
        batch = write_batch(draw_batch(step, recipe, worlds), tokenizer)
        of_step = "conclusion " if recipe.is_conclusion(step) else ""
        parts = learn(training, batch, recipe.learning_rate(step))
        yield {of_step + name: loss for name, loss in parts.items()}


def _measure(model: nn.Module, style: Style) -> dict:
    write = writer(model, _prompt_tokenizer(model))
    return reading_accuracy(write, paragraphs=10, questions=40, seed=1, style=style)


def _prompt_tokenizer(model: nn.Module) -> PreTrainedTokenizerFast:
    """The tokenizer for the prompts of a model; only a T5's end with </s>."""
    return make_tokenizer(ends=model.config.is_encoder_decoder)
