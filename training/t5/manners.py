"""Manners: how the sentences of a chain are worded, drawn anew for each training prompt, so that a
model can learn them only from the demonstrations that the prompt shows.

All words are in the vocabulary of the shipped models, and every answer is read as usual (`text.
answer_from_chain`).
"""

import random
from dataclasses import replace
from typing import NamedTuple

from ircot_laboratory.questions.wording import ANSWER, word_thought
from ircot_laboratory.world.records import Fact, Riddle, Thought, World

# the dialects with wordings of their own, and one more: the value, then the noun phrase for it
PHRASE_LAST = "phrase last"
WORDINGS = ("hotpotqa", "2wikimultihopqa", "musique", "iirc", PHRASE_LAST)
OPENINGS = (  # of a sentence that states a fact
    "",
    "So ",
    "Thus, ",
    "On Wikipedia, ",
    "It is written that ",
    "In the record, ",
    "Wikipedia has it that ",
    "So it is recorded that ",
)
CONCLUSIONS = ("Thus, ", "So ", "So, ", "It is written that ", "Thus in this story ")
ANSWERS = (
    ANSWER,
    "The answer is: {answer}.",
    "Thus the answer is: {answer}.",
    "Thus, the answer is {answer}.",
    "So, the answer is {answer}.",
    "On Wikipedia, the answer is: {answer}.",
    "The relevant answer is: {answer}.",
    "So the last answer is: {answer}.",
)
HALVES = ("comparison", "bridge_comparison")  # whose facts are about one entity, then another


class Manner(NamedTuple):
    """How a chain is worded: its facts, by one of WORDINGS; what its first sentence, the others,
    its conclusion and its answer begin with; and whether the entity that is compared last comes
    first.
    """

    wording: str
    first: str
    later: str
    conclusion: str
    answer: str
    reversed: bool


def draw_manner(rng: random.Random) -> Manner:
    """Draw one of all manners."""
    openings = rng.choice(OPENINGS), rng.choice(OPENINGS)
    ending = rng.choice(CONCLUSIONS), rng.choice(ANSWERS)
    return Manner(rng.choice(WORDINGS), *openings, *ending, rng.random() < 0.5)


def reword(world: World, riddle: Riddle, manner: Manner) -> Riddle:
    """The same question with its chain in a manner."""
    facts = [thought.fact for thought in riddle.thoughts if thought.fact]
    if manner.reversed and riddle.kind in HALVES:
        facts = facts[len(facts) // 2 :] + facts[: len(facts) // 2]
    openings = manner.first, *[manner.later] * (len(facts) - 1)
    thoughts = [
        Thought(_open(opening, _state(world, fact, manner.wording)), fact)
        for opening, fact in zip(openings, facts, strict=True)
    ]
    for thought in riddle.thoughts[len(facts) : -1]:
        thoughts.append(Thought(_open(manner.conclusion, thought.text.removeprefix("Thus, "))))
    thoughts.append(Thought(manner.answer.format(answer=riddle.answer)))
    return replace(riddle, thoughts=tuple(thoughts))


def _state(world: World, fact: Fact, wording: str) -> str:
    relation, value = world.relation(*fact), world.value(*fact)
    if wording == PHRASE_LAST:
        return f"{value} is {relation.phrase.format(x=fact.subject)}."
    return word_thought(wording, relation, world.entities[fact.subject], value)


def _open(opening: str, sentence: str) -> str:
    """The sentence after an opening, in which its first word, if it is no name, is lower-case."""
    word, space, rest = sentence.partition(" ")
    word = word.lower() if opening and word in ("The", "In") else word
    return f"{opening}{word}{space}{rest}"
