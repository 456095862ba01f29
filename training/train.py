"""Trains a miniature language model: python -m training.train --size base --out FOLDER.

Every few hundred steps a new training world is drawn; its names never occur in held-out worlds. A
checkpoint is written every two minutes, and the same command goes on from it. The folder then holds
a plain model with its tokenizer, training.json (how it was made) and training.jsonl (its curves).
`--start` begins with the weights of a smaller or equal model instead of from scratch.
"""

import argparse
import json
import random
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm
from transformers import PreTrainedTokenizerFast

from ircotlib.laboratory.encyclopedia import World, make_world
from ircotlib.laboratory.questions import STYLES
from ircotlib.prompts import FLAN_T5, GPT3, Style
from training.causal import CausalTeacher, causal_loss, encode_causal, make_causal_model
from training.draws import (
    CONCLUDED,
    Confusers,
    Plan,
    draw_conclusion,
    draw_difference,
    draw_example,
)
from training.evaluate import reading_accuracy, writer
from training.examples import Example
from training.grow import grow
from training.model import SIZES, make_model, make_tokenizer, order_numbers
from training.teach import Teacher, encode, total_loss

PROMPT_TOKENS = 3600  # of one step
STEPS_PER_WORLD = 300
FRESH = 500_000  # the number of the first world that is for the conclusions of one step
CHECKPOINT_SECONDS = 120
EVALUATE_EVERY = 2000  # steps
EASY = 0.04  # share of the steps, the first, that have few paragraphs
ONE_STYLE = 0.15  # share of the steps, the first, in one style and without demonstrations
LATE = 0.7  # share of the steps, from scratch, before prompts are as long as they will be
FLAT = 0.6  # share of the steps before the learning rate falls
TOKENS = {"paragraph": 45, "demonstration": 200, "question": 40}  # about


