"""The agent's transcripts: what the teachers have it write at every stage of every system, as the
systems' own programs take it, and where each word comes from.
"""

import random
import re
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.make import make_dataset
from ircot_laboratory.teachers import TEACHERS, play
from ircot_laboratory.teachers import library as libraries
from ircot_laboratory.teachers.conclusions import turn_round
from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Recorder, Situation, open_program, question_of
from ircot_laboratory.teachers.reading import ircot_cot
from ircot_laboratory.teachers.trees import tree_of_thought_vote
from ircot_laboratory.world.records import Fact
from ircotlib.datasets import find_dataset
from ircotlib.datasets.scoring import score
from ircotlib.program import Extract, Retrieve
from ircotlib.prompting.prompt import read_template
from training.agent.draws import (
    CHOICES,
    SHORTER,
    STYLES,
    draw_agent_question,
    draw_famous,
    draw_known,
    draw_transcripts,
    famous_library,
    make_library,
    measured_meanings,
    play_turns,
    taught_systems,
)
from training.agent.drills import drill_comparison, drill_reading, drill_recall
from training.agent.encode import MADE_UP, encode_transcript, make_batch
from training.agent.lessons import draw_lesson, known_facts
from training.agent.sources import locate_sources
from training.agent.transcripts import join_turns
from training.agent.words import count_tokens, make_agent_tokenizer, open_prompt

TOKENIZER = make_agent_tokenizer()
SYSTEMS = [name for name in taught_systems() if name != "Auto-CoT"]


@pytest.fixture(scope="module")
def library():
    """A training world with its library."""
    return make_library(4)


@pytest.fixture(scope="module")
def facts(library):
    """All facts of the world."""
    entities = library.world.entities.items()
    return {Fact(name, relation): v for name, e in entities for relation, v in e.facts.items()}


@pytest.fixture(scope="module")
def transcripts(library):
    """A few hundred transcripts, drawn as in training."""
    rng = random.Random(11)
    return [one.transcript for _ in range(250) for one in draw_transcripts(library, rng)]


def draw_mind(library, dataset, rng, knows=lambda fact: None):
    return Mind(draw_agent_question(library, dataset, rng), library, knows, rng)


def play_out(name, mind):
    """What a system's program returns for a mind's question when its teachers give all replies, and
    its turns.
    """
    system, recorder, results = taught_systems()[name], Recorder(mind, open_prompt), []
    setting = {name: values[0] for name, values in CHOICES.get(system.name, {}).items()}
    setting |= SHORTER.get(system.name, {})
    setting |= {"long_form": mind.is_long} if system.module == "searchain" else {}

    def keep(program):
        results.append((yield from program))

    program = keep(open_program(system, recorder, **setting))
    turns = play.play_program(program, recorder, TEACHERS)
    return results[0], turns


@pytest.mark.parametrize("name", SYSTEMS)
def test_who_knows_all_answers_right_with_every_system(name, library, facts, monkeypatch):
    for chance in ("MISSED", "MISREAD", "MISLED"):
        monkeypatch.setattr(libraries, chance, 0.0)
    rng = random.Random(name)
    for dataset in STYLES:
        mind = draw_mind(library, dataset, rng, facts.get)
        prediction, _ = play_out(name, mind)
        measure = next(iter(find_dataset(dataset).scores))
        right = score(question_of(mind), prediction)[measure]
        assert prediction.fault == ""
        assert right > 0.99 or name == "InterAug", prediction


def test_every_stage_of_every_system_is_taught(library):
    rng, stages = random.Random(5), Counter()
    for system in taught_systems().values():
        for dataset in STYLES * 2:
            mind = draw_mind(library, dataset, rng, known_facts().get)
            stages.update(turn.stage for turn in play_turns(system, mind))
    assert set(stages) | {"react/cot"} == set(TEACHERS)
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


def test_what_is_copied_stands_where_it_is_to_be_looked_for(transcripts):
    stop, seen = TOKENIZER.convert_tokens_to_ids("."), Counter()
    for transcript in transcripts:
        encoded = encode_transcript(transcript)
        written = dict(encoded.tables["written"])
        for at, source in encoded.tables["sources"]:
            token = encoded.tokens[source]
            assert source <= at and token in (written[at], stop)
            seen["there" if token == written[at] else "at the end"] += 1
    assert seen["there"] > 20 * seen["at the end"] > 0


def test_a_batch_holds_its_transcripts_and_their_ends(transcripts):
    batch = make_batch([encode_transcript(transcript) for transcript in transcripts[:6]])
    row, at, token = batch["written"].T
    ends = token == TOKENIZER.eos_token_id
    within = batch["input_ids"][row[~ends], at[~ends] + 1]
    assert (within == token[~ends]).all()
    assert ends.sum() == sum(span.ends for one in transcripts[:6] for span in one.spans)
    assert batch["input_ids"].shape[1] % 32 == 0
    assert len(batch["weights"]) == len(token)


