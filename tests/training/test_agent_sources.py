"""Where the words come from that the agent writes because of how values compare."""

import random
import re

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.questions.questions import draw_riddle
from ircot_laboratory.teachers.conclusions import named
from ircot_laboratory.teachers.mind import Mind
from training.agent.draws import make_library, play_turns, taught_systems
from training.agent.encode import encode_transcript
from training.agent.sources import locate
from training.agent.transcripts import Compared, Transcript, join_turns
from training.agent.words import make_agent_tokenizer
from training.t5.places import DIFFERENT, EARLIER, LATER, SAME

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
    return mind, [locate(one, mind) for one in join_turns(turns)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_conclusion_looks_back_at_the_values_just_compared(library, kind):
    for seed, system in enumerate(("CoT", "ReAct", "SearChain", "SearChain w/o IR") * 3):
        mind, transcripts = play(library, system, kind, seed)
        for one in transcripts:
            written = [one.text[span.start : span.end] for span in one.spans]
            assert len(one.concluded) == sum("Thus, " in text for text in written)
            for concluded in one.concluded:
                thus = one.text.rindex("Thus, ", 0, concluded.at)
                assert re.match(KINDS[kind], one.text[concluded.at :])
                values = [value for weighed in mind.weighed for value in weighed.values]
                stood = one.text[: concluded.source + 20]
                last = re.match(r"\w+", one.text[concluded.source :])[0]
                assert concluded.source < thus
                assert any(value in stood and value.endswith(last) for value in values)


@pytest.mark.parametrize("kind", [("strategyqa", "time"), ("strategyqa", "same")])
def test_outcomes_are_those_of_the_values_that_stand_there(library, kind):
    outcomes = set()
    for seed in range(12):
        _, transcripts = play(library, "SearChain", kind, seed)
        for at, other, outcome in (one for t in transcripts for one in t.compared):
            [text] = [t.text for t in transcripts if Compared(at, other, outcome) in t.compared]
            a, b = (re.match(r"\w+", text[place:])[0] for place in (other, at))
            if a.isdigit() and b.isdigit():
                assert outcome == (LATER if a < b else EARLIER)
            assert outcome != SAME or a == b
            outcomes.add(outcome)
    assert outcomes >= ({EARLIER, LATER} if "time" in kind else {SAME, DIFFERENT})


def test_an_answer_without_a_conclusion_looks_back_too_but_not_one_after_it(library):
    kind = ("strategyqa", "time")
    _, [asked] = play(library, "Self-Ask w/o IR", kind, 1)
    [concluded] = asked.concluded
    assert asked.text[concluded.at :].startswith(("Yes", "No"))
    assert "Thus" not in asked.text
    _, [reasoned] = play(library, "CoT", kind, 1)
    [concluded] = reasoned.concluded
    assert reasoned.text[concluded.at :].startswith(("before", "after"))


def test_a_corrected_value_is_compared_anew(library):
    for seed in range(40):
        mind, [one] = play(library, "SearChain w/o Completion", ("strategyqa", "same"), seed)
        pairs = {weighed.values for weighed in mind.weighed}
        if len(pairs) > 1:
            break
    assert len({found.at for found in one.compared}) == len(one.compared) >= len(pairs)
    places = [found.source for found in sorted(one.concluded)]
    assert places == sorted(places)


def test_a_year_is_looked_at_in_its_last_token(library):
    _, [one] = play(library, "CoT", ("strategyqa", "time"), 2)
    tokens = encode_transcript(one)
    words = make_agent_tokenizer().convert_ids_to_tokens(tokens.tokens)
    [(at, source)] = tokens.tables["concluded"]
    assert words[at + 1] in ("before", "after")
    assert re.fullmatch(r"\d\d", words[source].removeprefix("##"))
    assert re.fullmatch(r"\d\d", words[source - 1]) and words[source + 1] == "."


def test_where_a_comparison_is_decided_the_agent_names_the_winner(library):
    rng = random.Random(4)
    drawn = (draw_riddle(library.world, rng, "hotpotqa", "comparison") for _ in range(99))
    riddle = next(one for one in drawn if one.answer in named(one))
    mind = Mind(riddle, library, {}.get, random.Random(5))
    turns = play_turns(taught_systems()["CoT"], mind)
    [transcript] = [locate(one, mind) for one in join_turns(turns)]
    conclusion, winner = mind.conclude()
    at = transcript.text.index(winner, transcript.text.index(conclusion))
    assert at in [one.at for one in transcript.decided if one.fact.subject == winner]
    assert at in [one.at for one in transcript.concluded]
