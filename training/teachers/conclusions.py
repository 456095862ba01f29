"""What follows from compared values, and if they compared the other way."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ircot_laboratory.questions.searchain import (
    CLAIM_THOUGHTS,
    NO,
    PLACE,
    REFUTES,
    SUPPORTS,
    YES,
)
from ircot_laboratory.questions.wording import AGE, word_count
from ircot_laboratory.questions.worked import WorkedExample
from ircot_laboratory.world.records import Fact, Riddle

OPPOSED = (  # in conclusions
    ("before", "after"),
    ("the same country", "different countries"),
    ("the same school", "different schools"),
    ("the same city", "different cities"),
    ("the same river", "different rivers"),
    ("the same company", "different companies"),
)
OTHERWISE = dict(OPPOSED) | {b: a for a, b in OPPOSED}
ANSWERS = (("yes", "no"), (YES, NO), (SUPPORTS, REFUTES))
OPPOSITE = dict(ANSWERS) | {b: a for a, b in ANSWERS}


class ComparedConclusion(NamedTuple):
    """A conclusion or an answer that follows from how values compare: what it would be
    if they compared the other way; the values, and the facts they answer. It is one
    value if the question names the other.
    """

    text: str
    otherwise: str
    values: tuple[str, ...]
    facts: tuple[Fact, ...]


def compared_steps(riddle: Riddle, worked: WorkedExample) -> list[int]:
    """The steps of a worked example whose values the question compares."""
    facts = {riddle.thoughts[n].fact for n in riddle.compared}
    return [n for n, step in enumerate(worked.steps) if step.fact in facts]


def conclude_from(
    riddle: Riddle,
    worked: WorkedExample,
    thus: str,
    values: Sequence[str],
    facts: Sequence[Fact],
) -> list[tuple[str, str]]:
    """The conclusion and the answer that follow from the compared values of facts, then
    the opposite of both; numbers (IIRC) have none, and are repeated. `thus`: the
    conclusion of the worked example.
    """
    steps = compared_steps(riddle, worked)
    if riddle.kind == "age":
        birth, year = values
        n = str(int(year) - int(birth))
        return [(AGE.thought.format(x=facts[0].subject, n=n), n)] * 2
    if not riddle.sought:
        outcomes = [(thus, worked.answer), turn_round(thus, worked.answer, riddle)]
        gold = [worked.steps[n].answer for n in steps]
        return outcomes if _order(gold) == _order(values) else outcomes[::-1]
    if riddle.kind == "count":
        places = zip(facts, values, strict=True)
        born = [fact.subject for fact, value in places if value == riddle.sought]
        return [(word_count(born, riddle.sought), str(len(born)))] * 2
    [value] = values
    texts = CLAIM_THOUGHTS
    if riddle.kind == "place":
        row = PLACE[worked.steps[steps[0]].fact.relation]
        texts = {answer: row[answer.lower()] for answer in (YES, NO)}
    words = {"o": value, "x": riddle.sought, "a": worked.steps[0].fact.subject}
    outcomes = [(text.format(**words), answer) for answer, text in texts.items()]
    return outcomes if value == riddle.sought else outcomes[::-1]


def _order(values: Sequence[str]) -> int:
    """1 if the first of two years is earlier, or if two names are the same; else 0."""
    a, b = values
    return int(a < b) if a.isdigit() else int(a == b)


def rename(text: str, names: dict[str, str]) -> str:
    """A text in which each key of `names` is replaced by its value, all in one pass."""
    return _any_of(tuple(names)).sub(lambda match: names[match[0]], text)


def pattern_of(names: Iterable[str]) -> re.Pattern:
    """A pattern of any of these names, the longest first."""
    pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"\b(?:{pattern})\b")


# the same names are looked for in each reply to a question
_any_of = lru_cache(maxsize=10_000)(pattern_of)


def turn_round(text: str, answer: str, riddle: Riddle) -> tuple[str, str]:
    """The opposite of a comparison's conclusion, and the opposite of its answer."""
    if answer in OPPOSITE:
        return rename(text, OTHERWISE), OPPOSITE[answer]
    other = next(name for name in named_subjects(riddle) if name != answer)
    return rename(text, {answer: other}), other


def named_subjects(riddle: Riddle) -> list[str]:
    """The subjects of a question's facts that the question names."""
    subjects = dict.fromkeys(fact.subject for fact in riddle.facts)
    return [subject for subject in subjects if subject in riddle.text]
