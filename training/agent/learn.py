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
# share of the steps of an agent that learns on: at first comparisons alone,
COMPARING = 0.13
# of values written, and of values only read
COMPARED = {"comparison": 0.25, "weighing": 0.75}
# afterwards, comparisons of values only read, beside the shares by need
WEIGHING = 0.25
FLAT = 0.45  # share of the steps in which the learning rate is constant
STATED, DECIDED = 3, 5  # `stated` and `decided` of causal_losses


@dataclass(frozen=True, slots=True)
class AgentRecipe:
    """The options of one training. `peak`: the highest learning rate of the matrices.
    `start`: the folder of an agent that learns on; "": new weights.
    """

    steps: int
    seed: int
    peak: float
    start: str = ""

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
    return {
        name: max(SHARE, part / max(1e-9, sum(wrong.values())))
        for name, part in wrong.items()
    }


def draw_chunk(
    number: int, recipe: AgentRecipe, measured: dict[str, float] = {}
) -> list[dict[str, torch.Tensor]]:
    """The batches of CHUNK steps, in random order. Their transcripts are about one
    world; each batch has transcripts of similar length. What was drawn least for its
    `share_by_need`, by the weight of its tokens, is drawn next.
    """
    rng = random.Random(f"{recipe.seed} {number}")
    library, rows = make_library(1_000_000 * (recipe.seed + 1) + number), []
    shares = share_by_need(measured)
    if recipe.start:
        compares = number * CHUNK < COMPARING * recipe.steps
        shares = COMPARED if compares else shares | {"weighing": WEIGHING}
    drawn = dict.fromkeys(shares, 0.0)
    batches: list[list[EncodedTranscript]] = []
    while len(batches) < CHUNK:
        for _ in range(40):
            subject = min(drawn, key=drawn.get)
            plays = draw_transcripts(subject, library, rng)
            encoded = [encode_transcript(play.transcript) for play in plays]
            weight = sum(sum(row.weights) for row in encoded)
            drawn[subject] += max(1.0, weight) / shares[subject]
            rows += [row for row in encoded if len(row.tokens) <= LONGEST]
        batches = cut_rows(rows)
    return [make_batch(batch) for batch in rng.sample(batches, CHUNK)]


def cut_rows(rows: list[EncodedTranscript]) -> list[list[EncodedTranscript]]:
    """Sort rows by length and cut them into full batches; the longest rows may be
    fewer.
    """
    batches, batch = [], []
    for row in sorted(rows, key=lambda row: len(row.tokens)):
        if (len(batch) + 1) * len(row.tokens) > TOKENS:
            batches.append(batch)
            batch = []
        batch.append(row)
    return [*batches, batch]


def start_agent(recipe: AgentRecipe) -> Training:
    """A training at step 0."""
    model = make_agent_model(make_agent_tokenizer(), recipe.seed, recipe.start)
    teacher = CausalTeacher(model.config.hidden_size)
    # otherwise these losses would at first outweigh the rest
    for weight in teacher.parameters():
        torch.nn.init.zeros_(weight)
    return Training(
        model, teacher, make_optimizers(model, teacher, recipe.peak), asdict(recipe)
    )


def learn_agent(
    training: Training, batch: dict[str, torch.Tensor], rate: float
) -> dict[str, float]:
    """Take one step of the optimizers, in single precision; return the losses."""
    losses = causal_losses(
        training.model, training.teacher, batch, STATED, DECIDED, KNOWING
    )
    return descend(training, losses, rate, REST * rate)


def take_agent_steps(
    training: Training, recipe: AgentRecipe
) -> Iterator[dict[str, float]]:
    """Take the remaining steps; yield the losses of each. An agent that learns on is
    measured first, so that it is known what it needs.
    """
    if recipe.start and not training.curves:
        training.curves.append(
            {"step": training.step, **measure_stages(training.model)}
        )
    chunk = None
    for step in range(training.step, recipe.steps):
        if chunk is None or step % CHUNK == 0:
            measured = training.curves[-1] if training.curves else {}
            chunk = draw_chunk(step // CHUNK, recipe, measured)
        yield learn_agent(training, chunk[step % CHUNK], recipe.rate(step))


def measure_stages(model: torch.nn.Module) -> dict:
    """The share of turns that are right, and `share_right` of each stage and lesson."""
    judged = judge_plays(model, list(draw_turns(TURNS)))
    turns = sum(turn.right for turn in judged) / len(judged)
    shares = {
        stage: round(share_right(of), 4) for stage, of in by_stage(judged).items()
    }
    return {"turns": round(turns, 4), **shares}


def train_agent(out: Path, recipe: AgentRecipe) -> None:
    """Train the agent, resuming from its checkpoint if there is one, and write it to
    `out`.
    """
    training, take_steps = start_agent(recipe), partial(take_agent_steps, recipe=recipe)
    run_training(training, out, take_steps, measure_stages, EVALUATE_EVERY)
    write_trained(training, make_agent_tokenizer(), out, {"device": "cpu"})
