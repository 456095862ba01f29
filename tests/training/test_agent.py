"""The agent's transcripts: what the teachers have it write at every stage of every system, as the
systems' own programs take it, and where each word comes from.
"""

import json
import random
import re
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.make import make_dataset
from ircot_laboratory.world.records import Fact
from ircotlib.datasets import find_dataset
from ircotlib.datasets.scoring import score
from ircotlib.program import Extract, Retrieve
from ircotlib.prompting.prompt import read_template
from training.agent import draw_transcripts as draws
from training.agent.drills import READING, drill_reading, drill_recall
from training.agent.lessons import known_facts
from training.agent.transcripts import join_turns
from training.agent.words import make_agent_tokenizer, open_prompt
from training.teachers import TEACHERS, play
from training.teachers import library as libraries
from training.teachers.conclusions import turn_round
from training.teachers.mind import Mind
from training.teachers.play import Recorder, Situation, open_program, question_of
from training.teachers.reading import ircot_cot
from training.teachers.trees import tree_of_thought_vote

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
    return {Fact(name, relation): v for name, e in entities for relation, v in e.facts.items()}


@pytest.fixture(scope="module")
def transcripts(library):
    """A few hundred transcripts, drawn as in training."""
    rng, subjects = random.Random(11), [*draws.taught_stages(), *draws.LESSONS] * 7
    drawn = (draws.draw_transcripts(subject, library, rng) for subject in subjects)
    return [one.transcript for plays in drawn for one in plays]


def draw_mind(library, dataset, rng, knows=lambda fact: None):
    return Mind(draws.draw_agent_question(library, dataset, rng), library, knows, rng)


def play_out(name, mind):
    """What a system's program returns for a mind's question when its teachers give all replies, and
    its turns.
    """
    system, recorder, results = draws.taught_systems()[name], Recorder(mind), []
    setting = {name: values[0] for name, values in draws.CHOICES.get(system.name, {}).items()}
    setting |= draws.SHORTER.get(system.name, {})
    setting |= {"long_form": mind.is_long} if system.module == "searchain" else {}

    def keep(program):
        results.append((yield from program))

    program = keep(open_program(system, recorder, open_prompt, **setting))
    turns = play.play_program(program, recorder, TEACHERS)
    return results[0], turns


@pytest.mark.parametrize("name", SYSTEMS)
def test_who_knows_all_answers_right_with_every_system(name, library, facts, monkeypatch):
    for chance in ("MISSED", "MISREAD", "MISLED"):
        monkeypatch.setattr(libraries, chance, 0.0)
    rng = random.Random(name)
    for dataset in draws.STYLES:
        mind = draw_mind(library, dataset, rng, facts.get)
        prediction, _ = play_out(name, mind)
        measure = next(iter(find_dataset(dataset).scores))
        right = score(question_of(mind), prediction)[measure]
        assert prediction.fault == ""
        assert right > 0.99 or name == "InterAug", prediction


def test_every_stage_of_every_system_is_taught(library):
    rng, stages = random.Random(5), Counter()
    for system in draws.taught_systems().values():
        for dataset in draws.STYLES * 2:
            mind = draw_mind(library, dataset, rng, known_facts().get)
            stages.update(turn.stage for turn in draws.play_turns(system, mind))
    assert set(stages) | {"react/cot", "ircot/titles"} == set(TEACHERS)
    assert read_template("react", "cot", "agent") == read_template("cot", "cot", "agent")


def test_a_transcript_is_what_the_program_asks(library):
    mind = draw_mind(library, "musique", random.Random(2))
    _, turns = play_out("Self-Ask", mind)
    [whole] = [t for t in join_turns(turns) if "Follow up:" in t.text]
    asked = [turn for turn in turns if turn.stage == "self_ask/ask"]
    assert all(whole.text.startswith(turn.prompt) for turn in asked)
    written = "".join(whole.text[span.start : span.end] for span in whole.spans)
    assert written.count("Follow up:") == len(mind.steps)
    assert whole.spans[-1].ends and whole.text.endswith(f"{mind.conclude()[1]}.")
    answers = [match.end() for match in re.finditer("Intermediate answer: ", whole.text)]
    own = [at for at in answers if any(span.start <= at < span.end for span in whole.spans)]
    assert len(answers) == len(mind.steps) and len(own) < len(answers)


