"""The laboratory's judge: how often it is right, and verdicts on single sentences."""

import pytest

from ircot_laboratory.judge.corruption import WAYS, check_judge, rate_judge
from ircot_laboratory.judge.laboratory_facts import judge
from ircot_laboratory.judge.reading import read_facts
from ircot_laboratory.make import make_dataset
from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.questions.wording import word_thought
from ircot_laboratory.world.encyclopedia import make_entities
from ircot_laboratory.world.records import Entity
from ircot_laboratory.world.relations import RELATIONS
from ircotlib.data import Question
from ircotlib.experiment.laboratory import find_facts
from ircotlib.parameters import read_parameters

FACTS = {
    "person Ada Holm": {"birthplace": "Aldton", "birth": "1920", "spouse": "Leo Ash"},
    "person Leo Ash": {"father": "Max Ash", "birthplace": "Aldton", "birth": "1910"},
    "person Max Ash": {"birthplace": "Burton", "birth": "1900", "father": "Old Ash"},
    "film Red Moon": {"director": "Ada Holm", "release": "1950"},
    "film Blue Moon": {"director": "Leo Ash", "release": "1940"},
    "band Loud Owls": {
        "singer": "Ada Holm",
        "drummer": "Leo Ash",
        "pianist": "Max Ash",
    },
    "city Aldton": {"country": "Ald Republic", "river": "Isk"},
    "city Burton": {"country": "Bur Union"},
}
WORLD = {}
for described, facts in FACTS.items():
    kind, _, name = described.partition(" ")
    WORLD[name] = Entity(name, kind, "", facts)
AGE = "How old was the director of Red Moon when Red Moon came out?"
FIRST = "Which film came out first, Red Moon or Blue Moon?"
BRIDGE = "Which film has the director who was born later, Red Moon or Blue Moon?"
COUNT = "How many of the three members of Loud Owls were born in Aldton?"

SAID = [
    ("true", "", "Ada Holm was born in Aldton."),
    ("false", "", "Ada Holm was born in Burton."),
    ("false", "", "Ada Holm died in Aldton."),  # no page says where
    ("false", "", "Eva Holm was born in Aldton."),  # nobody of this name
    ("unsure", "", "She was born in Aldton."),
    ("unsure", "", "Ada Holm was born in unknown."),
    ("true", FIRST, "Thus, Blue Moon came out first."),
    ("false", FIRST, "Thus, Red Moon came out first."),
    ("unsure", AGE, "Thus, Red Moon came out first."),
    ("true", BRIDGE, "Thus, Red Moon has the director who was born later."),
    ("true", "", "Thus, Aldton and Burton are in different countries."),
    ("unsure", "", "Thus, Aldton and Norton are in the same country."),
    ("true", "", "Thus, the father-in-law of Ada Holm is Max Ash."),
    ("true", "", "Thus, the grandfather of Leo Ash is Old Ash."),
    ("true", AGE, "Thus, Ada Holm was 30 years old."),
    ("false", AGE, "Thus, Ada Holm was 31 years old."),
    ("unsure", "", "Ada Holm lies on Burton and Aldton lies on the Isk."),
    ("true", COUNT, "Thus, Ada Holm and Leo Ash were born in Aldton."),
    ("true", COUNT, "Thus, Max Ash was born in Burton."),
    ("true", COUNT, "Thus, 2 of them were born in Aldton."),
    ("false", FIRST, "So the answer is: Red Moon."),
]


@pytest.mark.parametrize(("verdict", "question", "sentence"), SAID)
def test_the_verdicts_of_the_judge(verdict, question, sentence):
    assert judge(sentence, question, ("Blue Moon",), WORLD) == verdict


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_judge_is_right_on_gold_chains_with_and_without_errors(dataset):
    checked = check_judge(make_dataset(dataset), count=100)
    (row,) = rate_judge({dataset: checked}).to_dict("records")
    assert row["chains"] == 100 and row["false"] == 66 and row["sentences"] > 300
    right = [name for name in row if "right" in name]
    assert len(right) == 3 and all(row[name] >= 99 for name in right)
    # each way makes sentences that differ from the gold ones
    assert {sentence.way for sentence in checked if not sentence.true} == {*WAYS[1:]}


@pytest.mark.parametrize("dialect", DATASETS)
def test_every_fact_of_a_world_is_true_in_every_wording(dialect):
    entities = make_entities(3, 150)
    for entity in entities.values():
        for relation in (r for r in RELATIONS[entity.kind] if r.name in entity.facts):
            value = entity.facts[relation.name]
            sentence = word_thought(dialect, relation, entity, value)
            assert (entity.name, relation.name, value) in read_facts(sentence)
            assert judge(sentence, "", (), entities) == "true"


def test_only_the_facts_of_the_laboratory_are_known():
    p = read_parameters("mini")
    assert find_facts(p.change(data_dir="elsewhere"), "musique") is None
    facts, riddles = find_facts(p, "musique"), make_dataset("musique").riddles
    riddle = next(riddle for riddle in riddles if riddle.kind == "2hop")
    question = Question("q", riddle.text, (riddle.answer,), (), "musique")
    chain = [thought.text for thought in riddle.thoughts]
    assert {facts.judge(sentence, question) for sentence in chain} == {"true"}
