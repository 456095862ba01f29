"""The encyclopedia of the laboratory and its questions: deterministic, consistent, and disjoint
from the training worlds.
"""

import random
from collections import Counter
from itertools import combinations

import pytest

from ircot_laboratory.questions.draw import Draw
from ircot_laboratory.questions.questions import DATASETS, make_riddles
from ircot_laboratory.world.encyclopedia import make_entities, make_popular, make_world
from ircot_laboratory.world.names import PARTS, draw_names, is_held_out
from ircot_laboratory.world.pages import SHORTEST
from ircot_laboratory.world.relations import KINDS as RECORDS

KINDS = {
    "hotpotqa": {"bridge": 450, "comparison": 150},
    "2wikimultihopqa": {
        "compositional": 240, "comparison": 120, "bridge_comparison": 120, "inference": 120,
    },
    "musique": {"2hop": 300, "3hop1": 180, "4hop1": 120},
    "iirc": {"span": 300, "age": 150, "count": 150},
}  # fmt: skip


@pytest.fixture(scope="module")
def worlds():
    return {dataset: make_world(0, 2400, dataset) for dataset in DATASETS}


@pytest.fixture(scope="module")
def riddles(worlds):
    return {dataset: make_riddles(world, 600, dataset, 0) for dataset, world in worlds.items()}


def test_a_world_has_the_same_facts_in_every_data_set_and_others_with_another_seed(worlds):
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
                assert passage.text[span.start : span.end] == entity.facts[span.relation]
            assert len(page) <= (2 if dataset == "iirc" else 1)
            for passage in page:
                assert passage.title == name and name in passage.text.split(".")[0]
                assert len(passage.text.split()) >= SHORTEST
    assert sum(map(len, worlds["iirc"].pages.values())) == 3470


def test_nobody_is_married_twice_and_one_page_of_a_couple_says_so(worlds):
    for world in (worlds["iirc"], make_world(1_000_000, 600, held_out=False, variety=0.35)):
        couples = [
            (e.name, e.facts["spouse"]) for e in world.entities.values() if "spouse" in e.facts
        ]
        married = [name for couple in couples for name in couple]
        assert len(set(married)) == len(married) > 50


def test_kinds_of_questions_have_their_shares(riddles):
    assert {d: Counter(riddle.kind for riddle in drawn) for d, drawn in riddles.items()} == KINDS
    for dataset in DATASETS:
        assert len({riddle.text for riddle in riddles[dataset]}) == 600
        assert len(make_riddles(make_world(3, 1200, dataset), 51, dataset, 3)) == 51


def test_chains_state_their_facts_in_order_and_end_in_the_answer(worlds, riddles):
    for riddle in (riddle for drawn in riddles.values() for riddle in drawn):
        assert riddle.thoughts[-1].text == f"So the answer is: {riddle.answer}."
        assert len(riddle.facts) == len(set(riddle.facts))
        for thought in (thought for thought in riddle.thoughts if thought.fact):
            value = worlds[riddle.dataset].value(*thought.fact)
            assert thought.fact.subject in thought.text and value in thought.text
        if not riddle.compared and not riddle.given:  # no later subject is named in the question
            first, *later = riddle.facts
            assert first.subject in riddle.text and riddle.answer not in riddle.text
            assert not any(fact.subject in riddle.text for fact in later)


def facts_of(entities):
    return {(name, *fact) for name, entity in entities.items() for fact in entity.facts.items()}


def test_held_out_worlds_share_nothing_with_training_worlds_but_what_is_popular(worlds):
    popular = make_popular()
    assert len(popular) == 39
    for seed, (size, variety) in enumerate([(600, 0.35), (600, 1.0)]):
        trained = make_world(1_000_000 + seed, size, held_out=False, variety=variety)
        held_out = make_world(seed, 2400)
        unpopular = held_out.entities.keys() - popular.keys()
        entities = trained.entities.values()
        assert not unpopular & {value for e in entities for value in (e.name, *e.facts.values())}
        assert facts_of(trained.entities) & facts_of(held_out.entities) == facts_of(popular)
        text = " ".join(passage.text for page in trained.pages.values() for passage in page)
        assert not any(name in text for name in unpopular)
    assert all(map(is_held_out, worlds["iirc"].entities.keys() - popular.keys()))


@pytest.mark.parametrize(("size", "longest"), [(2560, 2), (6000, 3), (110_000, 4)])
def test_names_do_not_run_out_and_none_is_part_of_another(size, longest):
    entities, popular = make_entities(5, size), make_popular()
    assert len(entities) == len(popular) + sum(round(k.share * size) for k in RECORDS.values())
    words = {word for parts in PARTS.values() for part in parts for word in part}
    two, of_kind = Counter(), Counter(entity.kind for entity in entities.values())
    for name in entities.keys() - popular.keys():
        own = name.split()
        two[entities[name].kind] += len(own) == 2
        assert 2 <= len(own) <= longest and words.issuperset(own) and is_held_out(name)
        for start, end in combinations(range(len(own) + 1), 2):
            assert end - start == len(own) or " ".join(own[start:end]) not in entities
    shares = [two[kind] / of_kind[kind] for kind in ("film", "novel", "album")]
    assert max(shares) - min(shares) < 0.02  # a name does not tell which it is


def test_a_draw_is_as_from_a_list():
    world, rng = make_world(0, 300), random.Random(0)
    draw = Draw(world, rng, "strategyqa", "same", "strategyqa")
    for relation, stated in world.stated.items():
        of = dict(zip(stated.subjects, stated.values, strict=True))
        for name in world.names[::10]:
            value = of.get(name)
            same = [other for other in of if of[other] == value and other != name]
            different = [other for other in of if value and of[other] != value]
            assert [*map(list, draw.same_and_others(relation, name))] == [same, different]


def test_too_many_names_or_questions_are_refused():
    with pytest.raises(ValueError, match="names of kind 'city' left, expected 100000"):
        draw_names("city", 100_000, set(), random.Random(0), held_out=True)
    with pytest.raises(ValueError, match="make the world larger"):
        make_riddles(make_world(7, 60, "iirc"), 150, "iirc", 0)
