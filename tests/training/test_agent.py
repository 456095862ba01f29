"""The agent's transcripts: what teachers reply, and where each word comes from."""

import random
import re
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from ircotlib.datasets import find_dataset, score
from ircotlib.prompting.prompt import read_template
from training.agent import draw_transcripts as draws
from training.agent.drills import drill_comparison
from training.agent.lessons import facts_of, known_facts
from training.agent.transcripts import join_turns
from training.agent.words import make_agent_tokenizer
from training.positions import DIFFERENT, EARLIER, LATER, last_word
from training.teachers import TEACHERS
from training.teachers import library as libraries
from training.teachers.mind import Mind
from training.teachers.play import question_of

TOKENIZER = make_agent_tokenizer()
SYSTEMS = [name for name in draws.taught_systems() if name != "Auto-CoT"]


@pytest.fixture(scope="module")
def library():
    """A training world with its library."""
    return draws.make_library(4)


@pytest.fixture(scope="module")
def transcripts(library):
    """Transcripts, drawn as in training."""
    rng = random.Random(11)
    subjects = [*draws.taught_stages(), *draws.LESSONS] * 3
    plays = (draws.draw_transcripts(subject, library, rng) for subject in subjects)
    return [play.transcript for drawn in plays for play in drawn]


def draw_mind(library, dataset, rng, knows=lambda fact: None):
    return Mind(draws.draw_agent_question(library, dataset, rng), library, knows, rng)


def run_taught(name, mind):
    """The result and turns of a system's program if its teachers write all replies."""
    system = draws.taught_systems()[name]
    grid = draws.CHOICES.get(name, {}).items()
    setting = {name: values[0] for name, values in grid} | draws.SHORTER.get(name, {})
    turns = draws.play_turns(system, mind, setting=setting)
    return mind.prediction, turns


@pytest.mark.parametrize("name", SYSTEMS)
def test_who_knows_all_answers_right_with_every_system(name, library, monkeypatch):
    monkeypatch.setattr(library, "missed", 0.0)
    for chance in ("MISREAD", "MISLED"):
        monkeypatch.setattr(libraries, chance, 0.0)
    rng = random.Random(name)
    knows = facts_of(library.world.entities).get
    for dataset in draws.STYLES:
        mind = draw_mind(library, dataset, rng, knows)
        prediction, _ = run_taught(name, mind)
        measure = next(iter(find_dataset(dataset).scores))
        right = score(question_of(mind), prediction)[measure]
        assert prediction.fault == ""
        assert right > 0.99 or name == "InterAug", prediction


def test_every_stage_of_every_system_is_taught(library):
    rng, stages = random.Random(5), Counter()
    for system in draws.taught_systems().values():
        for dataset in draws.STYLES:
            mind = draw_mind(library, dataset, rng, known_facts().get)
            stages.update(turn.stage for turn in draws.play_turns(system, mind))
    assert set(stages) | {"react/cot"} == set(TEACHERS)
    react, cot = (read_template(system, "cot", "agent") for system in ("react", "cot"))
    assert react == cot


def test_a_transcript_is_what_the_program_asks(library):
    mind = draw_mind(library, "musique", random.Random(2))
    _, turns = run_taught("Self-Ask", mind)
    [whole] = [t for t in join_turns(turns) if "Follow up:" in t.text]
    asked = [turn for turn in turns if turn.stage == "self_ask/ask"]
    assert all(whole.text.startswith(turn.prompt) for turn in asked)
    written = "".join(whole.text[span.start : span.end] for span in whole.spans)
    assert written.count("Follow up:") == len(mind.steps)
    assert whole.spans[-1].ends and whole.text.endswith(f"{mind.conclude()[1]}.")
    own = written.count("Intermediate answer: ")
    assert own < whole.text.count("Intermediate answer: ") == len(mind.steps)


def test_the_tokenizer_gives_back_what_is_written_after_the_same_prompt(transcripts):
    for transcript in transcripts:
        tokens = TOKENIZER.encode(transcript.text)
        assert TOKENIZER.unk_token_id not in tokens, transcript.text
        for span in transcript.spans:
            written = transcript.text[span.start : span.end].strip()
            assert TOKENIZER.decode(TOKENIZER.encode(written)) == written
            prompt = TOKENIZER.encode(transcript.text[: span.start].rstrip())
            assert tokens[: len(prompt)] == prompt


def test_which_of_two_is_named_is_learned_from_values_and_the_order_asked_for(library):
    drills = [drill_comparison(library, random.Random(seed)) for seed in range(30)]
    chosen = [drill for drill in drills if drill.asked]
    assert 5 < len(chosen) < len(drills)
    for drill in chosen:
        [(at, source)], [asked] = drill.concluded, drill.asked
        places = {place for pair in drill.compared for place in (pair.at, pair.other)}
        years = {int(drill.text[place - 2 : place + 2]): place for place in places}
        word = re.match(r"\w+", drill.text[asked.other :])[0]
        assert word in ("first", "last", "earlier", "later")
        assert source == years[(min if asked.outcome == EARLIER else max)(years)]
        assert asked.at == at and drill.inferred


def test_values_that_are_not_written_are_recalled_from_pages_and_compared(library):
    rng = random.Random(4)
    drawn = [draws.draw_transcripts("weighing", library, rng) for _ in range(30)]
    drills = [play.transcript for plays in drawn for play in plays]
    for drill in drills:
        [pair] = drill.weighed
        recalled = [one for one in drill.recalled if one.at == pair.at and not one.back]
        # the question may name the other
        assert len(recalled) == 1 + (pair.other == pair.at)
        for one in recalled:  # from its last word, the end of its sentence, or by heart
            ends = one.value[last_word(one.value) :], "."
            assert drill.text.startswith(ends, one.source) or one.source == one.at
        values = [one.value for one in reversed(recalled)]
        if len(set(values)) == 2:
            outcome = EARLIER if values[1] < values[0] else LATER
            assert pair.outcome == (outcome if values[0].isdigit() else DIFFERENT)
    assert len(drills) > 25
