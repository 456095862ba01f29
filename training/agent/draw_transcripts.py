"""Draws the agent's transcripts: plays of all systems, drills, and lessons."""

import random
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ircot_laboratory.make import make_dataset
from ircot_laboratory.questions.questions import ALL_DATASETS, DATASETS, draw_riddle
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.records import Riddle
from ircotlib.systems import IRCOT, SEARCHAIN, System, all_systems
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
# systems whose prompts another one covers
COVERED = ("IRCoT", "IRCoT QA w/o reader", "OneR")


class Play(NamedTuple):
    """A transcript, and the system and the data set that it comes from; for a lesson or
    drill, its kind in place of the system.
    """

    transcript: Transcript
    system: str
    dataset: str = ""


def taught_systems() -> dict[str, System]:
    """The systems that ask the agent, without those whose prompts others cover."""
    return {
        name: system
        for name, system in all_systems().items()
        if (system.stages or system.reads)
        and name not in COVERED
        and system.study in (IRCOT, SEARCHAIN)
    }


@cache
def taught_stages() -> dict[str, tuple[System, ...]]:
    """The stages ("module/stage") that are taught, and the systems that have them."""
    stages: dict[str, tuple[System, ...]] = {}
    for name, system in taught_systems().items():
        own = [f"{system.module}/{stage}" for stage in system.stages]
        own += ["ircot/cot", "ircot/direct"] if system.reads else []
        for stage in own:
            # others show only examples or feedback; here ReAct -> CoT-SC has one action
            if stage in TEACHERS and (name, stage) != ("ReAct -> CoT-SC", "react/act"):
                stages[stage] = (*stages.get(stage, ()), system)
    return stages


@cache
def measured_meanings() -> frozenset:
    """The default laboratory's questions in any wording: never trained on."""
    datasets = map(make_dataset, ALL_DATASETS)
    return frozenset(riddle.meaning for made in datasets for riddle in made.riddles)


def make_library(seed: int) -> Library:
    """A training world: of three, one is large, and two have names easily confused."""
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
    if rng.random() < ONE_HOP and dataset in DATASETS:
        return draw_riddle(library.world, rng, dataset, "1hop")
    kind = rng.choice(list(ALL_DATASETS[dataset]))
    return draw_riddle(library.world, rng, dataset, kind)


def draw_famous(dataset: str, rng: random.Random) -> Riddle:
    """Draw a question about the default laboratory, unmeasured, first fact known."""
    while True:
        riddle = draw_agent_question(famous_library(), dataset, rng)
        is_measured = riddle.meaning in measured_meanings()
        if not is_measured and riddle.facts[0] in known_facts():
            return riddle


def draw_transcripts(subject: str, library: Library, rng: random.Random) -> list[Play]:
    """The transcripts of one of the taught_stages, or some of them, or of one of the
    LESSONS; "weighing": of comparisons of values that are only read.
    """
    is_lesson = subject in (*LESSONS, "weighing")
    if is_lesson or subject in DRILLS and rng.random() < DRILLED:
        return [Play(drill, "drill") for drill in _drill(subject, library, rng)]
    system = rng.choice(taught_stages()[subject])
    closed = system.name in IN_MEMORY and rng.random() < CLOSED
    dataset = rng.choice(DRAWN_STYLES)
    if closed:
        library = famous_library()
        riddle = draw_famous(dataset, rng)
    else:
        riddle = draw_agent_question(library, dataset, rng)
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
        known = [draw_known(rng) for _ in range(RECALLED)]
        return [drill_recall(famous_library(), known, rng)]
    if subject == "weighing":
        riddle = draw_riddle(library.world, rng, *rng.choice(COMPARING))
        reading = drill_reading(library, riddle, rng.choice(READING), rng, near=[1])
    else:
        riddle = draw_agent_question(library, rng.choice(SHORT), rng)
        reading = drill_reading(library, riddle, subject, rng)
    return [reading] if reading else []


def draw_known(rng: random.Random) -> Riddle:
    """Draw such a question whose facts are all known, and whose answer is short."""
    while True:
        riddle = draw_famous(rng.choice(SHORT), rng)
        if all(fact in known_facts() for fact in riddle.facts):
            return riddle


def _choose(transcripts: list[Transcript], rng: random.Random) -> list[Transcript]:
    """Choose some of the transcripts of a play: they resemble each other."""
    chosen: list[Transcript] = []
    for transcript in rng.sample(transcripts, len(transcripts)):
        length = sum(len(one.text) for one in (*chosen, transcript))
        if not chosen or length < CHARACTERS:
            chosen.append(transcript)
    return chosen


def play_turns(
    system: System, mind: Mind, closed: bool = False, setting: Mapping | None = None
) -> list[Turn]:
    """Play a system on a question and return its turns. `closed`: without pages, so
    that only the first turn of SearChain is of use; `setting`: None, drawn as in
    training.
    """
    rng, library = mind.rng, mind.library
    grid = CHOICES.get(system.name, {}).items()
    drawn = {name: rng.choice(values) for name, values in grid}
    setting = SHORTER.get(system.name, {}) | drawn if setting is None else dict(setting)
    if system.module == "searchain":
        setting["long_form"] = mind.is_long
    if system.module == MODULE:
        # Auto-CoT's examples; none in two plays of five
        count = 0 if rng.random() < 0.4 else rng.choice((2, 3))
        dataset = mind.riddle.dataset
        riddles = [draw_agent_question(library, dataset, rng) for _ in range(count)]
        others = [Mind(riddle, library, mind.knows, rng) for riddle in riddles]
        return play_auto_cot(mind, others)
    turns = play_system(system, mind, open_prompt, **setting)
    return turns[:1] if closed and system.name == "SearChain" else turns
