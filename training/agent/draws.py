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
from ircot_laboratory.teachers.play import Turn, play
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.records import Riddle
from ircotlib.systems import System, all_systems
from training.agent.auto_cot import MODULE, play_auto_cot
from training.agent.drills import draw_comparison, draw_reading, recall
from training.agent.lessons import draw_lesson, famous_world, known_facts
from training.agent.sources import locate
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


class Drawn(NamedTuple):
    """A transcript, and the system, data set and kind of question it comes from."""

    transcript: Transcript
    system: str
    dataset: str
    kind: str


def taught_systems() -> dict[str, System]:
    """The systems that ask the agent, by name, without those whose prompts another one covers."""
    alike = ("IRCoT", "IRCoT QA w/o reader", "OneR")
    return {
        n: one for n, one in all_systems().items() if (one.stages or one.reads) and n not in alike
    }


@cache
def measured() -> frozenset:
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


def draw_question(library: Library, dataset: str, rng: random.Random) -> Riddle:
    """Draw a question of one of the kinds of a data set, or of a single hop."""
    kinds = list(ALL_DATASETS[dataset])
    kind = "1hop" if rng.random() < ONE_HOP and dataset in DATASETS else rng.choice(kinds)
    return draw_riddle(library.world, rng, dataset, kind)


def draw_famous(dataset: str, rng: random.Random) -> Riddle:
    """Draw a question about the default laboratory that is not among those measured, and whose
    first fact, at least, the agent knows by heart.
    """
    while True:
        riddle = draw_question(famous_library(), dataset, rng)
        if riddle.meaning not in measured() and riddle.facts[0] in known_facts():
            return riddle


def draw_transcripts(library: Library, rng: random.Random) -> list[Drawn]:
    """Draw the transcripts of one play, or some of them; or lessons or drills."""
    (kind,) = rng.choices(list(DRAWS), list(DRAWS.values()))
    if kind != "play":
        return [Drawn(one, kind, "", "") for one in _draw_drills(kind, library, rng)]
    if rng.random() < CLOSED:
        system, library = taught_systems()[rng.choice(IN_MEMORY)], famous_library()
        riddle = draw_famous(rng.choice(DRAWN_STYLES), rng)
    else:
        system = _draw_system(rng)
        riddle = draw_question(library, rng.choice(DRAWN_STYLES), rng)
    mind = Mind(riddle, library, known_facts().get, rng)
    turns = play_turns(system, mind, closed=library is famous_library())
    found = [locate(one, mind) for one in _choose(join_turns(turns), rng)]
    return [Drawn(one, system.name, riddle.dataset, riddle.kind) for one in found]


def _draw_drills(kind: str, library: Library, rng: random.Random) -> list[Transcript]:
    if kind == "lesson":
        return [draw_lesson(rng)]
    if kind == "recall":
        return [recall(famous_library(), [draw_known(rng) for _ in range(RECALLED)], rng)]
    if kind == "comparison":
        return [draw_comparison(library, rng) for _ in range(5)]
    riddle = draw_question(library, rng.choice(SHORT), rng)
    return [one] if (one := draw_reading(library, riddle, rng)) else []


def draw_known(rng: random.Random) -> Riddle:
    """Draw a question about the default laboratory that is not among those measured, all of whose
    facts the agent knows by heart, and whose answer is short.
    """
    while True:
        riddle = draw_famous(rng.choice(SHORT), rng)
        if all(fact in known_facts() for fact in riddle.facts):
            return riddle


def _draw_system(rng: random.Random) -> System:
    systems = taught_systems()
    return systems[rng.choices(list(systems), [SHARES.get(name, 1) for name in systems])[0]]


def _choose(transcripts: list[Transcript], rng: random.Random) -> list[Transcript]:
    """Choose some of the transcripts of a play: they resemble each other."""
    chosen, length = [], 0
    for one in rng.sample(transcripts, len(transcripts)):
        if not chosen or length + len(one.text) < CHARACTERS:
            chosen.append(one)
            length += len(one.text)
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
        return play_auto_cot(mind, _draw_others(mind), TEACHERS)
    turns = play(system, mind, TEACHERS, open_prompt, **setting)
    return turns[:1] if closed and system.name == "SearChain" else turns


def _draw_others(mind: Mind) -> list[Mind]:
    """Minds for the questions of Auto-CoT's examples; none in two plays of five."""
    rng, library = mind.rng, mind.library
    count = 0 if rng.random() < 0.4 else rng.choice((2, 3))
    riddles = [draw_question(library, mind.riddle.dataset, rng) for _ in range(count)]
    return [Mind(riddle, library, mind.knows, rng) for riddle in riddles]
