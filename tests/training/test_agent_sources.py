"""Where the words come from that the agent writes because of how values compare."""

import random
import re

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.questions.questions import draw_riddle
from training.agent.draw_transcripts import make_library, play_turns, taught_systems
from training.agent.sources import locate_sources
from training.agent.transcripts import Transcript, join_turns
from training.positions import DIFFERENT, EARLIER, LATER, SAME
from training.teachers.mind import Mind

KINDS = {  # kinds of comparisons, and the words just before which one must know how it comes out
    ("strategyqa", "time"): r"(before|after)\b",
    ("strategyqa", "same"): r"(the same|different) \w+\.",
    ("strategyqa", "place"): r"(\.|, not) ",
    ("fever", "claim"): r"(\.|, not) ",
    ("2wikimultihopqa", "comparison"): r"[A-Z]\w+ ",
    ("2wikimultihopqa", "bridge_comparison"): r"[A-Z]\w+ ",
}


@pytest.fixture(scope="module")
def library():
    return make_library(4)


def play(library, system: str, kind: tuple[str, str], seed: int) -> tuple[Mind, list[Transcript]]:
    """The transcripts of a play by an agent that knows nothing by heart."""
    riddle = draw_riddle(library.world, random.Random(seed), *kind)
    mind = Mind(riddle, library, {}.get, random.Random(seed))
    turns = play_turns(taught_systems()[system], mind)
    return mind, [locate_sources(transcript, mind) for transcript in join_turns(turns)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_conclusion_looks_back_at_the_values_just_compared(library, kind):
    for seed, system in enumerate(("CoT", "ReAct", "SearChain", "SearChain w/o IR") * 3):
        mind, transcripts = play(library, system, kind, seed)
        values = [value for conclusion in mind.conclusions for value in conclusion.values]
        for transcript in transcripts:
            text = transcript.text
            written = [text[span.start : span.end] for span in transcript.spans]
            assert len(transcript.concluded) == sum("Thus, " in part for part in written)
            for at, source in transcript.concluded:
                assert re.match(KINDS[kind], text[at:])
                assert source < text.rindex("Thus, ", 0, at)
                last, stood = re.match(r"\w+", text[source:])[0], text[: source + 20]
                assert any(value in stood and value.endswith(last) for value in values)


@pytest.mark.parametrize("kind", [("strategyqa", "time"), ("strategyqa", "same")])
def test_outcomes_are_those_of_the_values_that_stand_there(library, kind):
    outcomes = set()
    for seed in range(12):
        for transcript in play(library, "SearChain", kind, seed)[1]:
            for at, other, outcome in transcript.compared:
                a, b = (re.match(r"\w+", transcript.text[start:])[0] for start in (other, at))
                if a.isdigit() and b.isdigit():
                    assert outcome == (LATER if a < b else EARLIER)
                assert outcome != SAME or a == b
                outcomes.add(outcome)
    assert outcomes >= ({EARLIER, LATER} if "time" in kind else {SAME, DIFFERENT})


def test_an_answer_without_a_conclusion_looks_back_too_but_not_one_after_it(library):
    kind = ("strategyqa", "time")
    for system, words in (("Self-Ask w/o IR", ("Yes", "No")), ("CoT", ("before", "after"))):
        _, [transcript] = play(library, system, kind, 1)
        [concluded] = transcript.concluded
        assert transcript.text[concluded.at :].startswith(words)
        assert ("Thus" in transcript.text) == (system == "CoT")
