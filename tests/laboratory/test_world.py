"""The laboratory: deterministic, consistent, and disjoint from the training worlds."""

import pytest

from ircot_laboratory.questions.questions import DATASETS, make_riddles
from ircot_laboratory.world.encyclopedia import make_popular, make_world
from ircot_laboratory.world.names import is_held_out
from ircot_laboratory.world.pages import SHORTEST


@pytest.fixture(scope="module")
def worlds():
    return {dataset: make_world(0, 2400, dataset) for dataset in DATASETS}


@pytest.fixture(scope="module")
def riddles(worlds):
    return {d: make_riddles(world, 600, d, 0) for d, world in worlds.items()}


def test_a_world_has_the_same_facts_in_every_data_set_and_others_with_another_seed(
    worlds,
):
    first = worlds["hotpotqa"]
    assert len(first.pages) == 2439
    assert all(world.entities == first.entities for world in worlds.values())
    assert len({str(world.pages) for world in worlds.values()}) == len(worlds)
    assert make_world(1, 300).entities != make_world(0, 300).entities


def test_every_fact_is_stated_once_where_its_span_says(worlds):
    for dataset, world in worlds.items():
        for name, entity in world.entities.items():
            page = world.pages[name]
            spans = [(passage, span) for passage in page for span in passage.spans]
            assert sorted(span.relation for _, span in spans) == sorted(entity.facts)
            for passage, span in spans:
                value = entity.facts[span.relation]
                assert passage.text[span.start : span.end] == value
            assert len(page) <= (2 if dataset == "iirc" else 1)
            for passage in page:
                assert passage.title == name and name in passage.text.split(".")[0]
                assert len(passage.text.split()) >= SHORTEST
    assert sum(map(len, worlds["iirc"].pages.values())) == 3470


def test_chains_state_their_facts_in_order_and_end_in_the_answer(worlds, riddles):
    for riddle in (riddle for drawn in riddles.values() for riddle in drawn):
        assert riddle.thoughts[-1].text == f"So the answer is: {riddle.answer}."
        assert len(riddle.facts) == len(set(riddle.facts))
        for thought in (thought for thought in riddle.thoughts if thought.fact):
            value = worlds[riddle.dataset].value(*thought.fact)
            assert thought.fact.subject in thought.text and value in thought.text
        # no later subject is named in the question
        if not riddle.compared and not riddle.given:
            first, *later = riddle.facts
            assert first.subject in riddle.text and riddle.answer not in riddle.text
            assert not any(fact.subject in riddle.text for fact in later)


def facts_of(entities):
    return {(e.name, *fact) for e in entities.values() for fact in e.facts.items()}


def test_held_out_worlds_share_nothing_with_training_worlds_but_what_is_popular(worlds):
    popular = make_popular()
    assert len(popular) == 39
    for seed, (size, variety) in enumerate([(600, 0.35), (600, 1.0)]):
        trained = make_world(1_000_000 + seed, size, held_out=False, variety=variety)
        held_out = make_world(seed, 2400)
        unpopular = held_out.entities.keys() - popular.keys()
        facts = facts_of(trained.entities)
        assert not unpopular & ({*trained.entities} | {value for *_, value in facts})
        assert facts & facts_of(held_out.entities) == facts_of(popular)
        text = " ".join(p.text for page in trained.pages.values() for p in page)
        assert not any(name in text for name in unpopular)
    assert all(map(is_held_out, worlds["iirc"].entities.keys() - popular.keys()))
