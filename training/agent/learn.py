"""Trains the agent, or resumes from its checkpoint: __main__.py is the command."""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch

from training.agent.draw_transcripts import (
    LESSONS,
    draw_transcripts,
    make_library,
    taught_stages,
)
from training.agent.encode import EncodedTranscript, encode_transcript, make_batch
from training.agent.evaluate import by_stage, draw_turns, judge_plays, share_right
from training.agent.model import make_agent_model
from training.agent.words import make_agent_tokenizer
from training.causal import CausalTeacher, causal_losses
from training.loop import (
    Parts,
    Training,
    descend,
    make_optimizers,
    run_training,
    write_trained,
)
from training.rate import learning_rate

REST = 0.3  # learning rate of all other weights, as a share of that of the matrices
KNOWING = 0.3  # `knowing` of causal_losses
TOKENS = 3000  # in the batch of a step, including padding
CHUNK = 40  # steps whose transcripts are drawn together, about one world
LONGEST = 1024  # tokens of a transcript
EVALUATE_EVERY = 1000  # steps
TURNS = 60  # of each stage, judged in each evaluation
SHARE = 0.01  # of what is learned, at least, is of each stage
# An agent that learns on has comparisons alone in this share of the steps at first,
COMPARING = 0.13
# of values written, and of values only read;
COMPARED = {"comparison": 0.25, "weighing": 0.75}
# afterwards, it has the latter beside the shares by need.
WEIGHING = 0.25
FLAT = 0.45  # share of the steps in which the learning rate is constant
STATED, DECIDED = 3, 5  # `stated` and `decided` of causal_losses


@dataclass(frozen=True, slots=True)
class AgentRecipe:
    """The options of one training."""

    steps: int
    seed: int
    peak: float  # the highest learning rate of the matrices
    start: str = ""  # the folder of an agent that learns on; "": new weights

    def rate(self, step: int) -> float:
        """The learning rate of a step. It rises over 150 steps, or a tenth of all if
        that is less; then it is constant up to FLAT, and falls.
        """
        warm_up = min(150, max(1, self.steps // 10))
        return learning_rate(step, self.steps, self.peak, warm_up, FLAT)


def share_by_need(measured: dict[str, float]) -> dict[str, float]:
    """The share of each stage and lesson in what is learned: as much as is still wrong
    of it, by the last evaluation, and at least SHARE; before the first, equal shares.
    """
    wrong = {name: 1 - measured.get(name, 0.0) for name in [*taught_stages(), *LESSONS]}
    total = max(1e-9, sum(wrong.values()))
    return {name: max(SHARE, part / total) for name, part in wrong.items()}


def draw_chunk(
    number: int, recipe: AgentRecipe, measured: dict[str, float] = {}
) -> list[dict[str, torch.Tensor]]:
    """The batches of CHUNK steps, in random order. Their transcripts are about one
    world; each batch has transcripts of similar length. What was drawn least for its
    `share_by_need`, by the weight of its tokens, is drawn next.
    """
    rng = random.Random(f"{recipe.seed} {number}")
    library = make_library(1_000_000 * (recipe.seed + 1) + number)
    shares = share_by_need(measured)
    if recipe.start:
        compares = number * CHUNK < COMPARING * recipe.steps
        shares = COMPARED if compares else shares | {"weighing": WEIGHING}
    drawn = dict.fromkeys(shares, 0.0)
    rows: list[EncodedTranscript] = []
    batches: list[list[EncodedTranscript]] = []
    while len(batches) < CHUNK:
        for _ in range(40):
            subject = min(drawn, key=drawn.__getitem__)
            plays = draw_transcripts(subject, library, rng)
            encoded = [encode_transcript(play.transcript) for play in plays]
            weight = sum(sum(row.weights) for row in encoded)
            drawn[subject] += max(1.0, weight) / shares[subject]
            rows += [row for row in encoded if len(row.tokens) <= LONGEST]
        batches = cut_rows(rows)
    return [make_batch(batch) for batch in rng.sample(batches, CHUNK)]


def cut_rows(rows: list[EncodedTranscript]) -> list[list[EncodedTranscript]]:
    """Sort rows by length and cut them into full batches; the last may be fewer."""
    batches: list[list[EncodedTranscript]] = [[]]
    for row in sorted(rows, key=lambda row: len(row.tokens)):
        if (len(batches[-1]) + 1) * len(row.tokens) > TOKENS:
            batches.append([])
        batches[-1].append(row)
    return batches


def start_agent(recipe: AgentRecipe) -> Training:
    """A training at step 0."""
    model = make_agent_model(make_agent_tokenizer(), recipe.seed, recipe.start)
    teacher = CausalTeacher(model.config.hidden_size)
    # otherwise these losses would at first outweigh the rest
    for weight in teacher.parameters():
        torch.nn.init.zeros_(weight)
    optimizers = make_optimizers(model, teacher, recipe.peak)
    return Training(model, teacher, optimizers, asdict(recipe))


def learn_agent(
    training: Training, batch: dict[str, torch.Tensor], rate: float
) -> Parts:
    """Take one step of the optimizers, in single precision; return the losses."""
    model, teacher = training.model, training.teacher
    losses = causal_losses(model, teacher, batch, STATED, DECIDED, KNOWING)
    return descend(training, losses, rate, REST * rate)


def take_agent_steps(training: Training, recipe: AgentRecipe) -> Iterator[Parts]:
    """Take the remaining steps; yield the losses of each. An agent that learns on is
    measured first, so that it is known what it needs.
    """
    if recipe.start and not training.curves:
        measured = measure_stages(training.model)
        training.curves.append({"step": training.step, **measured})
    chunk: list[dict[str, torch.Tensor]] = []
    for step in range(training.step, recipe.steps):
        if not chunk or step % CHUNK == 0:
            measured = training.curves[-1] if training.curves else {}
            chunk = draw_chunk(step // CHUNK, recipe, measured)
        yield learn_agent(training, chunk[step % CHUNK], recipe.rate(step))


def measure_stages(model: torch.nn.Module) -> dict:
    """The share of turns that are right, and `share_right` of each stage and lesson."""
    judged = judge_plays(model, list(draw_turns(TURNS)))
    stages = by_stage(judged).items()
    return {
        "turns": round(sum(turn.right for turn in judged) / len(judged), 4),
        **{stage: round(share_right(turns), 4) for stage, turns in stages},
    }


def train_agent(out: Path, recipe: AgentRecipe) -> None:
    """Train the agent, or resume from its checkpoint, and write it to `out`."""
    training = start_agent(recipe)
    take_steps = partial(take_agent_steps, recipe=recipe)
    run_training(training, out, take_steps, measure_stages, EVALUATE_EVERY)
    write_trained(training, make_agent_tokenizer(), out, {"device": "cpu"})
