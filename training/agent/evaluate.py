"""The gate: what the agent can do, stage by stage: python -m training.agent.evaluate
FOLDER

On questions of a held-out world it writes whole replies freely, each to a prompt with
right replies and observations before. A reply is right if all that bears it is: its
names, values, numbers and verdicts, in their order. A stage passes if LEAST of its
replies are right, and fails if not; it is undecided if LEAST is within the exact 95%
interval. The table, with the share of tokens that are right after right ones, is
printed and written to FOLDER/gate.csv.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from scipy.stats import binomtest
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer

from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.errors import DataError
from ircotlib.files import write_table
from ircotlib.models import open_model
from ircotlib.options import new_parser
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate
from training.agent.draw_transcripts import (
    LESSONS,
    STYLES,
    Play,
    draw_agent_question,
    play_turns,
    taught_stages,
)
from training.agent.drills import drill_comparison
from training.agent.encode import EncodedTranscript, encode_transcript, make_batch
from training.agent.lessons import FACTS, draw_lesson, facts_of, known_facts
from training.agent.sources import VOTE, locate_sources
from training.agent.transcripts import join_turns
from training.agent.words import make_agent_tokenizer
from training.teachers.library import Library
from training.teachers.mind import Mind

HELD_OUT = 7  # the seed of the held-out world; the default laboratory has another
LEAST = 0.85  # of the replies must be right before systems are compared
ANSWERS = re.compile(  # what follows is the answer, a verdict in the group
    r"(?:[Aa]nswer is:? |[Aa]nswer: |A: |^\s*|Finish\[|\[\")"
    r"(yes|no|supports|refutes)\b",
    re.I,
)


VERDICT = re.compile("yes|no|supports|refutes", re.I)


class JudgedTurn(NamedTuple):
    """A turn of the agent, given gold replies before it. `verdict`: whether its yes or
    no, SUPPORTS or REFUTES, or vote is right, and the words before by which two values
    are said to be equal, or one to be earlier.
    """

    system: str
    stage: str
    dataset: str
    right: bool  # whether all tokens are that it can know
    bearing: int  # how many name, value, number or verdict tokens there are
    found: int  # how many of them are right
    verdict: bool | None  # of all of them; None: there are none


@cache
def held_out_library() -> Library:
    """A world of the size of training worlds, none of whose names occur in training."""
    return Library(make_world(HELD_OUT, 1200))


@cache
def bearing_words() -> frozenset[str]:
    """The words of all names and values that a play may be about."""
    facts = known_facts() | facts_of(held_out_library().world.entities)
    texts = {fact.subject for fact in facts} | {*facts.values()}
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return frozenset(words - {"of", "the", "The", "and", "in", "a"})


def draw_turns(least: int, seed: int = 0) -> Iterator[Play]:
    """Plays on a held-out world in which each stage has `least` turns or more, its
    systems and the data sets taking turns; and as many lessons and comparisons.
    """
    rng = random.Random(f"gate {seed}")
    library = held_out_library()
    for _ in range(-(-least // FACTS)):
        yield Play(draw_lesson(rng), "lesson")
    for _ in range(least):
        yield Play(drill_comparison(library, rng), "comparison")
    turns: Counter[str] = Counter()
    for stage, systems in taught_stages().items():
        for number in range(20 * least):
            if turns[stage] >= least:
                break
            system = systems[number // len(STYLES) % len(systems)]
            riddle = draw_agent_question(library, STYLES[number % len(STYLES)], rng)
            mind = Mind(riddle, library, known_facts().get, rng)
            for transcript in join_turns(play_turns(system, mind)):
                spans = [span.stage for span in transcript.spans if span.knowable]
                if stage in spans:
                    turns.update(spans)
                    located = locate_sources(transcript, mind)
                    yield Play(located, system.name, riddle.dataset)


@torch.no_grad()
def judge_plays(model, plays: Iterable[Play], rows: int = 8) -> list[JudgedTurn]:
    """Judge each turn that the agent can know, given the gold text before it."""
    order = sorted(plays, key=lambda play: len(play.transcript.text))
    judged: list[JudgedTurn] = []
    for first in range(0, len(order), rows):
        some = order[first : first + rows]
        encoded = [encode_transcript(play.transcript) for play in some]
        batch = make_batch(encoded)
        row, at, token = batch["written"].T
        states = model.base_model(batch["input_ids"].to(model.device)).last_hidden_state
        right = model.lm_head(states[row, at]).argmax(-1).cpu() == token
        for number, (play, own) in enumerate(zip(some, encoded, strict=True)):
            judged += judge_turns(play, own, right[row == number].tolist())
    return judged


def judge_turns(
    play: Play, encoded: EncodedTranscript, right: list[bool]
) -> Iterator[JudgedTurn]:
    """The turns of a play. `right`: whether each written token is the likeliest."""
    transcript = play.transcript
    rows = iter(zip(encoded.at, right, strict=True))
    for span, count in zip(transcript.spans, encoded.counts, strict=True):
        known = [(at, ok) for at, ok in islice(rows, count) if at is not None]
        if not span.knowable:
            continue
        text = transcript.text[span.start : span.end]
        answers = (*ANSWERS.finditer(text), *VOTE.finditer(text))
        verdicts = {span.start + answer.start(1) for answer in answers}
        verdicts |= {place.at for place in transcript.concluded + transcript.weighed}
        bearing = set(verdicts)
        for word in re.finditer(r"\w+", text):
            if word[0] in bearing_words() or word[0].isdigit():
                bearing.update(
                    range(span.start + word.start(), span.start + word.end())
                )
        judged = [ok for at, ok in known if at in verdicts]
        yield JudgedTurn(
            play.system,
            span.stage,
            play.dataset,
            right=all(ok for _, ok in known),
            bearing=sum(at in bearing for at, _ in known),
            found=sum(ok for at, ok in known if at in bearing),
            verdict=all(judged) if judged else None,
        )


def share_right(turns: Sequence[JudgedTurn]) -> float:
    """The share of bearing tokens that are right or, if less, of verdicts; 0 for no
    turns.
    """
    bearing = sum(turn.bearing for turn in turns)
    if not bearing:
        return 0.0
    tokens = sum(turn.found for turn in turns) / bearing
    verdicts = [turn.verdict for turn in turns if turn.verdict is not None]
    return min(tokens, sum(verdicts) / len(verdicts)) if verdicts else tokens


def bearing_of(text: str) -> list[str]:
    """What bears a reply: its names, values, numbers and verdicts."""
    return [
        word
        for word in re.findall(r"\w+", text)
        if word in bearing_words() or word[0].isdigit() or VERDICT.fullmatch(word)
    ]


def write_freely(folder: Path, plays: Iterable[Play]) -> dict[str, list[bool]]:
    """By stage, whether each whole reply is right that the agent in a folder writes
    after the right text before it. A reply with a made-up name counts up to that name.
    """
    stages, golds, requests = [], [], []
    for play in plays:
        text = play.transcript.text
        encoded = encode_transcript(play.transcript)
        for span, count in zip(play.transcript.spans, encoded.counts, strict=True):
            names = [start for start, _ in play.transcript.made_up]
            end = min([start for start in names if start >= span.start] + [span.end])
            gold = bearing_of(text[span.start : end])
            if span.knowable and gold:
                stages.append(span.stage)
                golds.append(gold)
                requests.append(Generate(text[: span.start], max_tokens=count))
    model = open_model(read_parameters("mini", {"model": str(folder)}))
    right: dict[str, list[bool]] = {}
    # in parts, since a model keeps the prompts of all that it is asked at once
    parts = [range(len(requests))[n : n + 200] for n in range(0, len(requests), 200)]
    for part in tqdm(parts, desc="replies, 200 at a time"):
        for number, reply in model.answer([requests[n] for n in part]):
            gold = golds[part[number]]
            written = bearing_of(str(model.decode(reply, requests[part[number]])))
            right.setdefault(stages[part[number]], []).append(
                written[: len(gold)] == gold
            )
    return right


def by_stage(judged: Sequence[JudgedTurn]) -> dict[str, list[JudgedTurn]]:
    """The turns of each stage, in the order in which stages are taught."""
    groups: dict[str, list[JudgedTurn]]
    groups = {stage: [] for stage in [*taught_stages(), *LESSONS]}
    for turn in judged:
        groups.setdefault(turn.stage, []).append(turn)
    return groups


def tabulate_gate(
    judged: Sequence[JudgedTurn], written: Mapping[str, Sequence[bool]]
) -> pd.DataFrame:
    """The gate: a row for each stage with the share of its tokens that are right, of
    whole replies, in percent, with the exact 95% interval, and whether it passes.
    """
    rows = []
    for stage, turns in by_stage(judged).items():
        replies = written.get(stage, ())
        if not replies:
            continue
        found = sum(turn.found for turn in turns)
        bearing = sum(turn.bearing for turn in turns)
        share = sum(replies) / len(replies)
        low, high = binomtest(sum(replies), len(replies)).proportion_ci()
        verdict = "passes" if share >= LEAST else "fails"
        row = {
            "stage": stage,
            "tokens right": 100 * found / bearing,
            "replies": len(replies),
            "replies right": 100 * share,
            "low": 100 * low,
            "high": 100 * high,
            "gate": "undecided" if low < LEAST <= high else verdict,
        }
        rows.append(row)
    return pd.DataFrame(rows).round(1)


def main() -> None:
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("folder", type=Path, help="folder of the trained agent")
    add("--turns", type=int, default=100, help="turns of each stage, at least")
    options = parser.parse_args()
    folder = options.folder
    if not (folder / "config.json").is_file():
        parser.error(f"found no config.json in {folder}, expected a trained agent")
    words = AutoTokenizer.from_pretrained(folder).get_vocab()
    if words != make_agent_tokenizer().get_vocab():
        raise DataError(
            f"{folder}: found a model with other words, expected the agent's"
        )
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    plays = [*tqdm(draw_turns(options.turns), desc="plays")]
    table = tabulate_gate(judge_plays(model, plays), write_freely(folder, plays))
    print(table.to_string(index=False))
    write_table(folder / "gate.csv", table)


if __name__ == "__main__":
    main()
