"""The generator of miniature encyclopedias: entities with facts, and one readable paragraph about each."""

import random
from dataclasses import dataclass, field

from ircotlib.data import Paragraph
from ircotlib.world.names import WOMEN, draw_names
from ircotlib.world.relations import KINDS, LISTS, RELATIONS, Relation

YEARS = range(1810, 2000)


@dataclass(slots=True)
class Entity:
    """An entity and its facts: relation name -> value (a name, a word or a year), each stated in its own paragraph only."""

    name: str
    kind: str
    category: str
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a paragraph's text states a fact: text[start:end] is the value."""

    relation: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class World:
    """An encyclopedia: entities, paragraphs and the places of the facts, all by the entity's name (= the paragraph's title)."""

    entities: dict[str, Entity]
    paragraphs: dict[str, Paragraph]
    spans: dict[str, tuple[Span, ...]]


def make_world(seed: int, size: int = 2400, *, held_out: bool = True, variety: float = 1.0) -> World:
    """Make the encyclopedia of a seed, about `size` paragraphs long.

    `held_out`: take the names that no training world uses. `variety`: see `draw_names`.
    """
    rng = random.Random(f"world {seed} {size} {held_out} {variety}")
    entities = _draw_entities(rng, size, held_out, variety)
    by_kind = {kind: [e.name for e in entities.values() if e.kind == kind] for kind in KINDS}
    for entity in entities.values():
        _draw_facts(entity, by_kind, rng)
    paragraphs, spans = {}, {}
    for name, entity in entities.items():
        text, spans[name] = write_paragraph(entity, rng)
        paragraphs[name] = Paragraph(id=name.lower().replace(" ", "_"), title=name, text=text)
    return World(entities, paragraphs, spans)


def _draw_entities(rng: random.Random, size: int, held_out: bool, variety: float) -> dict[str, Entity]:
    taken, entities = set(), {}
    for kind, about in KINDS.items():
        for name in draw_names(kind, max(2, round(about.share * size)), taken, rng, held_out, variety):
            entities[name] = Entity(name, kind, rng.choice(about.categories))
    return entities


def _draw_facts(entity: Entity, by_kind: dict[str, list[str]], rng: random.Random) -> None:
    relations = RELATIONS[entity.kind]
    for relation in rng.sample(relations, k=min(len(relations), rng.choice((3, 4)))):
        entity.facts[relation.name] = draw_value(relation, entity.name, by_kind, rng)


def draw_value(relation: Relation, subject: str, by_kind: dict[str, list[str]], rng: random.Random) -> str:
    """Draw a value for a relation, other than the subject itself."""
    if relation.value == "year":
        return str(rng.choice(YEARS))
    choices = LISTS.get(relation.value) or by_kind[relation.value]
    value = rng.choice(choices)
    return value if value != subject else draw_value(relation, subject, by_kind, rng)


def write_paragraph(entity: Entity, rng: random.Random) -> tuple[str, tuple[Span, ...]]:
    """Write an entity's paragraph: a first sentence that names it, then its facts in random order and wording."""
    text, spans = KINDS[entity.kind].intro.format(name=entity.name, category=entity.category), []
    wordings = {relation.name: relation.wordings for relation in RELATIONS[entity.kind]}
    for name in rng.sample(list(entity.facts), len(entity.facts)):
        before, after = _mention(rng.choice(wordings[name]), entity, rng).split("{o}")
        start = len(text) + 1 + len(before)
        spans.append(Span(name, start, start + len(entity.facts[name])))
        text += f" {before}{entity.facts[name]}{after}"
    return text, tuple(spans)


def _mention(wording: str, entity: Entity, rng: random.Random) -> str:
    """Put a mention of the subject into a wording: its name, a pronoun, or "the" and its noun."""
    person, woman = entity.kind == "person", entity.name.split()[0] in WOMEN
    subject, inside, possessive = ("She", "her", "Her") if person and woman else ("He", "him", "His") if person else ("It", "it", "Its")
    noun = entity.category if person else KINDS[entity.kind].noun
    forms = {
        "name": (entity.name, entity.name, entity.name + "'s"),
        "pronoun": (subject, inside, possessive),
        "noun": (f"The {noun}", f"the {noun}", f"The {noun}'s"),
    }
    s, inside, p = forms[rng.choice(("name", "name", "pronoun", "pronoun", "noun"))]
    return wording.replace("{S}", s).replace("{s}", inside).replace("{P}", p)
