"""Draws the agent's transcripts: which system plays which question of which world, and lessons in
what the agent knows by heart.
"""

import random
from functools import cache
from typing import NamedTuple

from ircot_laboratory.make import SEED, SIZE, make_dataset
from ircot_laboratory.questions.questions import ALL_DATASETS, DATASETS, draw_riddle
from ircot_laboratory.teachers import TEACHERS
from ircot_laboratory.teachers.library import Library
from ircot_laboratory.teachers.mind import LONG, Mind
from ircot_laboratory.teachers.play import Turn, play_system
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.records import Riddle
from ircotlib.systems import System, all_systems
from training.agent.auto_cot import MODULE, play_auto_cot
from training.agent.drills import drill_comparison, drill_reading, drill_recall
from training.agent.lessons import draw_lesson, famous_world, known_facts
from training.agent.sources import locate_sources
from training.agent.transcripts import Transcript, join_turns
from training.agent.words import open_prompt

STYLES = tuple(dataset for dataset in ALL_DATASETS if dataset != "iirc")
DRAWN_STYLES = (*STYLES, "musique", "2wikimultihopqa")  # twice: those with the longest chains
SHORT = tuple(dataset for dataset in DRAWN_STYLES if dataset != LONG)  # with short answers
CLOSED = 0.12  # share of the plays that are about the famous entities, without any page
DRAWS = {  # the share of each kind of draw
    "play": 0.55,
    "lesson": 0.13,  # a list of facts
    "recall": 0.06,  # questions answered directly, from memory
    "comparison": 0.08,  # five of them, whose facts are given
    "reading": 0.18,  # a question answered directly, from pages
}
RECALLED = 8  # questions of a recall
ONE_HOP = 0.15  # share of the questions with a single hop
CHARACTERS = 2500  # upper limit for the transcripts kept of one play, if there are several
SHORTER = {  # settings of systems in training: smaller, so that prompts are no longer than needed
    "CoT-SC": {"n": 1},
    "Recite-and-answer": {"n": 1},
    "Verify-and-Edit": {"n": 3},
    "Tree-of-Thought w/ IR": {"votes": 1},
    "DSP": {"queries": 1, "n": 1, "depth": 5},
    "InterAug": {"k": 4},
    "ReAct -> CoT-SC": {"n": 1},
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
SHARES = {  # how often each system is drawn, relative to the others; 1 for those not named
    "SearChain": 5, "Self-Ask": 2, "ReAct": 3, "IRCoT QA": 2.5, "DecomP": 3, "DSP": 1.5,
    "Tree-of-Thought w/ IR": 3, "SearChain w/o IR": 1, "SearChain w/o Verification": 0.5,
    "SearChain w/o Completion": 0.5, "CoT-SC": 0.4, "CoT": 1.5, "Direct Prompting": 0.6,
    "InterAug": 1.5, "Direct Retrieval": 1.5, "NoR QA": 0.6, "OneR QA": 0.8, "ReAct -> CoT-SC": 0.2,
}  # fmt: skip
IN_MEMORY = (  # systems that can answer from memory
    "Direct Prompting", "CoT", "Recite-and-answer", "Self-Ask w/o IR", "Least-to-Most",
    "Plan-and-Solve", "NoR QA", "SearChain w/o IR", "SearChain",
)  # fmt: skip


class Play(NamedTuple):
    """A transcript, and the system and the data set that it comes from; for a lesson or drill, its
    kind in place of the system.
    """

    transcript: Transcript
    system: str
    dataset: str = ""


def taught_systems() -> dict[str, System]:
    """The systems that ask the agent, by name, without those whose prompts another one covers."""
    covered = ("IRCoT", "IRCoT QA w/o reader", "OneR")
    return {
        name: system
        for name, system in all_systems().items()
        if (system.stages or system.reads) and name not in covered
    }


@cache
def measured_meanings() -> frozenset:
    """The questions of the default laboratory, in any wording: they are never trained on."""
    return frozenset(
        riddle.meaning for name in ALL_DATASETS for riddle in make_dataset(name, SEED, SIZE).riddles
    )


def make_library(seed: int) -> Library:
    """A training world: one third have 1,200 pages, the others 600 with fewer different names,
    which are more easily confused.
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
    kind = "1hop" if rng.random() < ONE_HOP and dataset in DATASETS else rng.choice(kinds)
    return draw_riddle(library.world, rng, dataset, kind)


def draw_famous(dataset: str, rng: random.Random) -> Riddle:
    """Draw a question about the default laboratory that is not among those measured, and whose
    first fact, at least, the agent knows by heart.
    """
    while True:
        riddle = draw_agent_question(famous_library(), dataset, rng)
        if riddle.meaning not in measured_meanings() and riddle.facts[0] in known_facts():
            return riddle


def draw_transcripts(library: Library, rng: random.Random) -> list[Play]:
    """Draw the transcripts of one play, or some of them; or lessons or drills."""
    (kind,) = rng.choices(list(DRAWS), list(DRAWS.values()))
    if kind != "play":
        return [Play(transcript, kind) for transcript in _draw_drills(kind, library, rng)]
    if rng.random() < CLOSED:
        system, library = taught_systems()[rng.choice(IN_MEMORY)], famous_library()
        riddle = draw_famous(rng.choice(DRAWN_STYLES), rng)
    else:
        systems = taught_systems()
        shares = [SHARES.get(name, 1) for name in systems]
        system = systems[rng.choices(list(systems), shares)[0]]
        riddle = draw_agent_question(library, rng.choice(DRAWN_STYLES), rng)
    mind = Mind(riddle, library, known_facts().get, rng)
    turns = play_turns(system, mind, closed=library is famous_library())
    chosen = [locate_sources(transcript, mind) for transcript in _choose(join_turns(turns), rng)]
    return [Play(transcript, system.name, riddle.dataset) for transcript in chosen]


def _draw_drills(kind: str, library: Library, rng: random.Random) -> list[Transcript]:
    if kind == "lesson":
        return [draw_lesson(rng)]
    if kind == "recall":
        return [drill_recall(famous_library(), [draw_known(rng) for _ in range(RECALLED)], rng)]
    if kind == "comparison":
        return [drill_comparison(library, rng) for _ in range(5)]
    riddle = draw_agent_question(library, rng.choice(SHORT), rng)
    reading = drill_reading(library, riddle, rng)
    return [reading] if reading else []


def draw_known(rng: random.Random) -> Riddle:
    """Draw a question about the default laboratory that is not among those measured, all of whose
    facts the agent knows by heart, and whose answer is short.
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


def play_turns(system: System, mind: Mind, closed: bool = False) -> list[Turn]:
    """Play a system on a question and return its turns. `closed`: without pages, so that only the
    first turn of SearChain is of use.
    """
    setting = dict(SHORTER.get(system.name, {}))
    for name, values in CHOICES.get(system.name, {}).items():
        setting[name] = mind.rng.choice(values)
    if system.module == "searchain":
        setting["long_form"] = mind.is_long
    if system.module == MODULE:
        # Auto-CoT's examples; none in two plays of five
        count = 0 if mind.rng.random() < 0.4 else mind.rng.choice((2, 3))
        library, dataset = mind.library, mind.riddle.dataset
        riddles = [draw_agent_question(library, dataset, mind.rng) for _ in range(count)]
        others = [Mind(riddle, library, mind.knows, mind.rng) for riddle in riddles]
        return play_auto_cot(mind, others, TEACHERS)
    turns = play_system(system, mind, TEACHERS, open_prompt, **setting)
    return turns[:1] if closed and system.name == "SearChain" else turns
