"""The agent's transcripts: what the teachers have it write at every stage of every system, as the
systems' own programs take it, and where each word comes from.
"""

import random
import re
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from ircot_laboratory.teachers import TEACHERS
from ircot_laboratory.teachers import library as agent_library
from ircot_laboratory.teachers import play as agent_play
from ircot_laboratory.teachers.conclusions import turn_round
from ircot_laboratory.teachers.library import Library
from ircot_laboratory.teachers.mind import Mind
from ircot_laboratory.teachers.play import Asked, Recorder, play_program, question_of
from ircot_laboratory.teachers.reading import reason
from ircot_laboratory.teachers.trees import vote
from ircot_laboratory.world.records import Fact
from ircotlib.datasets import find_dataset
from ircotlib.datasets.scoring import score
from ircotlib.program import Extract, Retrieve
from ircotlib.prompting.prompt import read_template
from training.agent.draws import (
    CHOICES,
    SHORTER,
    STYLES,
    draw_famous,
    draw_known,
    draw_question,
    draw_transcripts,
    famous_library,
    make_library,
    measured,
    play_turns,
    taught_systems,
)
from training.agent.drills import draw_comparison, draw_reading, recall
from training.agent.encode import MADE_UP, encode_transcript, make_batch
from training.agent.lessons import draw_lesson, known_facts
from training.agent.sources import locate
from training.agent.transcripts import join_turns
from training.agent.words import count_tokens, make_agent_tokenizer

TOKENIZER = make_agent_tokenizer()
SYSTEMS = [name for name in taught_systems() if name != "Auto-CoT"]


@pytest.fixture(scope="module")
def library():
    return make_library(4)


@pytest.fixture(scope="module")
def facts(library):
    """All facts of the library's world."""
    entities = library.world.entities.items()
    return {Fact(name, relation): v for name, e in entities for relation, v in e.facts.items()}


@pytest.fixture(scope="module")
def transcripts(library):
    """A few hundred transcripts, drawn as in training."""
    rng = random.Random(11)
    return [one for _ in range(250) for one in draw_transcripts(library, rng)]


def outcome(system, mind):
    """What a system's program returns for a mind's question when its teachers give all replies."""
    recorder, found = Recorder(mind), []
    prompts = {stage: recorder.writer(system.module, stage) for stage in system.stages}
    setting = {name: values[0] for name, values in CHOICES.get(system.name, {}).items()}
    setting |= SHORTER.get(system.name, {})
    setting |= {"long_form": mind.is_long} if system.module == "searchain" else {}
    given = agent_play.given(system, recorder, prompts)

    def keep(program):
        found.append((yield from program))

    program = system.program(question_of(mind), **given, **setting)
    turns = play_program(keep(program), recorder, mind, TEACHERS)
    return found[0], turns


@pytest.mark.parametrize("name", SYSTEMS)
def test_who_knows_all_answers_right_with_every_system(name, library, facts, monkeypatch):
    for chance in ("MISSED", "MISREAD", "MISLED"):
        monkeypatch.setattr(agent_library, chance, 0.0)
    rng, system = random.Random(name), taught_systems()[name]
    for dataset in STYLES:
        mind = Mind(draw_question(library, dataset, rng), library, facts.get, rng)
        prediction, _ = outcome(system, mind)
        measure = next(iter(find_dataset(dataset).scores))
        right = score(question_of(mind), prediction)[measure]
        assert prediction.fault == ""
        assert right > 0.99 or name == "InterAug", prediction


def test_every_stage_of_every_system_is_taught(library):
    rng, stages = random.Random(5), Counter()
    for system in taught_systems().values():
        for dataset in STYLES * 2:
            mind = Mind(draw_question(library, dataset, rng), library, known_facts().get, rng)
            stages.update(turn.stage for turn in play_turns(system, mind))
    assert set(stages) | {"react/cot"} == set(TEACHERS)
    assert read_template("react", "cot", "agent") == read_template("cot", "cot", "agent")


def test_a_transcript_is_what_the_program_asks(library):
    rng = random.Random(2)
    mind = Mind(draw_question(library, "musique", rng), library, {}.get, rng)
    _, turns = outcome(taught_systems()["Self-Ask"], mind)
    [whole] = [t for t in join_turns(turns) if "Follow up:" in t.text]
    asked = [turn for turn in turns if turn.stage == "self_ask/ask"]
    assert all(whole.text.startswith(turn.prompt) for turn in asked)
    written = "".join(whole.text[span.start : span.end] for span in whole.spans)
    assert written.count("Follow up:") == len(mind.steps)
    assert whole.spans[-1].ends and whole.text.endswith(f"{mind.conclude()[1]}.")
    answers = [one.end() for one in re.finditer("Intermediate answer: ", whole.text)]
    own = [at for at in answers if any(span.start <= at < span.end for span in whole.spans)]
    assert len(answers) == len(mind.steps) and len(own) < len(answers)