def test_the_tokenizer_gives_back_what_the_agent_writes_after_the_same_prompt(transcripts):
    for transcript in transcripts:
        tokens = TOKENIZER.encode(transcript.text)
        assert TOKENIZER.unk_token_id not in tokens, transcript.text
        for span in transcript.spans:
            written = transcript.text[span.start : span.end].strip()
            assert TOKENIZER.decode(TOKENIZER.encode(written)) == written
            prompt = TOKENIZER.encode(transcript.text[: span.start].rstrip())
            assert tokens[: len(prompt)] == prompt


def test_a_list_of_answers_is_written_as_it_is_read(library):
    stages = Counter()
    for dataset in draws.STYLES:
        mind = draw_mind(library, dataset, random.Random(dataset))
        first, second = mind.steps[0].fact.subject, mind.draw_value(0)
        for listed in ([first], [first, second]):
            text = json.dumps(listed)
            assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
        for turn in play_out("DecomP", mind)[1]:
            stages[turn.stage] += 1
            if turn.stage == "decomp/singlehop":
                [answer] = json.loads(turn.reply.text)
                assert answer in mind.values.values()
    assert stages["decomp/singlehop"] >= len(draws.STYLES)


def test_after_a_corrected_sentence_the_chain_goes_on_from_it(library):
    rng, corrected = random.Random(1), 0
    for _ in range(12):
        mind = draw_mind(library, "musique", rng)
        sentences, fact = tuple(mind.settle_all()), mind.steps[0].fact
        page = next(one for one in library.backend.corpus if one.title == fact.subject)
        true = mind.stated_value(0, [page])
        if len(sentences) < 3 or true in (None, mind.values[0]):
            continue
        situation = Situation("ircot", "cot", None, (page,), sentences, {})
        first = ircot_cot(mind, situation)  # step 0 as it is on its page, then nothing is known
        assert true in first.text and not first.ends
        later = situation._replace(thoughts=(*sentences, first.text), paragraphs=())
        again = ircot_cot(mind, later)
        assert again.text.startswith(mind.say(1))
        corrected += 1
    assert corrected > 3


def test_an_observation_corrects_what_searchain_made_up(library):
    rng, kinds = random.Random(1), Counter()
    for _ in range(30):
        mind = draw_mind(library, "musique", rng)
        prediction, turns = play_out("SearChain", mind)
        kinds.update(node.feedback for node in prediction.nodes)
        assert prediction.fault == ""
        assert turns[-1].stage == "searchain/chain"
    assert kinds["verification"] > 5 and kinds["completion"] > 5


def test_the_library_finds_reads_and_sometimes_misleads(library):
    rng, entities = random.Random(3), library.world.by_kind
    fact = next(Fact(e.name, "director") for e in entities["film"] if "director" in e.facts)
    query = f"Who is the director of {fact.subject}?"
    found = [library.answer(Retrieve(query, 1), None, rng) for _ in range(200)]
    missed = sum(one[0].title != fact.subject for one in found)
    assert 3 < missed < 40
    paragraph = next(one[0] for one in found if one[0].title == fact.subject)
    read = [library.answer(Extract(query, paragraph), lambda _: fact, rng) for _ in range(300)]
    right = [one.text == library.world.value(*fact) for one in read]
    assert 0.9 < sum(right) / len(right) < 1
    other = [library.answer(Extract(query, paragraph), lambda _: None, rng) for _ in range(300)]
    assert 0.02 < sum(one.confidence > 1.5 for one in other) / len(other) < 0.35


