"""Judges chains about the laboratory, where every fact is known: a sentence is "true", "false" or
"unsure" (IRCoT §5, Figure 7, where people judge).

The judge reads the sentences of all data sets' chains and pages, and the conclusions of chains,
except those about the claims of FEVER ("Thus, it is …"). A fact that no page states is false.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ircot_laboratory.questions.explanations import EXPLANATIONS, MEETING_THOUGHT
from ircot_laboratory.questions.slots import COUNTRIES, SLOT_THOUGHT
from ircot_laboratory.questions.verdicts import PLACE, SAME, TIME
from ircot_laboratory.questions.wording import (
    AGE,
    ANSWER,
    BRIDGE,
    COMPARISONS,
    COUNT,
    EVENTS,
    INFERENCE,
    RELATIVES,
    SAME_THOUGHTS,
    WHEN,
)
from ircot_laboratory.world.encyclopedia import MEMBERS
from ircot_laboratory.world.records import Entity
from ircot_laboratory.world.relations import RELATIONS
from ircotlib.text import normalise_answer

Entities = Mapping[str, Entity]
SIDES = {when: side for whens in WHEN.values() for side, when in enumerate(whens)}  # 0: earlier
WORDS = {"when": "|".join(SIDES), "n": r"\d+", "event": "|".join(EVENTS.values())}
NO_NAMES = ("He", "She", "It", "They", "The", "This", "That")


class Reading(NamedTuple):
    """One reading of a sentence: that a relation of a subject has a value."""

    subject: str
    relation: str
    value: str


def judge(sentence: str, question: str, answers: Sequence[str], entities: Entities) -> str:
    """Whether a sentence of a chain is true in a world; "unsure" if it cannot be read.

    `question`: needed to judge conclusions. `answers`: the gold answers, for "So the answer is".
    """
    readings = read_facts(sentence)
    found = [_holds(*reading, entities) for reading in readings]
    found += [
        decide(match.groupdict(), question, answers, entities)
        for pattern, decide in CONCLUSIONS.items()
        if (match := pattern.fullmatch(sentence))
    ]
    told = [one for one in found if one is not None]
    return ("true" if any(told) else "false") if told else "unsure"


def read_facts(sentence: str) -> list[Reading]:
    """The possible readings of a sentence as a fact, in the wording of any data set; sentences
    whose subject is a pronoun or a noun are not read.
    """
    matches = ((name, pattern.fullmatch(sentence)) for name, pattern in _fact_patterns())
    found = [Reading(match["s"], name, match["o"]) for name, match in matches if match]
    return [
        one for one in found if one.subject.istitle() and one.subject.split()[0] not in NO_NAMES
    ]


@cache
def _fact_patterns() -> tuple[tuple[str, re.Pattern], ...]:
    patterns = {}
    for one in (one for relations in RELATIONS.values() for one in relations):
        phrase = one.phrase.replace("{x}", "{s}")
        stated = f"{phrase[0].upper()}{phrase[1:]} is {{o}}."
        for wording in (one.thought, stated, *one.wordings):
            wording = wording.replace("{P}", "{s}'s").replace("{S}", "{s}")
            patterns[one.name, _pattern(wording).pattern] = one.name, _pattern(wording)
    return tuple(patterns.values())


def _pattern(template: str) -> re.Pattern:
    """A pattern that matches a template with any words in its fields."""
    fields = re.split(r"\{(\w+)\}", template)
    seen, parts = set(), []
    for place, part in enumerate(fields):
        if place % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>{WORDS.get(part, '.+')})")
            seen.add(part)
    return re.compile("".join(parts))


def value_of(subject: str, relation: str, entities: Entities) -> str | None:
    """The value of a relation, None if there is none; marriages hold in both directions, although
    only one page of a couple states them.
    """
    value = entities[subject].facts.get(relation) if subject in entities else None
    if value is None and relation == "spouse":
        return next((e.name for e in entities.values() if e.facts.get(relation) == subject), None)
    return value


def _holds(subject: str, relation: str, value: str, entities: Entities) -> bool:
    return value_of(subject, relation, entities) == value


def _year(subject: str | None, relation: str, entities: Entities) -> int | None:
    year = value_of(subject, relation, entities)
    return int(year) if year else None


def _first_or_last(
    names: Sequence[str], years: Sequence[int | None], when: str, x: str
) -> bool | None:
    """Whether x is the one of two names with the earlier or later year; None: cannot be decided."""
    if None in years or years[0] == years[1]:
        return None
    by_year = sorted(zip(years, names, strict=True))
    return by_year[SIDES[when]][1] == x


def _compared(relation: str, asked: re.Pattern):
    def decide(said, question, answers, entities):
        if not (found := asked.fullmatch(question)):
            return None
        names = found["a"], found["b"]
        years = [_year(name, relation, entities) for name in names]
        return _first_or_last(names, years, said["when"], said["x"])

    return decide


def _bridge(said, question, answers, entities) -> bool | None:
    if not (found := _pattern(BRIDGE.question).fullmatch(question)):
        return None
    names = found["a"], found["b"]
    makers = [value_of(name, said["role"], entities) for name in names]
    years = [_year(maker, "birth", entities) for maker in makers]
    return _first_or_last(names, years, said["when"], said["x"])


def _same(relation: str, wanted: bool):
    def decide(said, question, answers, entities):
        values = [value_of(said[name], relation, entities) for name in "ab"]
        return None if None in values else (values[0] == values[1]) == wanted

    return decide


def _born_before(wanted: bool):
    def decide(said, question, answers, entities):
        dated = next(relation for relation, event in EVENTS.items() if event == said["event"])
        years = _year(said["x"], "birth", entities), _year(said["b"], dated, entities)
        return None if None in years else (years[0] < years[1]) == wanted

    return decide


def _of_country(relation: str, field: str):
    """Decides what people in a city use or speak; `field`: the field of the pattern that names
    it.
    """

    def decide(said, question, answers, entities):
        country = value_of(said["a"], "country", entities)
        return value_of(country, relation, entities) == said[field] if country else None

    return decide


def _slot(said, question, answers, entities) -> bool | None:
    """Whether x is the country of a city that is related to the subject (slots.COUNTRIES)."""
    relations = [name for name, slot in COUNTRIES.items() if slot == said["slot"]]
    cities = [value_of(said["a"], relation, entities) for relation in relations]
    known = [value_of(city, "country", entities) for city in cities if city]
    return said["x"] in known if known else None


def _relative(said, question, answers, entities) -> bool | None:
    way = next((way for way, role in RELATIVES.items() if role == said["role"]), None)
    if way is None:
        return None
    middle = value_of(said["a"], way[0], entities)
    return value_of(middle, way[1], entities) == said["x"]


def _age(said, question, answers, entities) -> bool | None:
    """Whether someone was `n` years old in the year of the event that the question names
    (AGE.question).
    """
    found = re.fullmatch(rf"How old was .+ when (.+) ({WORDS['event']})\?", question)
    if not found:
        return None
    dated = next(relation for relation, event in EVENTS.items() if event == found[2])
    year, born = _year(found[1], dated, entities), _year(said["x"], "birth", entities)
    if year is None:
        return None
    return born is not None and year - born == int(said["n"])


def _count(said, question, answers, entities) -> bool | None:
    """Whether all persons named were born there, or this many of the members that the question asks
    about.
    """
    if number := re.fullmatch(r"(\d+) of them", said["those"]):
        if not (found := _pattern(COUNT.question).fullmatch(question)):
            return None
        members = [value_of(found["a"], role, entities) for role in MEMBERS]
        born = [value_of(member, "birthplace", entities) for member in members]
        return born.count(said["place"]) == int(number[1])
    names = re.split(r", | and ", said["those"])
    return all(_holds(name, "birthplace", said["place"], entities) for name in names)


def _answer(said, question, answers, entities) -> bool:
    return normalise_answer(said["answer"]) in map(normalise_answer, answers)


def _conclusions() -> dict[re.Pattern, object]:
    """The patterns of conclusions, each with the function that decides whether one is true."""
    rows = [(relation, w) for of in COMPARISONS.values() for relation, w in of.items()]
    found = {
        _pattern(wording.thought): _compared(relation, _pattern(wording.question))
        for relation, wording in rows
    }
    found |= {_pattern(BRIDGE.thought): _bridge, _pattern(INFERENCE.thought): _relative}
    found |= {
        _pattern(text): _same("country", said == "yes") for said, text in SAME_THOUGHTS.items()
    }
    for were in ("was", "were"):
        found[_pattern(COUNT.thought.replace("{were}", were))] = _count
    found |= {_pattern(SLOT_THOUGHT): _slot, _pattern(MEETING_THOUGHT): _same("school", True)}
    return found | _verdicts() | {_pattern(AGE.thought): _age, _pattern(ANSWER): _answer}


def _verdicts() -> dict[re.Pattern, object]:
    """The same for StrategyQA's chains, and for those of ELI5's questions that ask why."""
    found = {}
    for said, wanted in (("yes", True), ("no", False)):
        found[_pattern(TIME[said])] = _born_before(wanted)
        found |= {_pattern(row[said]): _same(name, wanted) for name, row in SAME.items()}
        found |= {_pattern(row[said]): _of_country(name, "o") for name, row in PLACE.items()}
    for row in EXPLANATIONS:
        if row["conclusion"]:
            found[_pattern(row["conclusion"])] = _of_country(row["facts"].split(".")[-1], "x")
    return found


CONCLUSIONS = _conclusions()
