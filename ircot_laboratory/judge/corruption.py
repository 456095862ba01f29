"""Gold chains with one sentence made false on purpose, to measure the judge."""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from ircot_laboratory.judge.laboratory_facts import judge
from ircot_laboratory.make import Made
from ircot_laboratory.questions.wording import ANSWER, word_thought
from ircot_laboratory.world.encyclopedia import draw_value, names_by_kind
from ircot_laboratory.world.records import Fact, Riddle, World

WAYS = ("nothing", "value", "answer")  # what is made false


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
    """
    if way == "nothing":
        return None, ""
    thoughts = enumerate(riddle.thoughts)
    facts = [(n, thought.fact) for n, thought in thoughts if thought.fact]
    if way == "answer":
        _, last = facts[-1]
        answer = _other_value(world, last, rng, riddle.answer)
        return len(riddle.thoughts) - 1, ANSWER.format(answer=answer)
    index, fact = rng.choice(facts)
    value = _other_value(world, fact, rng, world.value(*fact))
    entity = world.entities[fact.subject]
    return index, word_thought(riddle.dataset, world.relation(*fact), entity, value)


def _other_value(world: World, fact: Fact, rng: random.Random, value: str) -> str:
    """A value of such a fact other than this one."""
    by_kind = names_by_kind(world.entities)
    drawn = value
    while drawn == value:
        drawn = draw_value(world.relation(*fact), fact.subject, by_kind, rng)
    return drawn