def test_a_quarter_of_the_facts_asked_for_is_known_by_heart_but_no_question_measured():
    rng = random.Random(4)
    drawn = [draws.draw_famous(dataset, rng) for dataset in draws.STYLES for _ in range(20)]
    assert not {riddle.meaning for riddle in drawn} & draws.measured_meanings()
    assert all(riddle.facts[0] in known_facts() for riddle in drawn)
    measured = [riddle for name in draws.STYLES for riddle in make_dataset(name).riddles]
    asked = [fact for riddle in measured for fact in riddle.facts]
    assert sum(fact in known_facts() for fact in asked) / len(asked) > 0.25


def written(transcript):
    """The texts that the agent writes in a transcript."""
    return [transcript.text[one.start : one.end].strip() for one in transcript.spans]


def test_readings_are_answered_at_once_and_what_leads_there_is_inferred(library):
    rng, longest = random.Random(7), []
    for stage in READING * 10:
        riddle = draws.draw_agent_question(library, "musique", rng)
        if transcript := drill_reading(library, riddle, stage, rng):
            assert {span.stage for span in transcript.spans} == {stage}
            values = [library.world.value(*fact) for fact in riddle.facts]
            assert written(transcript) == values[::-1]  # first the whole question's
            pages, *questions = transcript.text.split("\n\n\n")
            unread = [fact for fact in riddle.facts if library.world.value(*fact) not in pages]
            assert set(unread) <= set(known_facts()) and len(questions) == len(values) - 1
            assert [fact for _, fact in transcript.decided] == list(riddle.facts)[::-1]
            answer = transcript.spans[0].start + 1
            inferred = [(back, fact) for at, fact, back in transcript.inferred if at == answer]
            assert inferred == list(enumerate(riddle.facts[-2::-1], start=1))
            longest.append(len(inferred))
    assert len(longest) > 5 and max(longest) > 1


def test_recalls_are_of_known_facts_and_keep_their_places_when_joined():
    rng = random.Random(3)
    riddles = [draws.draw_known(rng) for _ in range(12)]
    assert not {riddle.meaning for riddle in riddles} & draws.measured_meanings()
    transcript = drill_recall(draws.famous_library(), riddles, rng)
    assert written(transcript) == [riddle.answer for riddle in riddles]
    assert [riddle.text in transcript.text for riddle in riddles] == [True] * 12
    decided = [(at, known_facts()[fact]) for at, fact in transcript.decided]
    assert len(decided) > 4
    assert all(transcript.text.startswith(value, at) for at, value in decided)


def test_a_vote_repeats_the_right_thought_and_names_its_choice(library):
    rng, votes = random.Random(2), Counter()
    system = draws.taught_systems()["Tree-of-Thought w/ IR"]
    for _ in range(12):
        for turn in draws.play_turns(system, draw_mind(library, "musique", rng)):
            if turn.stage == "tree_of_thought/vote":
                match = re.fullmatch(r"(.+) The best choice is (\d)\.", turn.received)
                thought, number = match[1].replace("It is", "The answer is", 1), match[2]
                choice = re.search(rf"Choice {number}:\n(.+?)\n\n", turn.prompt, re.DOTALL)[1]
                assert choice.endswith(thought)
                votes[number] += 1
                votes["of answers"] += thought.startswith("The answer is")
    assert len(votes) > 2
    # where the right thought is not known, the vote is for the first choice
    choices = "Choice 1:\nThought 1: A lives in B.\n\nChoice 2:\nThought 1: C lives in D."
    situation = Situation("tree_of_thought", "vote", None, (), (), {"choices": choices})
    mind = draw_mind(library, "musique", rng)
    mind.notes["right"] = None
    assert tree_of_thought_vote(mind, situation) == "A lives in B. The best choice is 1."


def test_a_comparison_can_come_out_the_other_way(library):
    riddle = draws.draw_agent_question(library, "strategyqa", random.Random(9))
    text, answer = turn_round("Thus, A was born before B came out.", "Yes", riddle)
    assert (text, answer) == ("Thus, A was born after B came out.", "No")
    text, answer = turn_round("Thus, A and B lie on different rivers.", "No", riddle)
    assert (text, answer) == ("Thus, A and B lie on the same river.", "Yes")
