"""Trains the miniature language model from scratch: python -m ircotlib.world.train --out FOLDER.

Every few hundred steps a new training world is drawn; its names never occur in held-out worlds. A checkpoint is written every
two minutes, and the same command goes on from it. The folder then holds a plain T5 with its tokenizer, training.json (how it was
made) and training.jsonl (its curves).
"""

import argparse
import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from ircotlib.world.encyclopedia import make_world
from ircotlib.world.evaluate import reading_accuracy, writer
from ircotlib.world.examples import Confusers, Example, draw_conclusion, draw_example
from ircotlib.world.model import SIZES, make_model, make_tokenizer, order_numbers
from ircotlib.world.teach import Teacher, encode, total_loss

PROMPT_TOKENS = 3600  # of one step
STEPS_PER_WORLD = 300
CHECKPOINT_SECONDS = 120
EVALUATE_EVERY = 1000  # steps
EASY_STEPS = 720  # the first steps have few paragraphs
FLAT = 0.6  # share of the steps before the learning rate falls
SECOND_ROUND = 0.5  # further steps, as a share of the first


@dataclass
class Training:
    """A training under way: all that a checkpoint holds."""

    model: nn.Module
    teacher: Teacher
    optimizer: torch.optim.Optimizer
    step: int = 0
    seconds: float = 0.0
    curves: list[dict] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        parts = {name: getattr(self, name).state_dict() for name in ("model", "teacher", "optimizer")}
        partial = path.with_suffix(".partial")
        torch.save({**parts, "step": self.step, "seconds": self.seconds, "curves": self.curves}, partial)
        partial.replace(path)

    def restore(self, path: Path) -> None:
        """Go on from a checkpoint."""
        state = torch.load(path, weights_only=True)
        for name in ("model", "teacher", "optimizer"):
            getattr(self, name).load_state_dict(state[name])
        self.step, self.seconds, self.curves = state["step"], state["seconds"], state["curves"]


def learning_rate(step: int, steps: int, peak: float) -> float:
    """200 steps of warm-up, flat to 60% of the steps, linear to 2% of the peak; then a second round down from half the peak."""
    if step >= steps:
        return peak * max(0.02, 0.5 - 0.5 * (step - steps) / (SECOND_ROUND * steps))
    return peak * min(1.0, (step + 1) / 200, max(0.02, 1 - 0.98 * (step / steps - FLAT) / (1 - FLAT)))


def draw_world(step: int, seed: int):
    """The training world of a step; every third has few different names, so that they are easily confused."""
    number = step // STEPS_PER_WORLD
    return make_world(1_000_000 * (seed + 1) + number, 600, held_out=False, variety=(0.35, 0.6, 1.0)[number % 3])


def is_conclusion(step: int, steps: int) -> bool:
    """Whether the examples of a step are conclusions only: every fourth, every third while the rate falls, every second in the second round."""
    every = 2 if step >= steps else 3 if step >= FLAT * steps else 4
    return step % every == every - 1


def draw_batch(step: int, steps: int, world, confusers: Confusers, rng: random.Random) -> list[Example]:
    """The examples of a step: 2 or 3 paragraphs at first, then 2 to 14; in the end more chains that have begun, as in IRCoT's steps."""
    if is_conclusion(step, steps):
        return [draw_conclusion(world, rng) for _ in range(48)]
    paragraphs = rng.choice((2, 3)) if step < EASY_STEPS else rng.choice((2, 4, 6, 8, 10, 12, 14))
    begun, rows = (0.75 if step >= FLAT * steps else 0.37), max(2, PROMPT_TOKENS // (45 * paragraphs + 30))
    examples = [draw_example(world, confusers, rng, paragraphs, begun) for _ in range(rows)]
    return [example for example in examples if example.target]


def learn(training: Training, batch: dict[str, torch.Tensor], rate: float) -> dict[str, float]:
    """One step of the optimizer; return the parts of the loss."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss, parts = total_loss(training.model, training.teacher, batch)
    training.optimizer.param_groups[0]["lr"] = rate
    training.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(training.optimizer.param_groups[0]["params"], 1.0)
    training.optimizer.step()
    return parts


def train(out: Path, size: str, steps: int, seed: int, peak: float) -> None:
    """Train one model, or go on with it from its checkpoint, and write it to `out`."""
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer, checkpoint = make_tokenizer(), out / "checkpoint.pt"
    model = make_model(size, len(tokenizer), seed)
    order_numbers(model, tokenizer)
    teacher = Teacher(model.config.d_model)
    optimizer = torch.optim.AdamW([*model.parameters(), *teacher.parameters()], lr=peak, betas=(0.9, 0.98), weight_decay=0.0)
    training = Training(model, teacher, optimizer)
    if checkpoint.exists():
        training.restore(checkpoint)
    run_steps(training, tokenizer, checkpoint, steps, seed, peak)
    write_model(training, tokenizer, out, {"size": size, "steps": steps, "seed": seed, "peak_learning_rate": peak})
    checkpoint.unlink(missing_ok=True)


def run_steps(training: Training, tokenizer, checkpoint: Path, steps: int, seed: int, peak: float) -> None:
    """All steps that are left, with a progress bar, a line of the curves now and then, and checkpoints."""
    started, saved, world, losses = time.time() - training.seconds, time.time(), None, {}
    total = round((1 + SECOND_ROUND) * steps)
    for step in tqdm(range(training.step, total), initial=training.step, total=total, mininterval=30):
        if world is None or step % STEPS_PER_WORLD == 0:
            world = draw_world(step, seed)
            confusers = Confusers(world)
        batch = encode(draw_batch(step, steps, world, confusers, random.Random(f"{seed} {step}")), tokenizer)
        for name, loss in learn(training, batch, learning_rate(step, steps, peak)).items():
            losses.setdefault(("conclusion " if is_conclusion(step, steps) else "") + name, []).append(loss)
        training.step, training.seconds = step + 1, time.time() - started
        if training.step % EVALUATE_EVERY == 0:
            training.curves.append(_measure(training, tokenizer, losses))
            losses = {}
        if time.time() - saved > CHECKPOINT_SECONDS:
            training.save(checkpoint)
            saved = time.time()


def _measure(training: Training, tokenizer, losses: dict[str, list[float]]) -> dict:
    means = {name: round(sum(values) / len(values), 4) for name, values in losses.items()}
    accuracy = reading_accuracy(writer(training.model, tokenizer), paragraphs=12, questions=120, seed=1)
    row = {"step": training.step, "seconds": round(training.seconds), **means, **accuracy}
    tqdm.write(json.dumps(row))
    return row


def write_model(training: Training, tokenizer, out: Path, about: dict) -> None:
    """Write the model in half precision, its tokenizer, how it was made, and its curves."""
    tokenizer.save_pretrained(out)
    training.model.half().save_pretrained(out)
    about |= {"steps_taken": training.step, "seconds": round(training.seconds), "threads": 1, "parameters": training.model.num_parameters(), "torch": torch.__version__}
    (out / "training.json").write_text(json.dumps(about, indent=1) + "\n")
    (out / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in training.curves))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the model and its checkpoint")
    parser.add_argument("--size", choices=SIZES, default="mini")
    parser.add_argument("--steps", type=int, default=20000, help="of the first round; the second has half as many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peak", type=float, default=3e-3, help="highest learning rate")
    options = parser.parse_args()
    train(options.out, options.size, options.steps, options.seed, options.peak)


if __name__ == "__main__":
    main()
