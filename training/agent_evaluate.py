"""How well the agent plays: each of its turns on a held-out world, all other replies gold."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import torch

from ircotlib.laboratory.encyclopedia import make_world
from training.agent_draws import STYLES, draw_question, play_turns, taught_systems
from training.agent_encode import encode_transcript, make_batch
from training.agent_lessons import draw_lesson, known_facts
from training.agent_library import Library
from training.agent_mind import Mind
from training.agent_transcripts import Span, join_turns, locate

HELD_OUT = 7  # the seed of the world; that of the default laboratory is another


class Judged(NamedTuple):
    """A turn of the agent, and whether all of it is right that can be known."""

    system: str
    stage: str
    dataset: str
    right: bool
    tokens: int
    right_tokens: int


@cache
def held_out_library() -> Library:
    """A world none of whose names occur in training."""
    return Library(make_world(HELD_OUT, 1200))


def draw_plays(count: int, seed: int = 0) -> list[tuple]:
    """Transcripts of so many questions, each system and data set in turn: (system, data set,
    transcript).
    """
    rng, library, systems = random.Random(f"evaluate {seed}"), held_out_library(), []
    found = [("lesson", "", draw_lesson(rng)) for _ in range(count // 20)]
    for number in range(count):
        systems = systems or list(taught_systems().values())
        system, dataset = systems.pop(), STYLES[number % len(STYLES)]
        mind = Mind(draw_question(library, dataset, rng), library, known_facts().get, rng)
        turns = play_turns(system, mind, library, dataset)
        found += [(system.name, dataset, locate(one, mind)) for one in join_turns(turns)]
    return found


@torch.no_grad()
def judge_plays(model, plays: Sequence[tuple], rows: int = 8) -> list[Judged]:
    """What the model would write of each turn, all before it gold: greedy writing is right exactly
    where every token is the most probable one.
    """
    judged, order = [], sorted(plays, key=lambda play: len(play[2].text))
    for first in range(0, len(order), rows):
        some = order[first : first + rows]
        encoded = [encode_transcript(transcript) for *_, transcript in some]
        batch = make_batch(encoded)
        row, at, token = batch["written"].T
        states = model.gpt_neox(batch["input_ids"].to(model.device)).last_hidden_state
        right = model.lm_head(states[row, at]).argmax(-1).cpu() == token
        right |= batch["weights"] < 1
        judged += _judge(some, right.tolist(), encoded)
    return judged


def _judge(plays: Sequence[tuple], right: list[bool], encoded: Sequence) -> Iterable[Judged]:
    place = 0
    for (system, dataset, transcript), one in zip(plays, encoded, strict=True):
        for span, count in zip(transcript.spans, one.counts, strict=True):
            found = right[place : place + count]
            place += count
            yield Judged(system, _stage(span), dataset, all(found), count, sum(found))


def _stage(span: Span) -> str:
    return span.stage


def summarise(judged: Sequence[Judged], by: str = "stage") -> dict[str, float]:
    """The share of turns that are right, by a field."""
    groups = defaultdict(list)
    for one in judged:
        groups[getattr(one, by)].append(one.right)
    return {name: round(sum(group) / len(group), 3) for name, group in sorted(groups.items())}
