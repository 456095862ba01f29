"""Conclusions of chains ("Thus, …", "So the answer is …"): each wording with the
function that decides whether it is true. The claims of FEVER ("Thus, it is …") are not
among them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ircot_laboratory.judge.reading import WORDS, Entities, compile_template, value_of
from ircot_laboratory.questions.searchain import (
    COUNTRIES,
    EXPLANATIONS,
    MEETING_THOUGHT,
    PLACE,
    SAME,
    SLOT_THOUGHT,
    TIME,
)
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
from ircotlib.text import normalise_answer

RELATION_OF = {event: relation for relation, event in EVENTS.items()}
AGE_QUESTION = re.compile(
    rf"How old was .+ when (?P<work>.+) (?P<event>{WORDS['event']})\?"
)


@dataclass(frozen=True)
class Conclusion:
    """A conclusion to be judged: the words in the fields of its wording, the question
    and its gold answers, and the world it is about.
    """

    words: Mapping[str, str]
    question: str
    answers: Sequence[str]
    entities: Entities

    def value(self, subject: str | None, relation: str) -> str | None:
        return value_of(subject, relation, self.entities)

    def year(self, subject: str | None, relation: str) -> int | None:
        year = self.value(subject, relation)
        return int(year) if year else None


# whether a conclusion is true; None: undecided, for example if it does not belong to
# the question
Decide = Callable[[Conclusion], bool | None]


def _answers(conclusion: Conclusion) -> bool:
    answers = map(normalise_answer, conclusion.answers)
    return normalise_answer(conclusion.words["answer"]) in answers


def _is_first_or_last(
    conclusion: Conclusion, names: Sequence[str], years: Sequence[int | None]
) -> bool | None:
    """Whether x is the one of two names with the earlier or later year."""
    if None in years or years[0] == years[1]:
        return None
    later = any(conclusion.words["when"] == last for _, last in WHEN.values())
    return sorted(zip(years, names, strict=True))[later][1] == conclusion.words["x"]


def _compares(
    conclusion: Conclusion, relation: str, question: re.Pattern
) -> bool | None:
    """Of the two entities that the question names: which came first or last."""
    match = question.fullmatch(conclusion.question)
    if not match:
        return None
    names = match["a"], match["b"]
    years = [conclusion.year(name, relation) for name in names]
    return _is_first_or_last(conclusion, names, years)


def _compares_makers(conclusion: Conclusion) -> bool | None:
    """Of the two works that the question names: whose maker was born first or last."""
    match = compile_template(BRIDGE.question).fullmatch(conclusion.question)
    if not match:
        return None
    names = match["a"], match["b"]
    makers = [conclusion.value(name, conclusion.words["role"]) for name in names]
    years = [conclusion.year(maker, "birth") for maker in makers]
    return _is_first_or_last(conclusion, names, years)


def _are_alike(conclusion: Conclusion, relation: str, wanted: bool) -> bool | None:
    """Whether a and b have the same value of a relation; if not `wanted`, have not."""
    a, b = (conclusion.value(conclusion.words[name], relation) for name in "ab")
    return None if None in (a, b) else (a == b) == wanted


def _born_before(conclusion: Conclusion, wanted: bool) -> bool | None:
    """Whether x was born before the year of an event of b, or was not."""
    words = conclusion.words
    dated = conclusion.year(words["b"], RELATION_OF[words["event"]])
    born = conclusion.year(words["x"], "birth")
    return None if None in (born, dated) else (born < dated) == wanted


def _of_country(conclusion: Conclusion, relation: str, field: str) -> bool | None:
    """Whether people in the city a use or speak what the field names."""
    country = conclusion.value(conclusion.words["a"], "country")
    if not country:
        return None
    return conclusion.value(country, relation) == conclusion.words[field]


def _in_country(conclusion: Conclusion) -> bool | None:
    """Whether x is the country of a city that is related to the subject (COUNTRIES)."""
    words = conclusion.words
    relations = [name for name, slot in COUNTRIES.items() if slot == words["slot"]]
    cities = [conclusion.value(words["a"], relation) for relation in relations]
    countries = [conclusion.value(city, "country") for city in cities if city]
    return words["x"] in countries if countries else None


def _is_relative(conclusion: Conclusion) -> bool | None:
    """Whether x is the grandfather, the father-in-law, … of a."""
    words = conclusion.words
    for (first, second), role in RELATIVES.items():
        if role == words["role"]:
            middle = conclusion.value(words["a"], first)
            return conclusion.value(middle, second) == words["x"]
    return None


def _is_age(conclusion: Conclusion) -> bool | None:
    """Whether x was n years old in the year of the event that the question names."""
    match = AGE_QUESTION.fullmatch(conclusion.question)
    if not match:
        return None
    year = conclusion.year(match["work"], RELATION_OF[match["event"]])
    if year is None:
        return None
    born = conclusion.year(conclusion.words["x"], "birth")
    return born is not None and year - born == int(conclusion.words["n"])


def _are_born_there(conclusion: Conclusion) -> bool | None:
    """Whether all persons named were born in a place, or this many of the members that
    the question asks about.
    """
    those = conclusion.words["those"]
    city = conclusion.words["place"]
    number = re.fullmatch(r"(\d+) of them", those)
    if not number:
        names = re.split(r", | and ", those)
        return all(conclusion.value(name, "birthplace") == city for name in names)
    match = compile_template(COUNT.question).fullmatch(conclusion.question)
    if not match:
        return None
    members = [conclusion.value(match["a"], role) for role in MEMBERS]
    cities = [conclusion.value(name, "birthplace") for name in members]
    return cities.count(city) == int(number[1])


def _conclusions() -> dict[re.Pattern, Decide]:
    """Each wording of a conclusion with what decides whether it is true."""
    decide: dict[str, Decide] = {
        ANSWER: _answers,
        BRIDGE.thought: _compares_makers,
        INFERENCE.thought: _is_relative,
        AGE.thought: _is_age,
        SLOT_THOUGHT: _in_country,
        COUNT.thought.replace("{were}", "was"): _are_born_there,
        COUNT.thought.replace("{were}", "were"): _are_born_there,
        MEETING_THOUGHT: partial(_are_alike, relation="school", wanted=True),
    }
    for comparisons in COMPARISONS.values():
        for name, wording in comparisons.items():
            question = compile_template(wording.question)
            decide[wording.thought] = partial(
                _compares, relation=name, question=question
            )
    # StrategyQA's; cities of one country are HotpotQA's
    for verdict, wanted in (("yes", True), ("no", False)):
        alike = partial(_are_alike, wanted=wanted)
        decide[SAME_THOUGHTS[verdict]] = partial(alike, relation="country")
        for name, row in SAME.items():
            decide[row[verdict]] = partial(alike, relation=name)
        decide[TIME[verdict]] = partial(_born_before, wanted=wanted)
        for name, row in PLACE.items():
            decide[row[verdict]] = partial(_of_country, relation=name, field="o")
    for row in EXPLANATIONS:  # ELI5's questions that ask why
        if row["conclusion"]:
            name = row["facts"].split(".")[-1]
            decide[row["conclusion"]] = partial(_of_country, relation=name, field="x")
    return {compile_template(thought): function for thought, function in decide.items()}


CONCLUSIONS = _conclusions()
