"""Manners: the same questions, facts and answers in other words, which demonstrations show."""

import random

import pytest

pytest.importorskip("torch")

from ircot_laboratory.questions.questions import DATASETS, draw_riddle
from ircot_laboratory.world.encyclopedia import make_world
from ircotlib.text import answer_from_chain
from training.t5 import manners
from training.t5.draw_examples import draw_prompt_example
from training.t5.manners import Manner, draw_manner, reword
from training.t5.model import make_tokenizer
from training.t5.recipe import Plan, T5Recipe

RNG = random.Random(0)
WORLDS = {d: make_world(1_000_003, 600, d, held_out=False, variety=0.35) for d in DATASETS}
KINDS = [(dataset, kind) for dataset, kinds in DATASETS.items() for kind in kinds]


@pytest.mark.parametrize(("dataset", "kind"), KINDS)
def test_a_chain_says_the_same_in_every_manner(dataset, kind):
    world, tokenizer = WORLDS[dataset], make_tokenizer()
    texts = set()
    for _ in range(20):
        riddle = draw_riddle(world, RNG, dataset, kind)
        reworded = reword(world, riddle, draw_manner(RNG))
        assert (reworded.text, reworded.answer) == (riddle.text, riddle.answer)
        assert sorted(reworded.facts) == sorted(riddle.facts)
        assert len(reworded.thoughts) == len(riddle.thoughts)
        assert answer_from_chain(reworded.chain).rstrip(".") == riddle.answer
        assert tokenizer.unk_token_id not in tokenizer(reworded.chain)["input_ids"]
        for thought in reworded.thoughts:
            assert not thought.fact or world.value(*thought.fact) in thought.text
        texts.add(reworded.chain == riddle.chain)
    assert False in texts


def test_a_manner_decides_wordings_openings_and_order():
    riddle = draw_riddle(WORLDS["2wikimultihopqa"], RNG, "2wikimultihopqa", "comparison")
    world, (a, b) = WORLDS["2wikimultihopqa"], [fact.subject for fact in riddle.facts]
    manner = Manner("2wikimultihopqa", "So ", "Thus, ", "So, ", "The answer is: {answer}.", True)
    first, second, conclusion, answer = [t.text for t in reword(world, riddle, manner).thoughts]
    assert first.startswith("So the ") and f" {b} " in first
    assert second.startswith("Thus, the ") and f" {a} " in second
    assert conclusion == riddle.thoughts[2].text.replace("Thus, ", "So, ")
    assert answer == f"The answer is: {riddle.answer}."
    last = manner._replace(wording=manners.PHRASE_LAST, first="", reversed=False)
    value = world.value(*riddle.facts[0])
    assert reword(world, riddle, last).thoughts[0].text.startswith(f"{value} is the year ")


def test_demonstrations_have_the_manner_of_the_target():
    recipe = T5Recipe(1000, 0, 1e-3, grown=True, manners=True)
    plans = [recipe.plan(0, RNG) for _ in range(100)]
    assert {plan.demonstrations for plan in plans} == {1, 2, 3, 4, 5}
    assert all(plan.manners for plan in plans)
    endings = 0
    for _ in range(30):
        example = draw_prompt_example(WORLDS["musique"], "musique", RNG, Plan(4, 2, manners=True))
        *shown, _ = example.prompt.split("\n\n\n")
        if " answer is" in example.target:
            target = example.target[: example.target.rindex(" is") + 3].rpartition(". ")[2]
            assert all(f" {target}" in text for text in shown)
            endings += 1
    assert endings > 10
