"""The agent's transcripts: the replies of teachers at every stage of every system, as
the systems' own programs take them, and where each word comes from.
"""

import random
import re
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.world.records import Fact
from ircotlib.datasets import find_dataset, score
from ircotlib.prompting.prompt import read_template
from training.agent import draw_transcripts as draws
from training.agent.drills import drill_comparison
from training.agent.lessons import known_facts
from training.agent.transcripts import join_turns
from training.agent.words import make_agent_tokenizer, open_prompt
from training.positions import DIFFERENT, EARLIER, LATER, last_word
from training.teachers import TEACHERS, play
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
def facts(library):
    """All facts of the world."""
    entities = library.world.entities.items()
    return {
        Fact(name, relation): v
        for name, e in entities
        for relation, v in e.facts.items()
    }


@pytest.fixture(scope="module")
def transcripts(library):
    """Transcripts, drawn as in training."""
    rng, subjects = random.Random(11), [*draws.taught_stages(), *draws.LESSONS] * 3
    drawn = (draws.draw_transcripts(subject, library, rng) for subject in subjects)
    return [one.transcript for runs in drawn for one in runs]


def draw_mind(library, dataset, rng, knows=lambda fact: None):
    return Mind(draws.draw_agent_question(library, dataset, rng), library, knows, rng)


def run_taught(name, mind):
    """The result and turns of a system's program if its teachers write all replies."""
    system = draws.taught_systems()[name]
    setting = {
        name: values[0] for name, values in draws.CHOICES.get(system.name, {}).items()
    }
    setting |= draws.SHORTER.get(system.name, {})
    setting |= {"long_form": mind.is_long} if system.module == "searchain" else {}
    turns = play.play_system(system, mind, open_prompt, **setting)
    return mind.prediction, turns


@pytest.mark.parametrize("name", SYSTEMS)
def test_who_knows_all_answers_right_with_every_system(
    name, library, facts, monkeypatch
):
    monkeypatch.setattr(library, "missed", 0.0)
    for chance in ("MISREAD", "MISLED"):
        monkeypatch.setattr(libraries, chance, 0.0)
    rng = random.Random(name)
    for dataset in draws.STYLES:
        mind = draw_mind(library, dataset, rng, facts.get)
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
    assert read_template("react", "cot", "agent") == read_template(
        "cot", "cot", "agent"
    )


def test_a_transcript_is_what_the_program_asks(library):
    mind = draw_mind(library, "musique", random.Random(2))
    _, turns = run_taught("Self-Ask", mind)
    [whole] = [t for t in join_turns(turns) if "Follow up:" in t.text]
    asked = [turn for turn in turns if turn.stage == "self_ask/ask"]
    assert all(whole.text.startswith(turn.prompt) for turn in asked)
    written = "".join(whole.text[span.start : span.end] for span in whole.spans)
    assert written.count("Follow up:") == len(mind.steps)
    assert whole.spans[-1].ends and whole.text.endswith(f"{mind.conclude()[1]}.")
    answers = [
        match.end() for match in re.finditer("Intermediate answer: ", whole.text)
    ]
    own = [
        at for at in answers if any(span.start <= at < span.end for span in whole.spans)
    ]
    assert len(answers) == len(mind.steps) and len(own) < len(answers)


def test_the_tokenizer_gives_back_what_the_agent_writes_after_the_same_prompt(
    transcripts,
):
    for transcript in transcripts:
        tokens = TOKENIZER.encode(transcript.text)
        assert TOKENIZER.unk_token_id not in tokens, transcript.text
        for span in transcript.spans:
            written = transcript.text[span.start : span.end].strip()
            assert TOKENIZER.decode(TOKENIZER.encode(written)) == written
            prompt = TOKENIZER.encode(transcript.text[: span.start].rstrip())
            assert tokens[: len(prompt)] == prompt


def test_which_of_two_is_named_is_learned_from_its_own_value_and_the_order_asked_for(
    library,
):
    drills = [drill_comparison(library, random.Random(seed)) for seed in range(30)]
    chosen = [drill for drill in drills if drill.asked]
    assert 5 < len(chosen) < len(drills)
    for drill in chosen:
        [(at, source)], [asked] = drill.concluded, drill.asked
        years = {int(drill.text[place - 2 : place + 2]): place
                 for pair in drill.compared for place in (pair.at, pair.other)}  # fmt: skip
        assert drill.text[asked.other :].startswith(
            ("first", "last", "earlier", "later")
        )
        assert source == years[(min if asked.outcome == EARLIER else max)(years)]
        assert (
            asked.at == at
            and {inferred.fact.relation for inferred in drill.inferred} != set()
        )


def test_values_that_are_not_written_are_recalled_from_their_pages_and_compared(
    library,
):
    rng = random.Random(4)
    drills = [
        one
        for _ in range(30)
        for one in draws.draw_transcripts("weighing", library, rng)
    ]
    for drill in [one.transcript for one in drills]:
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
