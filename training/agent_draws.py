"""Drawing transcripts: which system plays which question of which world, and what the agent knows
by heart.
"""

import random
from functools import cache
from typing import NamedTuple

from ircotlib.laboratory.encyclopedia import make_world
from ircotlib.laboratory.make import SEED, SIZE, make_dataset
from ircotlib.laboratory.questions import ALL_DATASETS, DATASETS, draw_riddle
from ircotlib.laboratory.records import Riddle
from ircotlib.systems import System, all_systems
from training.agent_auto_cot import MODULE, play_auto_cot
from training.agent_lessons import draw_drill, draw_lesson, famous_world, known_facts
from training.agent_library import Library
from training.agent_mind import Mind
from training.agent_play import Turn, play
from training.agent_transcripts import Transcript, join_turns, locate
from training.teachers import TEACHERS

STYLES = tuple(dataset for dataset in ALL_DATASETS if dataset != "iirc")
DRAWN_STYLES = (*STYLES, "musique", "2wikimultihopqa")  # whose chains are longest
CLOSED = 0.12  # of the transcripts are about the famous entities, without any page
LESSONS = 0.2  # of the draws are lists of facts, about a seventh of all tokens
DRILLS = 0.08  # of the draws are five questions that compare, about a tenth of all tokens
ONE_HOP = 0.15
CHARACTERS = 2500  # of the transcripts of a play, about, if there are several
SHORTER = {  # what a system is given in training, so that prompts are as long as they need be
    "CoT-SC": {"n": 1},
    "Recite-and-answer": {"n": 1},
    "Verify-and-Edit": {"n": 3},
    "Tree-of-Thought w/ IR": {"n": 3, "votes": 1},
    "DSP": {"queries": 1, "n": 1, "depth": 5},
    "InterAug": {"k": 4},
    "ReAct -> CoT-SC": {"n": 1},
}
CHOICES = {  # a parameter of a system, and what it is drawn from
    "Direct Retrieval": {"k": (3, 5)},
    "DecomP": {"k": (2, 4, 6)},
    "IRCoT QA": {"k": (2, 4, 6, 8)},
    "OneR QA": {"k": (5, 9, 15)},
    "DSP": {"k": (3, 5)},
    "Self-Ask": {"k": (1, 1, 3)},
    "Plan-and-Solve w/ IR": {"k": (1, 2)},
}
SHARES = {  # of the plays; those not named: 1
    "SearChain": 5, "Self-Ask": 2, "ReAct": 3, "IRCoT QA": 2.5, "DecomP": 3, "DSP": 1.5,
    "Tree-of-Thought w/ IR": 1.5, "SearChain w/o IR": 1, "SearChain w/o Verification": 0.5,
    "SearChain w/o Completion": 0.5, "CoT-SC": 0.2, "CoT": 0.6, "Direct Prompting": 0.6,
    "InterAug": 0.7, "NoR QA": 0.6, "OneR QA": 0.8, "ReAct -> CoT-SC": 0.2,
}  # fmt: skip
IN_MEMORY = (  # systems that need no page
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
    """The systems that ask the agent: those whose program, and not another's, is played."""
    alike = ("IRCoT", "IRCoT QA w/o reader", "OneR")
    return {
        n: one for n, one in all_systems().items() if (one.stages or one.reads) and n not in alike
    }


@cache
def measured() -> frozenset:
    """The questions of the default laboratory, whatever their wording: never trained on."""
    return frozenset(
        riddle.meaning for name in ALL_DATASETS for riddle in make_dataset(name, SEED, SIZE).riddles
    )


def make_library(seed: int) -> Library:
    """A training world: 1,200 pages, or 600 in which fewer names are more alike."""
    size, variety = ((1200, 1.0), (600, 0.6), (600, 0.4))[seed % 3]
    try:
        return Library(make_world(seed, size, held_out=False, variety=variety))
    except ValueError:
        return Library(make_world(seed, size, held_out=False))


@cache
def famous_library() -> Library:
    """The default laboratory's world; of its pages none is ever shown."""
    return Library(famous_world())


def draw_question(library: Library, dataset: str, rng: random.Random) -> Riddle:
    """A question of any kind of a data set."""
    kinds = list(ALL_DATASETS[dataset])
    kind = "1hop" if rng.random() < ONE_HOP and dataset in DATASETS else rng.choice(kinds)
    return draw_riddle(library.world, rng, dataset, kind)


def draw_famous(dataset: str, rng: random.Random) -> Riddle:
    """A question about the default laboratory that is not among those measured, of which the agent
    knows the first fact at least by heart.
    """
    while True:
        riddle = draw_question(famous_library(), dataset, rng)
        if riddle.meaning not in measured() and riddle.facts[0] in known_facts():
            return riddle


def draw_transcripts(library: Library, rng: random.Random) -> list[Drawn]:
    """The transcripts of one play, or some of them; or a lesson; or drills."""
    draw = rng.random()
    if draw < LESSONS:
        return [Drawn(draw_lesson(rng), "lesson", "", "")]
    if draw < LESSONS + DRILLS:
        return [Drawn(draw_drill(library, rng), "drill", "", "") for _ in range(5)]
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


def _draw_system(rng: random.Random) -> System:
    systems = taught_systems()
    return systems[rng.choices(list(systems), [SHARES.get(name, 1) for name in systems])[0]]


def _choose(transcripts: list[Transcript], rng: random.Random) -> list[Transcript]:
    """Some of the transcripts of a play, for those of one play are much alike."""
    chosen, length = [], 0
    for one in rng.sample(transcripts, len(transcripts)):
        if not chosen or length + len(one.text) < CHARACTERS:
            chosen.append(one)
            length += len(one.text)
    return chosen


def play_turns(system: System, mind: Mind, closed: bool = False) -> list[Turn]:
    """The turns of a system on a question; closed: the first one only."""
    setting = dict(SHORTER.get(system.name, {}))
    for name, values in CHOICES.get(system.name, {}).items():
        setting[name] = mind.rng.choice(values)
    if system.module == "searchain":
        setting["long_form"] = mind.is_long
    if system.module == MODULE:
        return play_auto_cot(mind, _draw_others(mind), TEACHERS)
    turns = play(system, mind, TEACHERS, **setting)
    return turns[:1] if closed and system.name == "SearChain" else turns


def _draw_others(mind: Mind) -> list[Mind]:
    """Minds at work on the questions of examples; none in two plays of five."""
    rng, library = mind.rng, mind.library
    count = 0 if rng.random() < 0.4 else rng.choice((2, 3))
    riddles = [draw_question(library, mind.riddle.dataset, rng) for _ in range(count)]
    return [Mind(riddle, library, mind.knows, rng) for riddle in riddles]
