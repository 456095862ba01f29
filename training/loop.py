"""What all trainings share: the loop over the steps, one step of the optimizers,
checkpoints, and the files that a training ends with. A checkpoint is written every two
minutes and when the training is stopped; the same command resumes from it.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import nn
from tqdm import tqdm
from transformers import PreTrainedModel

from ircotlib.errors import DataError
from ircotlib.options import say_error
from training.folder import CHECKPOINT

SECONDS = 120  # between two checkpoints
STATE = ("step", "seconds", "curves")  # what a checkpoint holds, besides weights
Parts = dict[str, float]  # of a loss, by name
Measure = Callable[[nn.Module], dict[str, Any]]  # of a model, by name


@dataclass
class Training:
    """A training in progress: everything that a checkpoint holds."""

    model: PreTrainedModel
    teacher: nn.Module  # the heads used in training only
    optimizers: list[torch.optim.Optimizer]
    recipe: dict = field(default_factory=dict)  # the options that decide the result
    step: int = 0
    seconds: float = 0.0
    curves: list[dict] = field(default_factory=list)

    @property
    def weights(self) -> list[nn.Parameter]:
        """All that is trained."""
        return [*self.model.parameters(), *self.teacher.parameters()]

    def _parts(self) -> dict:
        parts = {type(optimizer).__name__: optimizer for optimizer in self.optimizers}
        return {"model": self.model, "teacher": self.teacher, **parts}

    def save(self, path: Path) -> None:
        """Write a checkpoint atomically."""
        state = {name: part.state_dict() for name, part in self._parts().items()}
        state |= {name: getattr(self, name) for name in (*STATE, "recipe")}
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(path)

    def restore(self, path: Path) -> None:
        """Resume from a checkpoint; DataError if it is damaged or of other options."""
        try:
            state = torch.load(path, weights_only=True, map_location=self.model.device)
        # a damaged file can make torch raise almost any of them
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise DataError(
                f"{path}: not a valid checkpoint ({reason}); delete it to start again"
            ) from None
        before, now = state["recipe"], self.recipe
        names = [name for name in now | before if before.get(name) != now.get(name)]
        if names:
            begun, asked = (
                ", ".join(f"{name} {recipe.get(name)}" for name in names)
                for recipe in (before, now)
            )
            raise DataError(
                f"{path}: found a training with {begun}, expected {asked}; "
                "give the options that it was begun with, or another --out"
            )
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        for name in STATE:
            setattr(self, name, state[name])


# takes one step at a time of those that remain, and yields its losses
TakeSteps = Callable[[Training], Iterable[Parts]]


def make_optimizers(model: nn.Module, teacher: nn.Module, peak: float) -> list:
    """Muon for the matrices of the model's linear layers (Jordan et al. 2024), with
    updates of the size of AdamW's, so that both can share a learning rate; AdamW for
    all other weights.
    """
    embedding = model.get_input_embeddings().weight  # shared with the output layer
    layers = [layer.weight for layer in model.modules() if isinstance(layer, nn.Linear)]
    matrices = dict.fromkeys(weight for weight in layers if weight is not embedding)
    weights = (*model.parameters(), *teacher.parameters())
    rest = [weight for weight in weights if weight not in matrices]
    muon = torch.optim.Muon(
        list(matrices), lr=peak, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
    )
    return [muon, adamw(rest, peak)]


def adamw(weights: list[nn.Parameter], peak: float) -> torch.optim.AdamW:
    """The optimizer of all weights that are not Muon's."""
    return torch.optim.AdamW(weights, lr=peak, betas=(0.9, 0.98), weight_decay=0.0)


def descend(
    training: Training, losses: dict[str, torch.Tensor], *rates: float
) -> Parts:
    """Take one step down the sum of the losses; each optimizer has its own rate."""
    for weight in training.weights:
        weight.grad = None
    sum(losses.values()).backward()
    nn.utils.clip_grad_norm_(training.weights, 1.0)
    for optimizer, rate in zip(training.optimizers, rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    return {name: loss.item() for name, loss in losses.items()}


def run_training(
    training: Training, out: Path, take_steps: TakeSteps, measure: Measure, every: int
) -> None:
    """Take all steps, or those that remain after the checkpoint in `out`. After each
    `every` steps, and after the last one, the mean losses and the measures are added to
    the curves. After Ctrl-C, the current step is finished and the checkpoint written;
    then KeyboardInterrupt is raised.
    """
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / CHECKPOINT
    if checkpoint.exists():
        training.restore(checkpoint)
    else:  # another training is now refused
        training.save(checkpoint)
    saved = time.time()
    started = saved - training.seconds
    first, steps = training.step, training.recipe["steps"]
    taken = tqdm(take_steps(training), initial=first, total=steps, mininterval=30)
    losses: list[Parts] = []
    with _noting_interrupts() as interrupts:
        for parts in taken:
            losses.append(parts)
            training.step += 1
            training.seconds = time.time() - started
            if training.step % every == 0 or training.step == steps:
                _add_to_curves(training, losses, measure(training.model))
                losses = []
            if interrupts:
                break
            if time.time() - saved > SECONDS:
                training.save(checkpoint)
                saved = time.time()
        training.save(checkpoint)
    if interrupts:
        raise KeyboardInterrupt(f"stopped after step {training.step:,} of {steps:,}")


@contextmanager
def _noting_interrupts() -> Iterator[list[int]]:
    """Note each Ctrl-C in a list, in place of raising KeyboardInterrupt."""
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda sign, _: interrupts.append(sign))
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


def _add_to_curves(training: Training, losses: list[Parts], measured: dict) -> None:
    """Add and print a row: the step, the mean of each loss in its steps, measures."""
    row = {"step": training.step, "seconds": round(training.seconds)}
    for name in dict.fromkeys(chain(*losses)):  # a step need not have all
        row[name] = round(fmean(parts[name] for parts in losses if name in parts), 4)
    training.curves.append(row | measured)
    tqdm.write(json.dumps(row | measured))


def write_trained(
    training: Training, tokenizer, out: Path, about: dict, name: str = "training"
) -> None:
    """Write the model in half precision, its tokenizer, the record of its training (its
    recipe and `about`) to `name`.json, and its curves to `name`.jsonl; delete the
    checkpoint.
    """
    tokenizer.save_pretrained(out)
    training.model.cpu().half().save_pretrained(out)
    record = {
        **training.recipe,
        **about,
        "seconds": round(training.seconds),
        "threads": torch.get_num_threads(),
        "parameters": training.model.num_parameters(),
        "torch": torch.__version__,
    }
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    curves = "".join(json.dumps(row) + "\n" for row in training.curves)
    (out / f"{name}.jsonl").write_text(curves)
    (out / CHECKPOINT).unlink(missing_ok=True)


def run_command(train: Callable[..., None], *arguments: object) -> None:
    """Call `train`; one line says what is wrong with its options, or how to resume."""
    torch.set_num_threads(1)
    try:
        train(*arguments)
    except ValueError as error:
        raise SystemExit(say_error(error, 2)) from error
    except KeyboardInterrupt as stopped:
        print(
            f"{stopped or 'interrupted'}: the same command resumes from its checkpoint",
            file=sys.stderr,
        )
        raise SystemExit(130) from None
