"""The agent's transcripts: what teachers reply, and where each word comes from."""

import random
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from ircotlib.datasets import find_dataset, score
from ircotlib.prompting.prompt import read_template
from training.agent import draw_transcripts as draws
from training.agent.lessons import facts_of, known_facts
from training.agent.transcripts import join_turns
from training.agent.words import make_agent_tokenizer
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