@dataclass
class Training:
    """A training under way: all that a checkpoint holds."""

    model: nn.Module
    teacher: Teacher
    optimizers: list[torch.optim.Optimizer]
    step: int = 0
    seconds: float = 0.0
    curves: list[dict] = field(default_factory=list)

    def _parts(self) -> dict:
        return {
            "model": self.model,
            "teacher": self.teacher,
            **{type(one).__name__: one for one in self.optimizers},
        }

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        partial = path.with_suffix(".partial")
        torch.save(
            {**parts, "step": self.step, "seconds": self.seconds, "curves": self.curves}, partial
        )
        partial.replace(path)

    def restore(self, path: Path) -> None:
        """Go on from a checkpoint."""
        state = torch.load(path, weights_only=True, map_location=self.model.device)
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self.step, self.seconds, self.curves = state["step"], state["seconds"], state["curves"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one training is made of. `peak`: the highest learning rate. `grown`: whether it starts
    from a trained model, not from scratch.

    `causal`: whether the model is causal and so prompted as GPT-3 is, without instructions.
    """

    steps: int
    seed: int
    peak: float
    grown: bool = False
    causal: bool = False

    @property
    def form(self) -> Style:
        """How the model is prompted."""
        return GPT3 if self.causal else FLAN_T5

    def learning_rate(self, step: int) -> float:
        """200 steps of warm-up, flat to 60% of the steps, then linear to 2% of the peak."""
        return self.peak * min(
            1.0, (step + 1) / 200, max(0.02, 1 - 0.98 * (step / self.steps - FLAT) / (1 - FLAT))
        )

    def plan(self, step: int, rng: random.Random) -> Plan:
        """From scratch 2 or 3 paragraphs at first; then up to 8 and few demonstrations, for short
        prompts are learned from fastest.

        In the end, and for a grown model always, up to 14 paragraphs, more demonstrations, and more
        chains that have begun, as in IRCoT's steps.
        """
        late = self.grown or step >= LATE * self.steps
        begun = 0.7 if late else 0.37
        if not self.grown and step < EASY * self.steps:
            return Plan(rng.choice((2, 3)), 0)
        if len(self.styles(step)) > 1 and rng.random() < (0.5 if late else 0.25):
            return Plan(
                rng.choice((2, 4, 8, 12) if late else (2, 3, 4)),
                rng.choice((1, 2, 3)) if late else 1,
                begun,
            )
        return Plan(rng.choice((2, 4, 8, 12, 14) if late else (2, 3, 4, 6, 8)), 0, begun)

    def styles(self, step: int) -> list[str]:
        """The styles of a step's examples; MuSiQue's chains, the longest, twice as often as the
        others.
        """
        return (
            [*STYLES, "musique"] if self.grown or step >= ONE_STYLE * self.steps else ["hotpotqa"]
        )

    def is_conclusion(self, step: int) -> bool:
        """Whether the examples of a step are conclusions only: every fourth, every third while the
        rate falls or when reading is known.
        """
        every = 3 if self.grown or step >= FLAT * self.steps else 4
        return step % every == every - 1


def draw_worlds(step: int, seed: int) -> dict:
    """The training world of a step in every style, with its confusers; every third has few
    different names, so that they are easily confused.
    """
    number = step // STEPS_PER_WORLD
    variety = (0.35, 0.6, 1.0)[number % 3]
    worlds = {
        style: _make_training_world(1_000_000 * (seed + 1) + number, style, variety)
        for style in STYLES
    }
    return {style: (world, Confusers(world)) for style, world in worlds.items()}


def _make_training_world(seed: int, style: str, variety: float) -> World:
    """A world of the names of training; where those of this variety are too few by chance, of some
    more.
    """
    try:
        return make_world(seed, 600, style, held_out=False, variety=variety)
    except ValueError:
        return make_world(seed, 600, style, held_out=False, variety=variety + 0.05)


def draw_batch(step: int, recipe: Recipe, worlds: dict) -> list[Example]:
    """The examples of a step, in all styles.

    Conclusions, half of them differences of years alone, are of a world of their own: one world has
    too few pairs of years to learn subtraction.
    """
    rng = random.Random(f"{recipe.seed} {step}")
    if recipe.is_conclusion(step):
        styles = [style for style in recipe.styles(step) for _ in CONCLUDED.get(style, ())]
        world = _make_training_world(1_000_000 * (recipe.seed + 1) + FRESH + step, "iirc", 1.0)
        if "iirc" in styles and rng.random() < 0.5:
            return [draw_difference(world, rng, recipe.form) for _ in range(96)]
        return [
            draw_conclusion(world, rng, style, recipe.form) for style in rng.choices(styles, k=48)
        ]
    plan = replace(recipe.plan(step, rng), form=recipe.form)
    tokens = (
        TOKENS["question"]
        + plan.paragraphs * TOKENS["paragraph"]
        + plan.demonstrations * TOKENS["demonstration"]
    )
    styles = rng.choices(recipe.styles(step), k=max(2, PROMPT_TOKENS // tokens))
    examples = [
        draw_example(worlds[style][0], style, worlds[style][1], rng, plan) for style in styles
    ]
    return [example for example in examples if example.target]


def make_optimizers(
    model: nn.Module, teacher: nn.Module, peak: float
) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al. 2024) for the matrices of attention and feed-forward layers, AdamW for
    embeddings, biases and heads.

    Muon's updates are scaled to the size of AdamW's, so that one rate does for both. With it the
    models learn in fewer steps where to look.
    """
    embedding = model.get_input_embeddings().weight  # of the output too
    matrices = dict.fromkeys(
        layer.weight
        for layer in model.modules()
        if isinstance(layer, nn.Linear) and layer.weight is not embedding
    )
    rest = [
        weight for weight in (*model.parameters(), *teacher.parameters()) if weight not in matrices
    ]
    muon = torch.optim.Muon(
        list(matrices), lr=peak, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
    )
    return [muon, torch.optim.AdamW(rest, lr=peak, betas=(0.9, 0.98), weight_decay=0.0)]


def learn(training: Training, batch: dict[str, torch.Tensor], rate: float) -> dict[str, float]:
    """One step of the optimizers; return the parts of the loss."""
    device = training.model.device
    with torch.autocast(device.type, dtype=torch.bfloat16):
        total = total_loss if training.model.config.is_encoder_decoder else causal_loss
        loss, parts = total(
            training.model,
            training.teacher,
            {name: tensor.to(device) for name, tensor in batch.items()},
        )
    training.model.zero_grad()
    training.teacher.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([*training.model.parameters(), *training.teacher.parameters()], 1.0)
    for optimizer in training.optimizers:
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    return parts


def train(out: Path, size: str, recipe: Recipe, start: Path | None = None) -> None:
    """Train one model, or go on with it from its checkpoint, and write it to `out`. On a GPU when
    there is one.
    """
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer, checkpoint = make_tokenizer(), out / "checkpoint.pt"
    model = (
        make_causal_model(len(tokenizer), recipe.seed)
        if recipe.causal
        else make_model(size, len(tokenizer), recipe.seed)
    )
    old_width = grow(start, model) if start else 0
    if old_width < model.config.hidden_size:
        order_numbers(model, tokenizer, old_width)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device)
    teacher = (CausalTeacher if recipe.causal else Teacher)(model.config.hidden_size).to(device)
    training = Training(model, teacher, make_optimizers(model, teacher, recipe.peak))
    if checkpoint.exists():
        training.restore(checkpoint)
    run_steps(training, tokenizer, checkpoint, recipe)
    about = {
        "size": size,
        **asdict(recipe),
        "start": _read_about(start) if start else None,
        "device": device,
    }
    write_model(training, out, about)
    checkpoint.unlink(missing_ok=True)