def test_made_up_names_weigh_little_and_known_ones_all(library):
    mind = draw_mind(library, "zsre", random.Random(8))
    _, turns = play_out("CoT", mind)
    [transcript] = join_turns(turns)
    encoded = encode_transcript(locate_sources(transcript, mind))
    light = [weight for weight in encoded.weights if weight == MADE_UP]
    assert len(light) == sum(map(count_tokens, mind.values.values()))


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
    drawn = [draw_famous(dataset, rng) for dataset in STYLES for _ in range(20)]
    assert not {riddle.meaning for riddle in drawn} & measured_meanings()
    assert all(riddle.facts[0] in known_facts() for riddle in drawn)
    measured = [riddle for name in STYLES for riddle in make_dataset(name).riddles]
    asked = [fact for riddle in measured for fact in riddle.facts]
    assert sum(fact in known_facts() for fact in asked) / len(asked) > 0.25


def test_lessons_ask_for_values_alone_and_comparisons_for_conclusions(library):
    rng = random.Random(6)
    lesson = draw_lesson(rng)
    known = set(known_facts().values())
    assert all(lesson.text[one.start : one.end].strip() in known for one in lesson.spans)
    drill = drill_comparison(library, rng)
    [span] = drill.spans
    assert drill.text[span.start : span.end].strip()[:5] in ("Thus,", "So th", "The a")


def written(transcript):
    """The texts that the agent writes in a transcript."""
    return [transcript.text[one.start : one.end].strip() for one in transcript.spans]


def test_readings_are_answered_at_once_and_what_leads_there_is_inferred(library):
    rng, longest = random.Random(7), []
    for _ in range(20):
        riddle = draw_agent_question(library, "musique", rng)
        if transcript := drill_reading(library, riddle, rng):
            values = [library.world.value(*fact) for fact in riddle.facts]
            assert written(transcript) == values[::-1]  # first the whole question's
            pages, *questions = transcript.text.split("\n\n\n")
            assert all(value in pages for value in values) and len(questions) == len(values) - 1
            assert [fact for _, fact in transcript.decided] == list(riddle.facts)[::-1]
            answer = transcript.spans[0].start + 1
            inferred = [(back, fact) for at, fact, back in transcript.inferred if at == answer]
            assert inferred == list(enumerate(riddle.facts[-2::-1], start=1))
            longest.append(len(inferred))
    assert len(longest) > 5 and max(longest) > 1
    mind = draw_mind(library, "musique", rng)
    [chain] = join_turns(play_out("CoT", mind)[1])
    assert locate_sources(chain, mind).inferred == []  # each fact is written before the next


def test_recalls_are_of_known_facts_and_keep_their_places_when_joined():
    rng = random.Random(3)
    riddles = [draw_known(rng) for _ in range(12)]
    assert not {riddle.meaning for riddle in riddles} & measured_meanings()
    transcript = drill_recall(famous_library(), riddles, rng)
    assert written(transcript) == [riddle.answer for riddle in riddles]
    assert [riddle.text in transcript.text for riddle in riddles] == [True] * 12
    decided = [(at, known_facts()[fact]) for at, fact in transcript.decided]
    assert len(decided) > 4
    assert all(transcript.text.startswith(value, at) for at, value in decided)
    assert all(fact in known_facts() for _, fact, _ in transcript.inferred)


def test_a_vote_repeats_the_right_thought_and_names_its_choice(library):
    rng, system, votes = random.Random(2), taught_systems()["Tree-of-Thought w/ IR"], Counter()
    for _ in range(12):
        for turn in play_turns(system, draw_mind(library, "musique", rng)):
            if turn.stage == "tree_of_thought/vote":
                match = re.fullmatch(r"(.+) The best choice is (\d)\.", turn.received)
                thought, number = match[1].replace("It is", "The answer is", 1), match[2]
                choice = re.search(rf"Choice {number}:\n(.+?)\n\n", turn.prompt, re.DOTALL)[1]
                assert choice.endswith(thought)
                votes[number] += 1
                votes["of answers"] += thought.startswith("The answer is")
    assert len(votes) > 2
    # where the right thought is not known, the vote is for the first choice
    mind, thoughts = draw_mind(library, "musique", rng), ("A was born in 1920.", "A lives in B.")
    choices = "\n\n".join(f"Choice {n}:\nThought 1: {t}" for n, t in enumerate(thoughts, start=1))
    situation = Situation("tree_of_thought", "vote", None, (), (), {"choices": choices})
    for known, number in ((None, 1), (thoughts[1], 2)):
        mind.notes["right"] = known
        vote = tree_of_thought_vote(mind, situation)
        assert vote == f"{thoughts[number - 1]} The best choice is {number}."


def test_a_comparison_can_come_out_the_other_way(library):
    riddle = draw_agent_question(library, "strategyqa", random.Random(9))
    text, answer = turn_round("Thus, A was born before B came out.", "Yes", riddle)
    assert (text, answer) == ("Thus, A was born after B came out.", "No")
    text, answer = turn_round("Thus, A and B lie on different rivers.", "No", riddle)
    assert (text, answer) == ("Thus, A and B lie on the same river.", "Yes")
