"""Draws the agent's transcripts: plays of systems, as much of each stage, on questions
of a world, and lessons in what the agent knows by heart.
"""

import random
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ircot_laboratory.make import make_dataset
from ircot_laboratory.questions.questions import ALL_DATASETS, DATASETS, draw_riddle
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.records import Riddle
from ircotlib.systems import System, all_systems
from training.agent.auto_cot import MODULE, play_auto_cot
from training.agent.drills import (
    COMPARING,
    DRILLS,
    READING,
    RECALLING,
    drill_comparison,
    drill_reading,
    drill_recall,
)
from training.agent.lessons import draw_lesson, famous_world, known_facts
from training.agent.sources import locate_sources
from training.agent.transcripts import Transcript, join_turns
from training.agent.words import open_prompt
from training.teachers import TEACHERS
from training.teachers.library import Library
from training.teachers.mind import LONG, Mind
from training.teachers.play import Turn, play_system

STYLES = tuple(dataset for dataset in ALL_DATASETS if dataset != "iirc")
# twice: those with the longest chains
DRAWN_STYLES = (*STYLES, "musique", "2wikimultihopqa")
# with short answers
SHORT = tuple(dataset for dataset in DRAWN_STYLES if dataset != LONG)
# share of the plays, of those IN_MEMORY, about the famous entities, without any page
CLOSED = 0.3
DRILLED = 0.5  # share of the draws of DRILLS' stages that are drills, not plays
LESSONS = ("lesson", "comparison")  # taught beside the stages
RECALLED = 8  # questions of a recall
ONE_HOP = 0.15  # share of the questions with a single hop
# upper limit for the transcripts kept of one play, if there are several
CHARACTERS = 2500
# settings of systems in training: smaller, so that prompts are no longer than needed
SHORTER = {
    "CoT-SC": {"n": 1},
    "Recite-and-answer": {"n": 1},
    "Verify-and-Edit": {"n": 3},
    "Tree-of-Thought w/ IR": {"votes": 1},
    "DSP": {"queries": 1, "n": 1, "depth": 5},
    "InterAug": {"k": 4},
    "ReAct -> CoT-SC": {"max_actions": 1, "n": 1},  # it goes on to CoT-SC
}
CHOICES = {  # parameters of systems that are drawn for each play, and their values
    "Direct Retrieval": {"k": (3, 5)},
    "DecomP": {"k": (2, 4, 6)},
    "IRCoT QA": {"k": (2, 4, 6, 8)},
    "OneR QA": {"k": (5, 9, 15)},
    "DSP": {"k": (3, 5)},
    "Self-Ask": {"k": (1, 1, 3)},
    "Plan-and-Solve w/ IR": {"k": (1, 2)},
}
IN_MEMORY = (  # systems that can answer from memory
    "Direct Prompting", "CoT", "Recite-and-answer", "Self-Ask w/o IR", "Least-to-Most",
    "Plan-and-Solve", "NoR QA", "SearChain w/o IR", "SearChain",
)  # fmt: skip


class Play(NamedTuple):
    """A transcript, and the system and the data set that it comes from; for a lesson or
    drill, its kind in place of the system.
    """

    transcript: Transcript
    system: str
    dataset: str = ""


def taught_systems() -> dict[str, System]:
    """The systems that ask the agent, by name, without those whose prompts another one
    covers.
    """
    covered = ("IRCoT", "IRCoT QA w/o reader", "OneR")
    return {
        name: system
        for name, system in all_systems().items()
        if (system.stages or system.reads) and name not in covered
    }


@cache
def taught_stages() -> dict[str, tuple[System, ...]]:
    """The stages ("module/stage") that are taught, each as much, and the systems that
    have them.
    """
    stages = {}
    for name, system in taught_systems().items():
        own = [f"{system.module}/{stage}" for stage in system.stages]
        for stage in own + (["ircot/cot", "ircot/direct"] if system.reads else []):
            # others show only examples or feedback; ReAct -> CoT-SC plays a single
            # action here
            if stage in TEACHERS and (name, stage) != ("ReAct -> CoT-SC", "react/act"):
                stages[stage] = (*stages.get(stage, ()), system)
    return stages


@cache
def measured_meanings() -> frozenset:
    """The questions of the default laboratory, in any wording: they are never trained
    on.
    """
    return frozenset(
        riddle.meaning for name in ALL_DATASETS for riddle in make_dataset(name).riddles
    )


def make_library(seed: int) -> Library:
    """A training world: one third have 1,200 pages, the others 600 with fewer different
    names, which are more easily confused.
    """
    size, variety = ((1200, 1.0), (600, 0.6), (600, 0.4))[seed % 3]
    try:
        return Library(make_world(seed, size, held_out=False, variety=variety))
    except ValueError:
        return Library(make_world(seed, size, held_out=False))


