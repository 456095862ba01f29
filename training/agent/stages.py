"""Measures how well the agent plays, stage by stage and in closed loop."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer

from ircot_laboratory.make import make_dataset
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.records import Riddle
from ircotlib.datasets import find_dataset, score
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.errors import DataError
from ircotlib.experiment.setup import open_setup, program_of
from ircotlib.parameters import read_parameters
from ircotlib.systems import System
from training.agent.draw_transcripts import (
    STYLES,
    Play,
    draw_agent_question,
    famous_library,
    play_turns,
    taught_systems,
)
from training.agent.encode import EncodedTranscript, encode_transcript, make_batch
from training.agent.lessons import draw_lesson, known_facts
from training.agent.sources import locate_sources
from training.agent.transcripts import join_turns
from training.agent.words import make_agent_tokenizer
from training.teachers.library import Library
from training.teachers.mind import Mind

HELD_OUT = 7  # the seed of the held-out world; the default laboratory has another


class JudgedTurn(NamedTuple):
    """A turn of the agent; `right`: whether all of its tokens that the agent can know are right."""

    system: str
    stage: str
    dataset: str
    right: bool
    tokens: int
    right_tokens: int


@cache
def held_out_library() -> Library:
    """A world of the size of training worlds, none of whose names occur in training."""
    return Library(make_world(HELD_OUT, 1200))


def draw_plays(count: int, seed: int = 0) -> list[Play]:
    """The plays of `count` questions of a held-out world, systems and data sets taking turns, and
    of a lesson for every 20 questions.
    """
    rng, library, systems = random.Random(f"evaluate {seed}"), held_out_library(), []
    plays = [Play(draw_lesson(rng), "lesson") for _ in range(count // 20)]
    for number in range(count):
        systems = systems or list(taught_systems().values())
        dataset = STYLES[number % len(STYLES)]
        riddle = draw_agent_question(library, dataset, rng)
        plays += play_out(systems.pop(), riddle, library, rng)
    return plays


def play_out(system: System, riddle: Riddle, library: Library, rng: random.Random) -> list[Play]:
    """The transcripts of a system on a question with gold replies."""
    mind = Mind(riddle, library, known_facts().get, rng)
    located = (locate_sources(text, mind) for text in join_turns(play_turns(system, mind)))
    return [Play(transcript, system.name, riddle.dataset) for transcript in located]


def measured_plays(system: System, questions: int, seed: int = 0) -> Iterable[Play]:
    """The plays of a system on questions of the default laboratory, its data sets taking turns."""
    rng, library = random.Random(f"measure {system.name} {seed}"), famous_library()
    for number in range(questions):
        riddles = make_dataset(STYLES[number % len(STYLES)]).riddles
        yield from play_out(system, riddles[number // len(STYLES)], library, rng)


@torch.no_grad()
def judge_tokens(
    model, plays: Sequence[Play], rows: int = 8
) -> Iterator[tuple[Play, EncodedTranscript, list[bool]]]:
    """Whether each token that the agent writes is right, given the gold text before it: the most
    probable one, or one that it cannot know; in the order of the rows of "written".
    """
    order = sorted(plays, key=lambda play: len(play.transcript.text))
    for first in range(0, len(order), rows):
        some = order[first : first + rows]
        encoded = [encode_transcript(play.transcript) for play in some]
        batch = make_batch(encoded)
        row, at, token = batch["written"].T
        states = model.base_model(batch["input_ids"].to(model.device)).last_hidden_state
        right = model.lm_head(states[row, at]).argmax(-1).cpu() == token
        right |= batch["weights"] < 1
        for number, (play, own) in enumerate(zip(some, encoded, strict=True)):
            yield play, own, right[row == number].tolist()


def judge_plays(model, plays: Sequence[Play]) -> list[JudgedTurn]:
    """Judge each turn, given the gold text before it: right if all of its tokens are."""
    judged = []
    for (transcript, system, dataset), encoded, right in judge_tokens(model, plays):
        first = 0
        for span, count in zip(transcript.spans, encoded.counts, strict=True):
            tokens = right[first : first + count]
            first += count
            if span.knowable:
                about = system, span.stage, dataset
                judged.append(JudgedTurn(*about, all(tokens), count, sum(tokens)))
    return judged


def share_right(judged: Sequence[JudgedTurn], by: str = "stage") -> dict[str, float]:
    """The share of turns that are right, for each value of a field of JudgedTurn."""
    groups = defaultdict(list)
    for turn in judged:
        groups[getattr(turn, by)].append(turn.right)
    return {name: round(sum(group) / len(group), 3) for name, group in sorted(groups.items())}


def measure_agent(folder: Path, questions: int, closed: int) -> dict:
    """Measure the agent in a folder on this many questions for each system, turn by turn, and on
    `closed` questions of each data set in closed loop. Raises DataError if it has other words.
    """
    vocabularies = AutoTokenizer.from_pretrained(folder), make_agent_tokenizer()
    if len({frozenset(words.get_vocab().items()) for words in vocabularies}) > 1:
        raise DataError(f"{folder}: found a model with other words, expected the agent's")
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    judged = measure_stages(model, questions)
    record = {"questions": questions, "turns": len(judged)}
    record |= {f"by {name}": share_right(judged, name) for name in ("stage", "system", "dataset")}
    return record | {"closed": list(close_loop(folder, closed)) if closed else []}


def measure_stages(model, questions: int) -> list[JudgedTurn]:
    """Judge every turn of every system on questions of the default laboratory."""
    judged = []
    for system in tqdm(taught_systems().values(), desc="stages"):
        judged += judge_plays(model, list(measured_plays(system, questions)))
    return judged


def close_loop(folder: Path, questions: int) -> Iterator[dict]:
    """Run every system on `questions` test questions of each data set, with the agent's own replies
    and real retrieval. Yields for each system and data set the share of predictions without a
    fault, and the mean of the system's measure.
    """
    p = read_parameters("mini", {"agent": str(folder), "test": questions, "dev": 30}).for_agent()
    for dataset in STYLES:
        setup = open_setup(p, dataset, "evaluate_agent")
        for system in taught_systems().values():
            setting = {name: values[0] for name, values in setup.grid(system).items()}
            programs = {q.id: program_of(setup, system, **setting)(q) for q in setup.test}
            outcomes, _ = run(programs, setup.backends, Calls())
            predictions = [outcomes[question.id].result for question in setup.test]
            measure, pairs = (
                system.measure(find_dataset(dataset)),
                zip(setup.test, predictions, strict=True),
            )
            parsed = sum(not prediction.fault for prediction in predictions) / len(predictions)
            mean = sum(score(*pair)[measure] for pair in pairs) / len(predictions)
            about = {"system": system.name, "dataset": dataset, "measure": measure}
            yield about | {"parsed": round(parsed, 3), "mean": round(mean, 3)}