def _read_about(folder: Path) -> dict:
    """How the model that a training starts from was made."""
    path = folder / "training.json"
    return json.loads(path.read_text()) if path.is_file() else {"folder": folder.name}


def run_steps(training: Training, tokenizer, checkpoint: Path, recipe: Recipe) -> None:
    """All steps that are left, with a progress bar, a line of the curves now and then, and
    checkpoints.
    """
    started, saved, worlds, losses = time.time() - training.seconds, time.time(), None, {}
    for step in tqdm(
        range(training.step, recipe.steps),
        initial=training.step,
        total=recipe.steps,
        mininterval=30,
    ):
        if worlds is None or step % STEPS_PER_WORLD == 0:
            worlds = draw_worlds(step, recipe.seed)
        batch = (encode_causal if recipe.causal else encode)(
            draw_batch(step, recipe, worlds), tokenizer
        )
        for name, loss in learn(training, batch, recipe.learning_rate(step)).items():
            losses.setdefault(
                ("conclusion " if recipe.is_conclusion(step) else "") + name, []
            ).append(loss)
        training.step, training.seconds = step + 1, time.time() - started
        if training.step % EVALUATE_EVERY == 0 or training.step == recipe.steps:
            training.curves.append(_measure(training, recipe.form, losses))
            losses = {}
        if time.time() - saved > CHECKPOINT_SECONDS:
            training.save(checkpoint)
            saved = time.time()


def _measure(training: Training, form: Style, losses: dict[str, list[float]]) -> dict:
    means = {name: round(sum(values) / len(values), 4) for name, values in losses.items()}
    write = writer(training.model, _prompt_tokenizer(training.model))
    accuracy = reading_accuracy(write, paragraphs=10, questions=40, seed=1, form=form)
    row = {"step": training.step, "seconds": round(training.seconds), **means, **accuracy}
    tqdm.write(json.dumps(row))
    return row


def _prompt_tokenizer(model: nn.Module) -> PreTrainedTokenizerFast:
    """The tokenizer that goes with a model: what a causal one continues does not end."""
    return make_tokenizer(ends=model.config.is_encoder_decoder)


def write_model(training: Training, out: Path, about: dict) -> None:
    """Write the model in half precision, its tokenizer, how it was made, and its curves."""
    _prompt_tokenizer(training.model).save_pretrained(out)
    training.model.cpu().half().save_pretrained(out)
    about |= {
        "seconds": round(training.seconds),
        "threads": 1,
        "parameters": training.model.num_parameters(),
        "torch": torch.__version__,
    }
    (out / "training.json").write_text(json.dumps(about, indent=1) + "\n")
    (out / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in training.curves))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the model and its checkpoint"
    )
    parser.add_argument("--size", choices=[*SIZES, "causal"], default="base")
    parser.add_argument(
        "--steps", type=int, default=2600, help="fits the size base; larger ones want more"
    )
    parser.add_argument(
        "--start", type=Path, help="folder of a trained model, not larger, to grow from"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--peak",
        type=float,
        default=1e-2,
        help="highest learning rate; larger sizes want a lower one",
    )
    options = parser.parse_args()
    if options.start and options.size == "causal":
        parser.error("a causal model is trained from scratch: leave out --start")
    recipe = Recipe(
        options.steps,
        options.seed,
        options.peak,
        options.start is not None,
        options.size == "causal",
    )
    train(options.out, options.size, recipe, options.start)


if __name__ == "__main__":
    main()