@cache
def famous_library() -> Library:
    """The default laboratory's world, which is asked about from memory."""
    return Library(famous_world())


def draw_agent_question(library: Library, dataset: str, rng: random.Random) -> Riddle:
    """Draw a question of one of the kinds of a data set, or of a single hop."""
    kinds = list(ALL_DATASETS[dataset])
    kind = (
        "1hop" if rng.random() < ONE_HOP and dataset in DATASETS else rng.choice(kinds)
    )
    return draw_riddle(library.world, rng, dataset, kind)


def draw_famous(dataset: str, rng: random.Random) -> Riddle:
    """Draw a question about the default laboratory that is not among those measured,
    and whose first fact, at least, the agent knows by heart.
    """
    while True:
        riddle = draw_agent_question(famous_library(), dataset, rng)
        if (
            riddle.meaning not in measured_meanings()
            and riddle.facts[0] in known_facts()
        ):
            return riddle


def draw_transcripts(subject: str, library: Library, rng: random.Random) -> list[Play]:
    """The transcripts of one of the taught_stages, or some of them, or of one of the
    LESSONS; "weighing": of comparisons of values that are only read.
    """
    if subject in (*LESSONS, "weighing") or (
        subject in DRILLS and rng.random() < DRILLED
    ):
        return [
            Play(transcript, "drill") for transcript in _drill(subject, library, rng)
        ]
    system = rng.choice(taught_stages()[subject])
    if closed := system.name in IN_MEMORY and rng.random() < CLOSED:
        library, riddle = famous_library(), draw_famous(rng.choice(DRAWN_STYLES), rng)
    else:
        riddle = draw_agent_question(library, rng.choice(DRAWN_STYLES), rng)
    mind = Mind(riddle, library, known_facts().get, rng)
    transcripts = join_turns(play_turns(system, mind, closed))
    taught = [t for t in transcripts if any(span.stage == subject for span in t.spans)]
    located = [locate_sources(transcript, mind) for transcript in _choose(taught, rng)]
    return [Play(transcript, system.name, riddle.dataset) for transcript in located]


def _drill(subject: str, library: Library, rng: random.Random) -> list[Transcript]:
    if subject == "lesson":
        return [draw_lesson(rng)]
    if subject == "comparison":
        return [drill_comparison(library, rng) for _ in range(5)]
    if subject == RECALLING:
        return [
            drill_recall(
                famous_library(), [draw_known(rng) for _ in range(RECALLED)], rng
            )
        ]
    if subject == "weighing":
        riddle = draw_riddle(library.world, rng, *rng.choice(COMPARING))
        reading = drill_reading(library, riddle, rng.choice(READING), rng, near=[1])
    else:
        riddle = draw_agent_question(library, rng.choice(SHORT), rng)
        reading = drill_reading(library, riddle, subject, rng)
    return [reading] if reading else []


def draw_known(rng: random.Random) -> Riddle:
    """Draw a question about the default laboratory that is not among those measured,
    all of whose facts the agent knows by heart, and whose answer is short.
    """
    while True:
        riddle = draw_famous(rng.choice(SHORT), rng)
        if all(fact in known_facts() for fact in riddle.facts):
            return riddle


def _choose(transcripts: list[Transcript], rng: random.Random) -> list[Transcript]:
    """Choose some of the transcripts of a play: they resemble each other."""
    chosen, length = [], 0
    for transcript in rng.sample(transcripts, len(transcripts)):
        if not chosen or length + len(transcript.text) < CHARACTERS:
            chosen.append(transcript)
            length += len(transcript.text)
    return chosen


def play_turns(
    system: System, mind: Mind, closed: bool = False, setting: Mapping | None = None
) -> list[Turn]:
    """Play a system on a question and return its turns. `closed`: without pages, so
    that only the first turn of SearChain is of use; `setting`: None, drawn as in
    training.
    """
    drawn = {
        name: mind.rng.choice(of) for name, of in CHOICES.get(system.name, {}).items()
    }
    setting = SHORTER.get(system.name, {}) | drawn if setting is None else dict(setting)
    if system.module == "searchain":
        setting["long_form"] = mind.is_long
    if system.module == MODULE:
        # Auto-CoT's examples; none in two plays of five
        count = 0 if mind.rng.random() < 0.4 else mind.rng.choice((2, 3))
        library, dataset = mind.library, mind.riddle.dataset
        riddles = [
            draw_agent_question(library, dataset, mind.rng) for _ in range(count)
        ]
        others = [Mind(riddle, library, mind.knows, mind.rng) for riddle in riddles]
        return play_auto_cot(mind, others)
    turns = play_system(system, mind, open_prompt, **setting)
    return turns[:1] if closed and system.name == "SearChain" else turns
