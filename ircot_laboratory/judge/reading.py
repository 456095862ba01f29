"""Reads sentences about the laboratory as facts, in the wording of any data set's
chains and pages, and looks facts up.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ircot_laboratory.questions.wording import EVENTS, WHEN
from ircot_laboratory.world.records import Entity
from ircot_laboratory.world.relations import RELATIONS

Entities = Mapping[str, Entity]
# what a field of a template may hold; any words if it is not named here
WORDS = {
    "when": "|".join(when for whens in WHEN.values() for when in whens),
    "n": r"\d+",
    "event": "|".join(EVENTS.values()),
}
NO_NAMES = ("He", "She", "It", "They", "The", "This", "That")


class Reading(NamedTuple):
    """One reading of a sentence: that a relation of a subject has a value."""

    subject: str
    relation: str
    value: str


def read_facts(sentence: str) -> list[Reading]:
    """The possible readings of a sentence as a fact, in the wording of any data set;
    sentences whose subject is a pronoun or a noun are not read.
    """
    matches = (
        (name, pattern.fullmatch(sentence)) for name, pattern in _fact_patterns()
    )
    readings = [
        Reading(match["s"], name, match["o"]) for name, match in matches if match
    ]
    return [
        r
        for r in readings
        if r.subject.istitle() and r.subject.split()[0] not in NO_NAMES
    ]


@cache
def _fact_patterns() -> tuple[tuple[str, re.Pattern], ...]:
    """Each relation's name with a pattern of one of its wordings; each pattern once."""
    patterns = {}
    for relation in (
        relation for relations in RELATIONS.values() for relation in relations
    ):
        phrase = relation.phrase.replace("{x}", "{s}")
        stated = f"{phrase[0].upper()}{phrase[1:]} is {{o}}."
        for wording in (relation.thought, stated, *relation.wordings):
            pattern = compile_template(
                wording.replace("{P}", "{s}'s").replace("{S}", "{s}")
            )
            patterns[relation.name, pattern.pattern] = relation.name, pattern
    return tuple(patterns.values())


def compile_template(template: str) -> re.Pattern:
    """A pattern that matches a template with any words in its fields; a field that
    occurs twice must hold the same words.
    """
    seen, pattern = set(), ""
    for position, part in enumerate(re.split(r"\{(\w+)\}", template)):
        if position % 2 == 0:  # the text between two fields
            pattern += re.escape(part)
        elif part in seen:
            pattern += f"(?P={part})"
        else:
            pattern += f"(?P<{part}>{WORDS.get(part, '.+')})"
            seen.add(part)
    return re.compile(pattern)


def value_of(subject: str | None, relation: str, entities: Entities) -> str | None:
    """The value of a relation, None if there is none; marriages hold in both
    directions, although only one page of a couple states them.
    """
    value = entities[subject].facts.get(relation) if subject in entities else None
    if value is None and relation == "spouse" and subject:
        return next(
            (e.name for e in entities.values() if e.facts.get(relation) == subject),
            None,
        )
    return value
