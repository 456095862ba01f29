"""A training in progress (ours): its steps, its curves, its checkpoint, and the files it ends with.
The checkpoint is written every two minutes and when the training is stopped; the same command
resumes from it.
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

from ircotlib.files.options import refuse

SECONDS = 120  # between two checkpoints
Parts = dict[str, float]  # of a loss, by name


@dataclass
class Training:
    """A training in progress: everything that a checkpoint holds. `recipe`: the options that decide
    the result.
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
        """Write a checkpoint atomically."""
        state = {name: part.state_dict() for name, part in self._parts().items()}
        state |= {"step": self.step, "seconds": self.seconds, "curves": self.curves}
        state |= {"recipe": self.recipe}
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(path)

    def restore(self, path: Path) -> None:
        """Resume from a checkpoint. Raises ValueError if it cannot be read, if its training has
        other options, or if it was written by a version that did not keep them.
        """
        try:
            state = torch.load(path, weights_only=True, map_location=self.model.device)
            recipe = state.get("recipe")
        except Exception as error:  # a damaged file can make torch raise almost any of them
            reason = str(error).partition("\n")[0]
            remedy = "delete it to start again"
            raise ValueError(f"{path}: found no checkpoint ({reason}); {remedy}") from None
        check_recipe(path, recipe, self.recipe)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.step, self.seconds, self.curves = state["step"], state["seconds"], state["curves"]


def check_recipe(path: Path, found: dict | None, expected: dict) -> None:
    """Raise ValueError, naming the differences, if a checkpoint has another recipe or none."""
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
    """Resume from the checkpoint in a folder, if there is one; return its path in any case."""
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
    """Take the remaining steps, with a progress bar and checkpoints. Iterating over `taken` takes
    one step at a time and yields the parts of its loss. After each `every` steps, and after the
    last one, a row is added to the curves: the mean losses, and what `measure` returns.

    After Ctrl-C or SIGTERM, the current step is finished and the checkpoint is written; then
    KeyboardInterrupt is raised. A second signal ends the training at once.
    """
    started, saved, losses = time.time() - training.seconds, time.time(), {}
    first, steps = training.step, training.t5.recipe["steps"]
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


def write_trained(
    training: Training, tokenizer, out: Path, about: dict, name: str = "training"
) -> None:
    """Write the model in half precision, its tokenizer, the record of its training (`about`) to
    `name`.json, and its curves to `name`.jsonl.
    """
    tokenizer.save_pretrained(out)
    training.t5.model.cpu().half().save_pretrained(out)
    about |= {
        "seconds": round(training.seconds),
        "threads": torch.get_num_threads(),
        "parameters": training.t5.model.num_parameters(),
        "torch": torch.__version__,
    }
    (out / f"{name}.json").write_text(json.dumps(about, indent=1) + "\n")
    (out / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in training.curves))


def _note(training: Training, losses: dict[str, list[float]], found: dict) -> dict:
    means = {name: round(sum(values) / len(values), 4) for name, values in losses.items()}
    row = {"step": training.step, "seconds": round(training.seconds), **means, **found}
    tqdm.write(json.dumps(row))
    return row


@contextmanager
def _notice_signals() -> Iterator[list[int]]:
    """Within the block, the first SIGINT or SIGTERM is added to the list that is returned; a second
    one raises KeyboardInterrupt.
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
    """Call `train` as a command: a ValueError ends the program with one line and status 2; Ctrl-C
    ends it with a line that says how to resume, and status 130.
    """
    try:
        train(*arguments)
    except ValueError as error:
        refuse(str(error))
    except KeyboardInterrupt as stopped:
        how = "the same command goes on from its checkpoint"
        print(f"{stopped or 'interrupted'}: {how}", file=sys.stderr)
        raise SystemExit(130) from None
