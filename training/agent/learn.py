"""Trains the agent, or resumes from its checkpoint; agent.py is the command."""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch

from training.agent.draws import draw_transcripts, make_library
from training.agent.encode import Encoded, encode_transcript, make_batch
from training.agent.model import ADDED, LAYERS, SHARED, make_agent_model, shallow
from training.agent.stages import draw_plays, judge_plays, summarise
from training.agent.words import make_agent_tokenizer
from training.checkpoint import Training, resume, run_steps, write_trained
from training.muon import Muon
from training.t5.causal_teach import CausalTeacher, Depths, causal_loss
from training.t5.learn import split_weights

REST = 0.3  # learning rate of all other weights, as a share of that of the matrices
KNOWING = 0.3  # `knowing` of causal_loss
TOKENS = 3000  # in the batch of a step, including padding
CHUNK = 40  # steps whose transcripts are drawn together, about one world
LONGEST = 1024  # tokens of a transcript
SHORT, EARLY = 260, 0.02  # longest transcript, in tokens, in the first 2% of the steps
EVALUATE_EVERY = 1000  # steps
PLAYS = 104  # questions played in each evaluation
# the share of the steps in which the model has fewer layers, and the rate is constant
FIRST = 0.45
SHALLOW = Depths(LAYERS - ADDED - 1, LAYERS - ADDED - 1, SHARED, SHARED - 1, SHARED)
DEEP = Depths(SHARED, LAYERS - 2, SHARED, SHARED - 1, LAYERS - 3)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The options of one training. `peak`: the highest learning rate of the matrices."""

    steps: int
    seed: int
    peak: float

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step: warm-up over 150 steps, or a tenth of all steps if that is
        less; constant in the FIRST steps; then linear to 2% of the peak.
        """
        falling = 1 - 0.98 * (step / self.steps - FIRST) / (1 - FIRST)
        rising = (step + 1) / min(150, max(1, self.steps // 10))
        return self.peak * min(1.0, rising, max(0.02, falling))


def draw_chunk(number: int, recipe: Recipe) -> list[dict[str, torch.Tensor]]:
    """The batches of CHUNK steps, in random order. Their transcripts are about one world; each
    batch has transcripts of similar length.
    """
    rng = random.Random(f"{recipe.seed} {number}")
    longest = SHORT if number * CHUNK < EARLY * recipe.steps else LONGEST
    library, rows = make_library(1_000_000 * (recipe.seed + 1) + number), []
    batches: list[list[Encoded]] = []
    while len(batches) < CHUNK:
        for _ in range(40):
            drawn = draw_transcripts(library, rng)
            encoded = (encode_transcript(one.transcript) for one in drawn)
            rows += [row for row in encoded if len(row.tokens) <= longest]
        batches = cut_rows(rows)
    return [make_batch(batch) for batch in rng.sample(batches, CHUNK)]


def cut_rows(rows: list[Encoded]) -> list[list[Encoded]]:
    """Sort rows by length and cut them into full batches; an incomplete last batch is dropped."""
    batches, batch = [], []
    for row in sorted(rows, key=lambda row: len(row.tokens)):
        if (len(batch) + 1) * len(row.tokens) > TOKENS:
            batches.append(batch)
            batch = []
        batch.append(row)
    return batches


def start_training(recipe: Recipe) -> Training:
    """A training at step 0, with new weights."""
    model = make_agent_model(make_agent_tokenizer(), recipe.seed)
    teacher = CausalTeacher(model.config.hidden_size)
    for weight in teacher.parameters():  # otherwise these losses would at first outweigh the rest
        torch.nn.init.zeros_(weight)
    matrices, rest = split_weights(model, teacher)
    adam = torch.optim.AdamW(rest, lr=recipe.peak, betas=(0.9, 0.98), weight_decay=0.0)
    return Training(model, teacher, [Muon(matrices, lr=recipe.peak), adam], asdict(recipe))


def learn_shallow(
    training: Training, batch: dict[str, torch.Tensor], rate: float
) -> dict[str, float]:
    """As `learn`, without the added layers."""
    with shallow(training.t5.model):
        return learn(training, batch, rate, SHALLOW)


def learn(
    training: Training, batch: dict[str, torch.Tensor], rate: float, depths: Depths = DEEP
) -> dict[str, float]:
    """Take one step of the optimizers, in single precision; return the parts of the loss."""
    model, teacher = training.t5.model, training.teacher
    loss, parts = causal_loss(model, teacher, batch, depths, KNOWING)
    model.zero_grad()
    teacher.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_([*model.parameters(), *teacher.parameters()], 1.0)
    for optimizer, share in zip(training.optimizers, (1.0, REST), strict=True):
        optimizer.param_groups[0]["lr"] = share * rate
        optimizer.step()
    return parts


def train(out: Path, recipe: Recipe, threads: int = 1) -> None:
    """Train the agent on this many cores, resuming from its checkpoint if there is one, and write
    it to `out`.
    """
    torch.set_num_threads(threads)
    training = start_training(recipe)
    checkpoint = resume(training, out)
    measure = partial(_measure, training.t5.model)
    run_steps(training, checkpoint, take_steps(training, recipe), measure, EVALUATE_EVERY)
    write_trained(training, make_agent_tokenizer(), out, training.t5.recipe | {"device": "cpu"})
    checkpoint.unlink(missing_ok=True)


def take_steps(training: Training, recipe: Recipe) -> Iterator[dict[str, float]]:
    """Take the remaining steps; yield the parts of the loss of each."""
    chunk = None
    for step in range(training.step, recipe.steps):
        if chunk is None or step % CHUNK == 0:
            chunk = draw_chunk(step // CHUNK, recipe)
        take = learn_shallow if step < FIRST * recipe.steps else learn
        yield take(training, chunk[step % CHUNK], recipe.learning_rate(step))


def _measure(model: torch.nn.Module) -> dict:
    judged = judge_plays(model, draw_plays(PLAYS))
    right = sum(one.right for one in judged) / len(judged)
    tokens = sum(one.right_tokens for one in judged) / sum(one.tokens for one in judged)
    about = {"turns": round(right, 4), "tokens": round(tokens, 4)}
    return about | summarise(judged)
