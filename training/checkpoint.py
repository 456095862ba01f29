"""A training under way (ours): its steps, its curves and its checkpoint. This is written every two
minutes and when the training is stopped; the same command goes on from it.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from ircotlib.commands import refuse

SECONDS = 120  # between two checkpoints
Parts = dict[str, float]  # of a loss, by name


@dataclass
class Training:
    """A training under way: all that a checkpoint holds. `recipe`: the options that decide what it
    gives.
    """

    model: nn.Module
    teacher: nn.Module
    optimizers: list[torch.optim.Optimizer]
    recipe: dict = field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    curves: list[dict] = field(default_factory=list)

    def _parts(self) -> dict:
        parts = {"model": self.model, "teacher": self.teacher}
        return parts | {type(one).__name__: one for one in self.optimizers}

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        state = {name: part.state_dict() for name, part in self._parts().items()}
        state |= {"step": self.step, "seconds": self.seconds, "curves": self.curves}
        state |= {"recipe": self.recipe}
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(path)

    def restore(self, path: Path) -> None:
        """Go on from a checkpoint. ValueError, in one line, where it cannot be read, or was begun
        with other options or by a version that did not keep them.
        """
        try:
            state = torch.load(path, weights_only=True, map_location=self.model.device)
            recipe = state.get("recipe")
        except Exception as error:  # of any kind: torch reads a damaged file as far as it can
            reason = str(error).partition("\n")[0]
            remedy = "delete it to start again"
            raise ValueError(f"{path}: found no checkpoint ({reason}); {remedy}") from None
        check_recipe(path, recipe, self.recipe)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.step, self.seconds, self.curves = state["step"], state["seconds"], state["curves"]


def check_recipe(path: Path, found: dict | None, expected: dict) -> None:
    """Raise ValueError, which names the options that differ, where a checkpoint has another recipe
    or none.
    """
    remedy = "give the options that it was begun with, or another --out"
    if found is None:
        raise ValueError(f"{path}: found no options in this checkpoint, expected them; {remedy}")
    names = [name for name in expected | found if found.get(name) != expected.get(name)]
    if names:
        was, asked = (
            ", ".join(f"{name} {one.get(name)}" for name in names) for one in (found, expected)
        )
        raise ValueError(f"{path}: found a training with {was}, expected {asked}; {remedy}")


def resume(training: Training, out: Path) -> Path:
    """Go on from the checkpoint in a folder, if there is one; return its path."""
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / "checkpoint.pt"
    if checkpoint.exists():
        training.restore(checkpoint)
    return checkpoint


def run_steps(
    training: Training,
    checkpoint: Path,
    taken: Iterable[Parts],
    measure: Callable[[], dict],
    every: int,
) -> None:
    """Take all steps that are left, with a progress bar and checkpoints. `taken` takes a step at a
    time and gives the parts of its loss. After every `every` steps a line is added to the curves:
    the mean losses, and what `measure` finds.

    Ctrl-C and SIGTERM let the step end and the checkpoint be written, then KeyboardInterrupt is
    raised; a second one ends the training at once.
    """
    started, saved, losses = time.time() - training.seconds, time.time(), {}
    first, steps = training.step, training.recipe["steps"]
    with _notice_signals() as stopped:
        for parts in tqdm(taken, initial=first, total=steps, mininterval=30):
            for name, loss in parts.items():
                losses.setdefault(name, []).append(loss)
            training.step, training.seconds = training.step + 1, time.time() - started
            if training.step % every == 0 or training.step == steps:
                training.curves.append(_note(training, losses, measure()))
                losses = {}
            if stopped:
                break
            if time.time() - saved > SECONDS:
                training.save(checkpoint)
                saved = time.time()
        training.save(checkpoint)
    if stopped:
        raise KeyboardInterrupt(f"stopped after step {training.step:,} of {steps:,}")


def _note(training: Training, losses: dict[str, list[float]], found: dict) -> dict:
    means = {name: round(sum(values) / len(values), 4) for name, values in losses.items()}
    row = {"step": training.step, "seconds": round(training.seconds), **means, **found}
    tqdm.write(json.dumps(row))
    return row


@contextmanager
def _notice_signals() -> Iterator[list[int]]:
    """The list that the first SIGINT or SIGTERM is put into; a second one raises
    KeyboardInterrupt.
    """
    noticed: list[int] = []

    def notice(number: int, frame: object) -> None:
        if noticed:
            raise KeyboardInterrupt
        noticed.append(number)

    before = {one: signal.signal(one, notice) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield noticed
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def run_command(train: Callable[..., None], *arguments: object) -> None:
    """Train as a command does: an error ends it with one line and status 2; Ctrl-C with a line that
    says how to go on, and status 130.
    """
    try:
        train(*arguments)
    except ValueError as error:
        refuse(str(error))
    except KeyboardInterrupt as stopped:
        how = "the same command goes on from its checkpoint"
        print(f"{stopped or 'interrupted'}: {how}", file=sys.stderr)
        raise SystemExit(130) from None
