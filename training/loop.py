"""What all trainings share: the loop over the steps, one step of the optimizers,
checkpoints, and the files that a training ends with. A checkpoint is written every two
minutes and when the training is stopped; the same command resumes from it.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from ircotlib.options import say_error
from training.folder import CHECKPOINT

SECONDS = 120  # between two checkpoints
Parts = dict[str, float]  # of a loss, by name


@dataclass
class Training:
    """A training in progress: everything that a checkpoint holds. `teacher`: the heads
    used in training only; `recipe`: the options that decide the result.
    """

    model: nn.Module
    teacher: nn.Module
    optimizers: list[torch.optim.Optimizer]
    recipe: dict = field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    curves: list[dict] = field(default_factory=list)

    @property
    def weights(self) -> list[nn.Parameter]:
        """All that is trained."""
        return [*self.model.parameters(), *self.teacher.parameters()]

    def _parts(self) -> dict:
        optimizers = {
            type(optimizer).__name__: optimizer for optimizer in self.optimizers
        }
        return {"model": self.model, "teacher": self.teacher, **optimizers}

    def save(self, path: Path) -> None:
        """Write a checkpoint atomically."""
        state = {name: part.state_dict() for name, part in self._parts().items()}
        state |= {"step": self.step, "seconds": self.seconds, "curves": self.curves}
        partial = path.with_suffix(".partial")
        torch.save(state | {"recipe": self.recipe}, partial)
        partial.replace(path)

    def restore(self, path: Path) -> None:
        """Resume from a checkpoint. Raises ValueError if it is damaged or of other
        options.
        """
        try:
            state = torch.load(path, weights_only=True, map_location=self.model.device)
        # a damaged file can make torch raise almost any of them
        except Exception as error:
            reason = str(error).partition("\n")[0]
            remedy = "delete it to start again"
            raise ValueError(
                f"{path}: not a valid checkpoint ({reason}); {remedy}"
            ) from None
        found, expected = state["recipe"], self.recipe
        if names := [
            name for name in expected | found if found.get(name) != expected.get(name)
        ]:
            before, now = (
                ", ".join(f"{n} {r.get(n)}" for n in names) for r in (found, expected)
            )
            remedy = "give the options that it was begun with, or another --out"
            raise ValueError(
                f"{path}: found a training with {before}, expected {now}; {remedy}"
            )
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.step, self.seconds, self.curves = (
            state["step"],
            state["seconds"],
            state["curves"],
        )


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
    usual = {"weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw"}
    return [torch.optim.Muon(list(matrices), lr=peak, **usual), adamw(rest, peak)]


def adamw(weights: list[nn.Parameter], peak: float) -> torch.optim.AdamW:
    """The optimizer of all weights that are not Muon's."""
    return torch.optim.AdamW(weights, lr=peak, betas=(0.9, 0.98), weight_decay=0.0)


def descend(
    training: Training, losses: dict[str, torch.Tensor], *rates: float
) -> Parts:
    """Take one step down the sum of the losses, with a learning rate for each
    optimizer.
    """
    for weight in training.weights:
        weight.grad = None
    sum(losses.values()).backward()
    nn.utils.clip_grad_norm_(training.weights, 1.0)
    for optimizer, rate in zip(training.optimizers, rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    return {name: loss.item() for name, loss in losses.items()}


def run_training(
    training: Training,
    out: Path,
    take_steps: Callable[[Training], Iterable[Parts]],
    measure: Callable[[nn.Module], dict],
    every: int,
) -> None:
    """Take all steps, or those that remain after the checkpoint in `out`, with a
    progress bar. Iterating over `take_steps(training)` takes one step at a time and
    yields its losses. After each `every` steps, and after the last one, a row is added
    to the curves: the mean losses, and what `measure(model)` returns.

    After Ctrl-C, the current step is finished and the checkpoint is written; then
    KeyboardInterrupt is raised.
    """
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / CHECKPOINT
    if checkpoint.exists():
        training.restore(checkpoint)
    else:  # another training is now refused
        training.save(checkpoint)
    started, saved, losses = time.time() - training.seconds, time.time(), {}
    first, steps, stopped = training.step, training.recipe["steps"], []
    before = signal.signal(signal.SIGINT, lambda *_: stopped.append(True))
    try:
        for parts in tqdm(
            take_steps(training), initial=first, total=steps, mininterval=30
        ):
            for name, loss in parts.items():
                losses.setdefault(name, []).append(loss)
            training.step, training.seconds = training.step + 1, time.time() - started
            if training.step % every == 0 or training.step == steps:
                means = {
                    name: round(sum(rows) / len(rows), 4)
                    for name, rows in losses.items()
                }
                row = {
                    "step": training.step,
                    "seconds": round(training.seconds),
                    **means,
                }
                training.curves.append(row | measure(training.model))
                tqdm.write(json.dumps(training.curves[-1]))
                losses = {}
            if stopped:
                break
            if time.time() - saved > SECONDS:
                training.save(checkpoint)
                saved = time.time()
        training.save(checkpoint)
    finally:
        signal.signal(signal.SIGINT, before)
    if stopped:
        raise KeyboardInterrupt(f"stopped after step {training.step:,} of {steps:,}")


def write_trained(
    training: Training, tokenizer, out: Path, about: dict, name: str = "training"
) -> None:
    """Write the model in half precision, its tokenizer, the record of its training (its
    recipe and `about`) to `name`.json, and its curves to `name`.jsonl; delete the
    checkpoint.
    """
    tokenizer.save_pretrained(out)
    training.model.cpu().half().save_pretrained(out)
    record = training.recipe | about
    record |= {"seconds": round(training.seconds), "threads": torch.get_num_threads()}
    record |= {
        "parameters": training.model.num_parameters(),
        "torch": torch.__version__,
    }
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (out / f"{name}.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in training.curves)
    )
    (out / CHECKPOINT).unlink(missing_ok=True)


def run_command(train: Callable[..., None], *arguments: object) -> None:
    """Call `train` as a command, which says in one line what is wrong or how to resume."""
    torch.set_num_threads(1)
    try:
        train(*arguments)
    except ValueError as error:
        raise SystemExit(say_error(error, 2)) from error
    except KeyboardInterrupt as stopped:
        remedy = "the same command resumes from its checkpoint"
        print(f"{stopped or 'interrupted'}: {remedy}", file=sys.stderr)
        raise SystemExit(130) from None
