"""The miniature encyclopedia: deterministic, consistent, disjoint from the training worlds, and hard for one-step retrieval."""

import random

import pytest

from ircotlib.datasets.mini import make_mini, write_demonstrations
from ircotlib.paths import PROMPTS
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.world.encyclopedia import make_world
from ircotlib.world.names import draw_names, is_held_out
from ircotlib.world.questions import draw_riddle, make_riddles

PINNED_TITLES = ["Yuri Ashshaw", "Basil Penby", "Corshaven Republic"]
PINNED_QUESTIONS = [
    "Which album came out last, Cloudy Tower or Electric Ballad?",
    "Where did the star of the film Patient Lantern die?",
    "Where was the leader of the country of Port Eskhaven born?",
]


@pytest.fixture(scope="module")
def world():
    return make_world(0, 2400)


@pytest.fixture(scope="module")
def riddles(world):
    return make_riddles(world, 600, 0)


def test_counts_and_records_of_the_mini_data_set():
    questions, paragraphs = make_mini()
    assert (len(questions), len(paragraphs)) == (600, 2400)
    assert [paragraphs[i].title for i in (0, 9, -1)] == PINNED_TITLES
    assert [questions[i].text for i in (0, 9, -1)] == PINNED_QUESTIONS
    assert make_mini() == (questions, paragraphs)
    assert make_mini(seed=1)[1] != paragraphs
    assert len({p.id for p in paragraphs}) == len({p.title for p in paragraphs}) == 2400
    ids = {p.id for p in paragraphs}
    assert all(set(q.gold) <= ids for q in questions)


def test_every_paragraph_states_its_facts_where_it_says(world):
    for name, entity in world.entities.items():
        text = world.paragraphs[name].text
        assert {span.relation for span in world.spans[name]} == set(entity.facts)
        assert all(text[span.start : span.end] == entity.facts[span.relation] for span in world.spans[name])
        assert text.startswith(name)


def test_answers_follow_from_the_facts(world, riddles):
    for riddle in riddles:
        values = [world.entities[subject].facts[relation] for subject, relation in riddle.facts]
        if riddle.kind == "comparison":
            first, last = sorted((0, 1), key=lambda i: int(values[i]))
            assert riddle.answer == riddle.facts[first if " first" in riddle.text else last][0]
        elif riddle.kind == "same":
            assert riddle.answer == ("yes" if values[0] == values[1] else "no")
        else:
            assert [subject for subject, _ in riddle.facts[1:]] == values[:-1]
            assert riddle.answer == values[-1]
        assert all(value in thought for value, thought in zip(values, riddle.thoughts, strict=False))
        assert riddle.thoughts[-1] == f"So the answer is: {riddle.answer}."


def test_later_subjects_are_not_named_in_the_question(riddles):
    for riddle in riddles:
        if riddle.kind.endswith("hop"):
            assert riddle.facts[0][0] in riddle.text
            assert not any(subject in riddle.text for subject, _ in riddle.facts[1:])


def test_training_worlds_share_no_name_with_held_out_worlds(world):
    training = [make_world(1_000_000 + i, 600, held_out=False, variety=v) for i, v in enumerate((0.35, 0.6, 1.0))]
    names = {name for trained in training for name in trained.entities}
    assert not names & set(world.entities)
    assert all(map(is_held_out, world.entities))
    assert not any(map(is_held_out, names))


def test_too_many_names_are_refused():
    with pytest.raises(ValueError, match="100000 names of kind 'city' wanted"):
        draw_names("city", 100_000, set(), random.Random(0), held_out=True)


def test_later_paragraphs_are_found_by_the_right_thought_only(world, riddles, tmp_path):
    """What makes IRCoT worth while: the question does not lead to later paragraphs, the sentence before does."""
    index = open_index(write_corpus(tmp_path / "corpus", world.paragraphs.values()), tmp_path / "index")
    by_question, by_thought, first = [], [], []
    for riddle in riddles[:200]:
        found = {p.title for p, _ in index.search(riddle.text, 15)}
        first.append(riddle.facts[0][0] in found)
        if riddle.kind.endswith("hop"):
            for (subject, _), thought in zip(riddle.facts[1:], riddle.thoughts, strict=False):
                by_question.append(subject in found)
                by_thought.append(subject in {p.title for p, _ in index.search(thought, 4)})
    assert sum(first) / len(first) > 0.98
    assert sum(by_question) / len(by_question) < 0.10
    assert sum(by_thought) / len(by_thought) > 0.98


def test_every_kind_of_question_can_be_drawn_from_a_small_world():
    small, rng = make_world(7, 300), random.Random(0)
    for kind in ("1hop", "2hop", "3hop", "4hop", "comparison", "same"):
        assert draw_riddle(small, rng, kind).kind == kind


def test_kept_demonstrations_are_what_the_generator_makes(tmp_path):
    for path in write_demonstrations(tmp_path):
        assert path.read_text() == (PROMPTS / "mini" / path.name).read_text()


def test_a_world_too_small_for_the_questions_is_refused():
    with pytest.raises(ValueError, match="make the world larger"):
        make_riddles(make_world(7, 60), 600, 0)