def test_the_tokenizer_gives_back_what_the_agent_writes(transcripts):
    unknown = TOKENIZER.unk_token_id
    for drawn in transcripts:
        text = drawn.transcript.text
        assert unknown not in TOKENIZER.encode(text), text
        for span in drawn.transcript.spans:
            written = text[span.start : span.end].strip()
            assert TOKENIZER.decode(TOKENIZER.encode(written)) == written


def test_a_prompt_is_the_beginning_of_its_transcript_in_tokens_too(transcripts):
    for drawn in transcripts:
        tokens = TOKENIZER.encode(drawn.transcript.text)
        for span in drawn.transcript.spans:
            prompt = TOKENIZER.encode(drawn.transcript.text[: span.start].rstrip())
            assert tokens[: len(prompt)] == prompt


def test_what_is_copied_stands_where_it_is_to_be_looked_for(transcripts):
    stop, seen = TOKENIZER.convert_tokens_to_ids("."), Counter()
    for drawn in transcripts:
        encoded = encode_transcript(drawn.transcript)
        written = dict(encoded.tables["written"])
        for at, source in encoded.tables["sources"]:
            assert source <= at
            token = encoded.tokens[source]
            seen["there" if token == written[at] else "at the end"] += 1
            assert token in (written[at], stop)
    assert seen["there"] > 20 * seen["at the end"] > 0


def test_a_batch_holds_its_transcripts_and_their_ends(transcripts):
    rows = [encode_transcript(one.transcript) for one in transcripts[:6]]
    batch = make_batch(rows)
    row, at, token = batch["written"].T
    ends = token == TOKENIZER.eos_token_id
    within = batch["input_ids"][row[~ends], at[~ends] + 1]
    assert (within == token[~ends]).all()
    assert ends.sum() == sum(span.ends for one in transcripts[:6] for span in one.transcript.spans)
    assert batch["input_ids"].shape[1] % 32 == 0
    assert len(batch["weights"]) == len(token)


def test_made_up_names_weigh_little_and_known_ones_all(library):
    rng = random.Random(8)
    mind = Mind(draw_question(library, "zsre", rng), library, {}.get, rng)
    _, turns = outcome(taught_systems()["CoT"], mind)
    [transcript] = join_turns(turns)
    encoded = encode_transcript(locate(transcript, mind))
    light = [weight for weight in encoded.weights if weight == MADE_UP]
    assert len(light) == sum(map(count_tokens, mind.values.values()))


def test_after_a_corrected_sentence_the_chain_goes_on_from_it(library):
    rng, corrected = random.Random(1), 0
    for _ in range(12):
        mind = Mind(draw_question(library, "musique", rng), library, {}.get, rng)
        said, fact = tuple(mind.find_all()), mind.steps[0].fact
        page = next(one for one in library.backend.corpus if one.title == fact.subject)
        if len(said) < 3 or not (true := mind.is_stated(0, [page])) or true == mind.values[0]:
            continue
        asked = Asked("IRCoT", "ircot/cot", None, (page,), said, {})
        first = reason(mind, asked)  # step 0 as it is on its page, then nothing is known
        assert true in first.text and not first.ends
        again = reason(mind, asked._replace(thoughts=(*said, first.text), paragraphs=()))
        assert again.text.startswith(mind.say(1))
        corrected += 1
    assert corrected > 3


def test_an_observation_corrects_what_searchain_made_up(library):
    rng, system = random.Random(1), taught_systems()["SearChain"]
    kinds = Counter()
    for _ in range(30):
        mind = Mind(draw_question(library, "musique", rng), library, {}.get, rng)
        prediction, turns = outcome(system, mind)
        kinds.update(node.feedback for node in prediction.nodes)
        assert prediction.fault == ""
        assert turns[-1].stage == "searchain/chain"
    assert kinds["verification"] > 5 and kinds["completion"] > 5


def test_the_library_finds_reads_and_sometimes_misleads(library):
    rng, world = random.Random(3), library.world
    fact = next(Fact(e.name, "director") for e in world.by_kind["film"] if "director" in e.facts)
    query = f"Who is the director of {fact.subject}?"
    found = [library.answer(Retrieve(query, 1), None, rng) for _ in range(200)]
    missed = sum(one[0].title != fact.subject for one in found)
    assert 3 < missed < 40
    paragraph = next(one[0] for one in found if one[0].title == fact.subject)
    read = [library.answer(Extract(query, paragraph), lambda _: fact, rng) for _ in range(300)]
    right = [one.text == world.value(*fact) for one in read]
    assert 0.9 < sum(right) / len(right) < 1
    other = [library.answer(Extract(query, paragraph), lambda _: None, rng) for _ in range(300)]
    assert 0.02 < sum(one.confidence > 1.5 for one in other) / len(other) < 0.35


def test_questions_about_what_is_known_by_heart_are_never_those_measured():
    rng = random.Random(4)
    drawn = [draw_famous(dataset, rng) for dataset in STYLES for _ in range(20)]
    assert not {riddle.meaning for riddle in drawn} & measured()
    assert all(riddle.facts[0] in known_facts() for riddle in drawn)


