"""What follows from the values that a question compares: conclusions, answers, and what they would
be if the values compared the other way.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ircot_laboratory.questions.verdicts import CLAIM_THOUGHTS, NO, PLACE, YES
from ircot_laboratory.questions.worked import WorkedExample
from ircot_laboratory.world.records import Fact, Riddle

OTHERWISE = {
    "before": "after",
    "the same country": "different countries",
    "the same school": "different schools",
    "the same city": "different cities",
    "the same river": "different rivers",
    "the same company": "different companies",
}
OTHERWISE |= {b: a for a, b in OTHERWISE.items()}
OPPOSITE = {"yes": "no", "no": "yes", YES: NO, NO: YES}


class Weighed(NamedTuple):
    """A conclusion or an answer that follows from how values compare: what it would be if they
    compared the other way; the values, and the facts they answer. It is one value if the question
    names the other.
    """

    text: str
    otherwise: str
    values: tuple[str, ...]
    facts: tuple[Fact, ...]


def find_compared(riddle: Riddle, worked: WorkedExample) -> list[int]:
    """The steps of a worked example whose values the question compares."""
    facts = {riddle.thoughts[n].fact for n in riddle.compared}
    return [n for n, step in enumerate(worked.steps) if step.fact in facts]


def weigh(
    riddle: Riddle, worked: WorkedExample, thus: str, values: Sequence[str]
) -> list[tuple[str, str]]:
    """The conclusion and the answer that follow from the compared values, then the opposite of
    both. `thus`: the conclusion of the worked example.
    """
    if riddle.sought:
        return _decide(riddle, worked, *values)
    both = [(thus, worked.answer), turn_round(thus, worked.answer, riddle)]
    then = [worked.steps[n].answer for n in find_compared(riddle, worked)]
    return both if _order(then) == _order(values) else both[::-1]


def _decide(riddle: Riddle, worked: WorkedExample, value: str) -> list[tuple[str, str]]:
    """The conclusion about the value that the question names, and yes or no, or a verdict."""
    words = {"o": value, "x": riddle.sought, "a": worked.steps[0].fact.subject}
    texts = CLAIM_THOUGHTS
    if riddle.kind == "place":
        [n] = find_compared(riddle, worked)
        row = PLACE[worked.steps[n].fact.relation]
        texts = {answer: row[answer.lower()] for answer in (YES, NO)}
    both = [(text.format(**words), answer) for answer, text in texts.items()]
    return both if value == riddle.sought else both[::-1]


def _order(values: Sequence[str]) -> int:
    """1 if the first of two years is earlier, or if two names are the same; otherwise 0."""
    a, b = values
    return int(a < b) if a.isdigit() else int(a == b)


def rename(text: str, names: dict[str, str]) -> str:
    """A text in which each key of `names` is replaced by its value, all in one pass."""
    pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"\b(?:{pattern})\b", lambda found: names[found[0]], text)


def turn_round(text: str, answer: str, riddle: Riddle) -> tuple[str, str]:
    """The opposite of a comparison's conclusion, and the opposite of its answer."""
    if answer in OPPOSITE:
        return rename(text, OTHERWISE), OPPOSITE[answer]
    other = next(name for name in named(riddle) if name != answer)
    return rename(text, {answer: other}), other


def named(riddle: Riddle) -> list[str]:
    """The subjects of a question's facts that the question names."""
    return [fact.subject for fact in riddle.facts if fact.subject in riddle.text]
