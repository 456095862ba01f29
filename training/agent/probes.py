"""Probes of single facts, which no run asks for: python -m training.agent.probes FOLDER... writes
FOLDER/probes.json.

How often an agent takes a fact wrongly from a page that its prompt shows, and how often it asks for
something else, by stage, on questions of a world of which nothing else is known, given gold replies
before; and what it knows by heart, by data set, on questions about the default laboratory that are
not among those of the runs.
"""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM

from ircot_laboratory.judge.laboratory_facts import LaboratoryFacts
from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import question_of
from ircotlib.engine.cache import Calls
from ircotlib.engine.scheduler import run
from ircotlib.experiment.setup import open_setup, program_of
from ircotlib.files.options import new_parser, read_count, refusing
from ircotlib.parameters import read_parameters
from ircotlib.systems import all_systems
from ircotlib.text import is_reasoning, sentences
from training.agent.draw_transcripts import (
    STYLES,
    Play,
    draw_agent_question,
    famous_library,
    measured_meanings,
    play_turns,
    taught_systems,
)
from training.agent.lessons import known_facts
from training.agent.sources import locate_sources
from training.agent.stages import held_out_library, judge_tokens
from training.agent.transcripts import Transcript, join_turns

READS, ASKS = "reads", "asks"
RECALLS, ADMITS = "CoT", "SearChain"  # what they write first is known by heart, or left unsolved


class Probe(NamedTuple):
    """A part of a transcript that an agent writes: text[start:end]. `kind`: READS, the value of a
    fact that a page has stated; ASKS, the words that ask for a fact, or state it up to its value.
    """

    kind: str
    stage: str
    start: int
    end: int


def find_probes(transcript: Transcript, mind: Mind) -> Iterator[Probe]:
    """The probes in a transcript of a mind's question whose sources are located."""
    stated = {fact.value for fact in transcript.stated}
    for copied in transcript.copied:
        if copied.source in stated:
            yield from _written(transcript, READS, copied.at, copied.at + len(copied.name))
    for text in mind.worded:
        length = text.find(mind.sentences[text]) if text in mind.sentences else len(text)
        for match in re.finditer(re.escape(text), transcript.text):
            yield from _written(transcript, ASKS, match.start(), match.start() + length)


def _written(transcript: Transcript, kind: str, start: int, end: int) -> Iterator[Probe]:
    for span in transcript.spans:
        if span.start <= start < end <= span.end and span.knowable:
            yield Probe(kind, span.stage, start, end)


def draw_probes(questions: int, seed: int = 0) -> Iterator[tuple[Transcript, list[Probe]]]:
    """Transcripts of every system on `questions` questions of a held-out world, data sets taking
    turns, with their probes.
    """
    library = held_out_library()
    for system in taught_systems().values():
        rng = random.Random(f"probe {system.name} {seed}")
        for number in range(questions):
            riddle = draw_agent_question(library, STYLES[number % len(STYLES)], rng)
            mind = Mind(riddle, library, known_facts().get, rng)
            for transcript in join_turns(play_turns(system, mind)):
                located = locate_sources(transcript, mind)
                yield located, list(find_probes(located, mind))


def probe_stages(model, questions: int) -> dict[str, dict[str, list[int]]]:
    """How many of the probes are right, and how many there are, by kind and stage."""
    counts = {READS: defaultdict(Counter), ASKS: defaultdict(Counter)}
    drawn = {transcript.text: (transcript, probes) for transcript, probes in draw_probes(questions)}
    plays = [Play(transcript, "") for transcript, _ in tqdm(drawn.values(), desc="probes")]
    for play, encoded, right in judge_tokens(model, plays):
        ends = [*encoded.starts, len(play.transcript.text)]  # the last: of the end of the text
        places = [ends[before + 1] for before, _ in encoded.tables["written"]]
        for kind, stage, start, end in drawn[play.transcript.text][1]:
            tokens = [r for at, r in zip(places, right, strict=True) if start <= at < end]
            counts[kind][stage][all(tokens)] += 1
    return {
        kind: {stage: [n[True], n.total()] for stage, n in sorted(of_kind.items())}
        for kind, of_kind in counts.items()
    }


def probe_memory(folder: Path, questions: int) -> dict[str, dict[str, list[int]]]:
    """How many of the facts are true that RECALLS states, and of how many; how many of the queries
    of ADMITS' first chains are unsolved, and of how many; by data set.
    """
    p = read_parameters("mini", {"agent": str(folder), "dev": 0, "test": 1}).for_agent()
    counts = {"knows": {}, "admits": {}}
    for dataset in STYLES:
        rng, riddles = random.Random(f"recall {dataset}"), {}
        while len(riddles) < questions:
            riddle = draw_agent_question(famous_library(), dataset, rng)
            if riddle.meaning not in measured_meanings():
                riddles[riddle.text] = riddle
        posed = (question_of(Mind(r, famous_library(), {}.get, rng)) for r in riddles.values())
        asked = [replace(question, id=f"probe {n}") for n, question in enumerate(posed)]
        facts = LaboratoryFacts(famous_library().world, riddles.values())
        bench = open_setup(p, dataset, "probes")
        verdicts = Counter()
        for outcome, question in _play(bench, RECALLS, asked):
            for sentence in sentences(outcome.result.reading):
                if not is_reasoning(sentence):
                    verdicts[facts.judge(sentence, question)] += 1
        counts["knows"][dataset] = [verdicts["true"], verdicts["true"] + verdicts["false"]]
        nodes = [n for outcome, _ in _play(bench, ADMITS, asked) for n in outcome.result.nodes]
        first = [node.unsolved for node in nodes if node.round == 1]
        counts["admits"][dataset] = [sum(first), len(first)]
    return counts


def _play(bench, name: str, questions: Sequence) -> list[tuple]:
    program = program_of(bench, all_systems()[name])
    outcomes, _ = run({q.id: program(q) for q in questions}, bench.backends, Calls(None))
    return [(outcomes[question.id], question) for question in questions]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="trained agents")
    parser.add_argument("--questions", type=read_count, default=40, help="for each system or set")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for folder in options.folders:
        with refusing():
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
            found = {"questions": options.questions} | probe_stages(model, options.questions)
            found |= probe_memory(folder, options.questions)
        (folder / "probes.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