def test_lessons_ask_for_values_alone_and_comparisons_for_conclusions(library):
    rng = random.Random(6)
    lesson = draw_lesson(rng)
    known = set(known_facts().values())
    assert all(lesson.text[one.start : one.end].strip() in known for one in lesson.spans)
    drill = draw_comparison(library, rng)
    [span] = drill.spans
    assert drill.text[span.start : span.end].strip()[:5] in ("Thus,", "So th", "The a")


def written(transcript):
    """The texts that the agent writes in a transcript."""
    return [transcript.text[one.start : one.end].strip() for one in transcript.spans]


def test_readings_are_answered_at_once_the_whole_question_first(library):
    rng, read = random.Random(7), 0
    for _ in range(20):
        riddle = draw_question(library, "musique", rng)
        if transcript := draw_reading(library, riddle, rng):
            read += 1
            values = [library.world.value(*fact) for fact in riddle.facts]
            assert written(transcript) == values[::-1]
            pages, asked = transcript.text.split("\n\n\n", 1)[0], transcript.text.split("\n\n\n")
            assert all(value in pages for value in values) and len(asked) == len(values)
            assert [fact for _, fact in transcript.decided] == list(riddle.facts)[::-1]
    assert read > 5


def test_what_is_not_written_is_inferred_fact_by_fact(library):
    rng, longest = random.Random(7), 0
    for _ in range(20):
        riddle = draw_question(library, "musique", rng)
        if transcript := draw_reading(library, riddle, rng):
            answer = transcript.spans[0].start + 1
            found = [(one.back, one.fact) for one in transcript.inferred if one.at == answer]
            assert found == list(enumerate(riddle.facts[-2::-1], start=1))
            longest = max(longest, len(found))
    assert longest > 1
    mind = Mind(draw_question(library, "musique", rng), library, {}.get, rng)
    _, turns = outcome(taught_systems()["CoT"], mind)
    [chain] = join_turns(turns)
    assert locate(chain, mind).inferred == []  # each fact is written before the next


def test_recalls_are_of_known_facts_and_keep_their_places_when_joined():
    rng = random.Random(3)
    riddles = [draw_known(rng) for _ in range(12)]
    assert not {riddle.meaning for riddle in riddles} & measured()
    transcript = recall(famous_library(), riddles, rng)
    assert written(transcript) == [riddle.answer for riddle in riddles]
    assert [riddle.text in transcript.text for riddle in riddles] == [True] * 12
    decided = [(at, known_facts()[fact]) for at, fact in transcript.decided]
    assert len(decided) > 4
    assert all(transcript.text.startswith(value, at) for at, value in decided)
    assert all(fact in known_facts() for _, fact, _ in transcript.inferred)


def test_a_vote_repeats_the_right_thought_and_names_its_choice(library):
    rng, system, votes = random.Random(2), taught_systems()["Tree-of-Thought w/ IR"], Counter()
    for _ in range(12):
        mind = Mind(draw_question(library, "musique", rng), library, {}.get, rng)
        for turn in play_turns(system, mind):
            if turn.stage == "tree_of_thought/vote":
                found = re.fullmatch(r"(.+) The best choice is (\d)\.", turn.taken)
                thought, number = found[1].replace("It is", "The answer is", 1), found[2]
                choice = re.search(rf"Choice {number}:\n(.+?)\n\n", turn.prompt, re.DOTALL)[1]
                assert choice.endswith(thought)
                votes[number] += 1
                votes["of answers"] += thought.startswith("The answer is")
    assert len(votes) > 2


def test_a_vote_on_what_is_not_known_is_for_the_first_choice(library):
    rng = random.Random(3)
    mind = Mind(draw_question(library, "musique", rng), library, {}.get, rng)
    thoughts = ("Ada Marby was born in 1920.", "Ada Marby was born in 1931.")
    choices = "\n\n".join(f"Choice {n}:\nThought 1: {t}" for n, t in enumerate(thoughts, start=1))
    asked = Asked("tree_of_thought", "vote", None, (), (), {"choices": choices})
    for known, number in ((None, 1), (thoughts[1], 2)):
        mind.notes["next"] = known
        assert vote(mind, asked) == f"{thoughts[number - 1]} The best choice is {number}."


def test_a_comparison_can_come_out_the_other_way():
    library, rng = make_library(5), random.Random(9)
    riddle = draw_question(library, "strategyqa", rng)
    text, answer = turn_round("Thus, A was born before B came out.", "Yes", riddle)
    assert (text, answer) == ("Thus, A was born after B came out.", "No")
    text, answer = turn_round("Thus, A and B lie on different rivers.", "No", riddle)
    assert (text, answer) == ("Thus, A and B lie on the same river.", "Yes")


def test_a_quarter_of_the_facts_of_the_default_laboratory_are_known_by_heart():
    from ircot_laboratory.make import make_dataset

    asked = [fact for name in STYLES for one in make_dataset(name).riddles for fact in one.facts]
    assert sum(fact in known_facts() for fact in asked) / len(asked) > 0.25
    assert isinstance(make_library(7), Library)
