"""Gold chains with one sentence made false on purpose, to measure the judge."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from ircot_laboratory.judge.laboratory_facts import judge
from ircot_laboratory.judge.reading import value_of
from ircot_laboratory.make import Made
from ircot_laboratory.questions.questions import DATASETS
from ircot_laboratory.questions.wording import (
    ANSWER,
    COUNT,
    NOBODY,
    SAME_THOUGHTS,
    word_thought,
)
from ircot_laboratory.world.encyclopedia import draw_value, names_by_kind
from ircot_laboratory.world.records import Fact, Riddle, World
from ircot_laboratory.world.relations import RELATIONS

WAYS = ("nothing", "value", "subject", "relation", "conclusion", "answer")
AMISS = (-9, -2, -1, 1, 2, 9)  # by how many years a false age is wrong


class Checked(NamedTuple):
    """A sentence of a chain, whether it is true, and the judge's verdict. `way`: how
    the chain was corrupted; `chain`: its number.
    """

    way: str
    chain: int
    sentence: str
    true: bool
    verdict: str


def check_judge(made: Made, count: int = 100) -> list[Checked]:
    """The judge's verdict on every sentence of `count` gold chains of a data set, each
    corrupted in one of the WAYS in turn.
    """
    world, riddles = made
    rng = random.Random("corrupt 0")
    checked = []
    for number, riddle in enumerate(rng.sample(riddles, count)):
        way = WAYS[number % len(WAYS)]
        index, text = corrupt(riddle, world, way, rng)
        for n, thought in enumerate(riddle.thoughts):
            sentence = text if n == index else thought.text
            verdict = judge(sentence, riddle.text, (riddle.answer,), world.entities)
            checked.append(Checked(way, number, sentence, n != index, verdict))
    return checked


def rate_judge(checked: Mapping[str, Sequence[Checked]]) -> pd.DataFrame:
    """How often the judge is right, in percent, one row per data set: on all sentences,
    on the false ones, and on whole chains. "unsure" is never right.
    """
    rows = []
    for dataset, sentences in checked.items():
        table = pd.DataFrame(sentences)
        truth = table["true"].map({True: "true", False: "false"})
        table["right"] = 100.0 * (table["verdict"] == truth)
        false = table[~table["true"]]
        row = {
            "dataset": dataset,
            "chains": table["chain"].nunique(),
            "sentences": len(table),
            "false": len(false),
            "right, %": table["right"].mean(),
            "right of the false, %": false["right"].mean(),
            "chains right, %": table.groupby("chain")["right"].min().mean(),
        }
        rows.append(row)
    return pd.DataFrame(rows).round(1)


def corrupt(
    riddle: Riddle, world: World, way: str, rng: random.Random
) -> tuple[int | None, str]:
    """Make one sentence of a gold chain false; return its index and its new text (None
    and "" for the way "nothing").

    Where a way is not possible, the value of a fact is swapped.
    """
    thoughts = enumerate(riddle.thoughts)
    facts = [(n, thought.fact) for n, thought in thoughts if thought.fact]
    last = len(riddle.thoughts) - 1
    index, fact = rng.choice(facts)
    if way == "nothing":
        return None, ""
    if way == "answer":
        other = _other_value(world, facts[-1][1], rng, {riddle.answer})
        return last, ANSWER.format(answer=other)
    if way == "conclusion" and (text := _false_conclusion(riddle, world, rng)):
        return last - 1, text
    if way == "subject":
        return index, _swap_subject(riddle, world, fact, rng)
    if way == "relation" and (text := _swap_relation(riddle, world, fact, rng)):
        return index, text
    return index, _swap_value(riddle, world, fact, rng)


def _other_value(
    world: World, fact: Fact, rng: random.Random, without: Iterable[str]
) -> str:
    by_kind = names_by_kind(world.entities)
    while True:
        value = draw_value(world.relation(*fact), fact.subject, by_kind, rng)
        if value not in without:
            return value


def _swap_value(riddle: Riddle, world: World, fact: Fact, rng: random.Random) -> str:
    value = _other_value(world, fact, rng, {world.value(*fact)})
    entity = world.entities[fact.subject]
    return word_thought(riddle.dataset, world.relation(*fact), entity, value)


def _swap_subject(riddle: Riddle, world: World, fact: Fact, rng: random.Random) -> str:
    """The sentence about another subject of this kind, for which it does not hold."""
    value = world.value(*fact)
    others = [
        entity
        for entity in world.by_kind[world.entities[fact.subject].kind]
        if entity.name not in (fact.subject, value)
        and entity.facts.get(fact.relation) != value
    ]
    other = rng.choice(others)
    return word_thought(riddle.dataset, world.relation(*fact), other, value)


def _swap_relation(
    riddle: Riddle, world: World, fact: Fact, rng: random.Random
) -> str | None:
    """The sentence with another relation to such a value, which does not hold."""
    entity = world.entities[fact.subject]
    value = world.value(*fact)
    kind = world.relation(*fact).value
    others = [
        other
        for other in RELATIONS[entity.kind]
        if other.value == kind
        and value_of(entity.name, other.name, world.entities) != value
    ]
    if not others:
        return None
    return word_thought(riddle.dataset, rng.choice(others), entity, value)


def _false_conclusion(riddle: Riddle, world: World, rng: random.Random) -> str | None:
    """The conclusion before the answer, made false; None if there is none."""
    thought = riddle.thoughts[-2]
    if thought.fact or riddle.dataset not in DATASETS:
        return None
    match riddle.kind:
        case "age":
            wrong = int(riddle.answer) + rng.choice(AMISS)
            return thought.text.replace(riddle.answer, str(wrong))
        case "count":
            others = [n for n in range(4) if str(n) != riddle.answer]
            those = NOBODY.format(n=rng.choice(others))
            return COUNT.thought.format(those=those, were="were", place=riddle.sought)
        case "inference":
            other = _other_value(world, riddle.facts[-1], rng, {riddle.answer})
            return thought.text.replace(riddle.answer, other)
    if riddle.answer in SAME_THOUGHTS:
        (a, _), (b, _) = riddle.facts
        return SAME_THOUGHTS["no" if riddle.answer == "yes" else "yes"].format(a=a, b=b)
    named = (name for name, _ in riddle.facts if name in riddle.text)
    other = next(name for name in named if name != riddle.answer)
    return thought.text.replace(riddle.answer, other)
