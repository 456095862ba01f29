"""Reads sentences in any data set's wording as facts, and looks facts up."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import chain
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
    readings = []
    for relation, pattern in _fact_patterns():
        match = pattern.fullmatch(sentence)
        # a name: all its words begin with capitals
        if match and match["s"].istitle() and match["s"].split()[0] not in NO_NAMES:
            readings.append(Reading(match["s"], relation, match["o"]))
    return readings


@cache
def _fact_patterns() -> tuple[tuple[str, re.Pattern], ...]:
    """Each relation's name with a pattern of one of its wordings; each pattern once."""
    patterns = {}
    for relation in chain(*RELATIONS.values()):
        phrase = relation.phrase.replace("{x}", "{s}")
        stated = f"{phrase[0].upper()}{phrase[1:]} is {{o}}."
        for wording in (relation.thought, stated, *relation.wordings):
            template = wording.replace("{P}", "{s}'s").replace("{S}", "{s}")
            pattern = compile_template(template)
            patterns[relation.name, pattern.pattern] = relation.name, pattern
    return tuple(patterns.values())


def compile_template(template: str) -> re.Pattern:
    """A pattern that matches a template with any words in its fields; a field that
    occurs twice must hold the same words.
    """
    seen: set[str] = set()
    pattern = ""
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
        for entity in entities.values():
            if entity.facts.get("spouse") == subject:
                return entity.name
    return value


def is_true(reading: Reading, entities: Entities) -> bool:
    """Whether a world has this fact; one that no page states is false."""
    return value_of(reading.subject, reading.relation, entities) == reading.value
