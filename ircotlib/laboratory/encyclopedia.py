"""The generator of miniature encyclopedias: entities with facts, and a readable page about each,
written anew for every data-set style.
"""

import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache

from ircotlib.laboratory.names import MEN, WOMEN, draw_names
from ircotlib.laboratory.relations import KINDS, LISTS, RELATIONS, Relation

# years of birth, and all other years: one century, so that differences are few
BIRTHS, YEARS = range(1900, 1950), range(1920, 2000)
AGES = range(20, 50)  # of a person when what he or she made came out
POPULAR = {
    "person": 14,
    "film": 4,
    "novel": 3,
    "album": 3,
    "band": 2,
    "studio": 1,
    "press": 1,
    "label": 1,
    "university": 2,
    "city": 5,
    "country": 3,
}
CREATORS = {
    "film": "director",
    "novel": "author",
    "album": "performer",
    "studio": "founder",
    "press": "founder",
    "label": "founder",
}
MEMBERS = ("singer", "drummer", "pianist")
# words of a paragraph: shorter lines of a page are left out of IIRC's corpus (IRCoT App. A)
SHORTEST = 11


@dataclass(slots=True)
class Entity:
    """An entity and its facts: relation name -> value (a name, a word or a year), each stated in
    its own page only.
    """

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
class Passage:
    """A paragraph of a page, and the places of the facts in it."""

    title: str
    text: str
    spans: tuple[Span, ...]

    def span(self, relation: str) -> Span:
        """Where the paragraph states this fact; StopIteration where it does not."""
        return next(span for span in self.spans if span.relation == relation)


@dataclass(frozen=True, slots=True)
class World:
    """An encyclopedia: entities, and the page of each by its name (= title), of one paragraph or of
    two.
    """

    entities: dict[str, Entity]
    pages: dict[str, tuple[Passage, ...]]

    def passage(self, subject: str, relation: str) -> Passage:
        """The paragraph that states a fact."""
        return next(
            passage
            for passage in self.pages[subject]
            if any(span.relation == relation for span in passage.spans)
        )


def titles_by_word(world: World) -> dict[str, list[str]]:
    """The titles of a world by the words in them."""
    titles = defaultdict(list)
    for title in world.pages:
        for word in title.split():
            titles[word].append(title)
    return titles


def make_world(
    seed: int,
    size: int = 2400,
    style: str = "hotpotqa",
    *,
    held_out: bool = True,
    variety: float = 1.0,
) -> World:
    """Make the encyclopedia of a seed, about `size` pages long, its pages written for a data-set
    style (questions.STYLES).

    The facts are the same in every style, the wording of the pages is not; pages of the style
    "iirc" have up to two paragraphs. `held_out`: take the names that no training world uses.
    `variety`: see `draw_names`. The popular entities are in every world.
    """
    entities = make_entities(seed, size, held_out=held_out, variety=variety)
    return World(entities, write_pages(entities, style, seed))


def make_entities(
    seed: int, size: int = 2400, *, held_out: bool = True, variety: float = 1.0
) -> dict[str, Entity]:
    """The entities of a world with their facts, by name, the popular ones first."""
    rng, popular = random.Random(f"world {seed} {size} {held_out} {variety}"), make_popular()
    counts = {kind: max(4, round(about.share * size)) for kind, about in KINDS.items()}
    drawn = _draw_entities(rng, counts, set(popular), held_out, variety)
    entities = popular | drawn
    _draw_facts(list(drawn.values()), entities, rng)
    return entities


@cache
def make_popular() -> dict[str, Entity]:
    """The few popular entities, the same with the same facts in every world: what a model can know
    by heart.
    """
    rng = random.Random("popular")
    entities = _draw_entities(rng, POPULAR, set(), False, 1.0)
    _draw_facts(list(entities.values()), entities, rng)
    return entities


def write_pages(
    entities: dict[str, Entity], style: str, seed: int
) -> dict[str, tuple[Passage, ...]]:
    """Write the page of every entity for a style."""
    rng = random.Random(f"pages {style} {seed}")
    return {
        name: write_page(entity, rng, parts=2 if style == "iirc" else 1)
        for name, entity in entities.items()
    }


def _draw_entities(
    rng: random.Random, counts: dict[str, int], taken: set[str], held_out: bool, variety: float
) -> dict[str, Entity]:
    taken, entities = set(taken), {}
    for kind, count in counts.items():
        for name in draw_names(kind, count, taken, rng, held_out, variety):
            entities[name] = Entity(name, kind, rng.choice(KINDS[kind].categories))
    return entities


def _draw_facts(drawn: list[Entity], entities: dict[str, Entity], rng: random.Random) -> None:
    """Draw 3 or 4 facts for each (persons 4 or 5, bands all); a work comes out in its maker's life,
    members of a band often come from its home.
    """
    by_kind = {kind: [e.name for e in entities.values() if e.kind == kind] for kind in KINDS}
    by_kind["man"] = [name for name in by_kind["person"] if name.split()[0] in MEN]
    for entity in drawn:
        relations, more = RELATIONS[entity.kind], entity.kind in ("person", "band")
        for relation in rng.sample(relations, k=min(len(relations), rng.choice((3, 4)) + more)):
            entity.facts[relation.name] = draw_value(relation, entity.name, by_kind, rng)
    mine = {entity.name for entity in drawn}
    _settle_marriages(entities)
    for entity in drawn:
        _date_work(entity, entities, rng)
        _settle_members(entity, entities, mine, by_kind["city"], rng)


def draw_value(
    relation: Relation, subject: str, by_kind: dict[str, list[str]], rng: random.Random
) -> str:
    """Draw a value for a relation, other than the subject itself."""
    if relation.value == "year":
        return str(rng.choice(BIRTHS if relation.name == "birth" else YEARS))
    choices = LISTS.get(relation.value) or by_kind[relation.value]
    value = rng.choice(choices)
    return value if value != subject else draw_value(relation, subject, by_kind, rng)


def _date_work(entity: Entity, entities: dict[str, Entity], rng: random.Random) -> None:
    maker = entities.get(entity.facts.get(CREATORS.get(entity.kind), ""))
    for dated in ("release", "opening"):
        if maker and dated in entity.facts and "birth" in maker.facts:
            entity.facts[dated] = str(int(maker.facts["birth"]) + rng.choice(AGES))


def _settle_marriages(entities: dict[str, Entity]) -> None:
    """Leave out the marriages that contradict an earlier page: nobody is married twice, and of a
    couple one page says so.
    """
    married = set()
    for entity in entities.values():
        couple = {entity.name, entity.facts.get("spouse")}
        if None not in couple and couple & married:
            del entity.facts["spouse"]
        elif None not in couple:
            married |= couple


def _settle_members(
    entity: Entity,
    entities: dict[str, Entity],
    mine: set[str],
    cities: list[str],
    rng: random.Random,
) -> None:
    for member in sorted(mine & {entity.facts.get(name) for name in MEMBERS}):
        facts = entities[member].facts
        facts["birthplace"] = (
            entity.facts["home"]
            if rng.random() < 0.7
            else facts.get("birthplace") or rng.choice(cities)
        )


def write_page(entity: Entity, rng: random.Random, parts: int = 1) -> tuple[Passage, ...]:
    """Write an entity's page: a first sentence that names it, then its facts in random order and
    wording, in up to so many paragraphs.

    Every paragraph begins with a sentence that names the entity and has SHORTEST words at least.
    """
    names = rng.sample(list(entity.facts), len(entity.facts))
    intro = KINDS[entity.kind].intro.format(name=entity.name, category=entity.category)
    if parts == 1 or len(names) < 4 or entity.kind == "band":
        return (_write_passage(entity, intro, names, rng),)
    first, second = (
        _write_passage(entity, intro, names[: len(names) // 2], rng),
        _write_passage(entity, "", names[len(names) // 2 :], rng),
    )
    if min(len(passage.text.split()) for passage in (first, second)) < SHORTEST:
        return (_write_passage(entity, intro, names, rng),)
    return first, second


def _write_passage(entity: Entity, text: str, names: list[str], rng: random.Random) -> Passage:
    wordings, spans = {relation.name: relation.wordings for relation in RELATIONS[entity.kind]}, []
    for name in names:
        before, after = mention(
            rng.choice(wordings[name]), entity, rng.choice(FORMS) if text else "name"
        ).split("{o}")
        text += " " if text else ""
        start = len(text) + len(before)
        spans.append(Span(name, start, start + len(entity.facts[name])))
        text += f"{before}{entity.facts[name]}{after}"
    return Passage(entity.name, text, tuple(spans))


FORMS = ("name", "name", "pronoun", "pronoun", "noun")


def mention(wording: str, entity: Entity, form: str = "name") -> str:
    """Put a mention of the subject into a wording: its "name", a "pronoun", or "the" and its
    "noun".
    """
    person, woman = entity.kind == "person", entity.name.split()[0] in WOMEN
    subject, inside, possessive = (
        ("She", "her", "Her")
        if person and woman
        else ("He", "him", "His")
        if person
        else ("It", "it", "Its")
    )
    noun = entity.category if person else KINDS[entity.kind].noun
    forms = {
        "name": (entity.name, entity.name, entity.name + "'s"),
        "pronoun": (subject, inside, possessive),
        "noun": (f"The {noun}", f"the {noun}", f"The {noun}'s"),
    }
    s, inside, p = forms[form]
    return wording.replace("{S}", s).replace("{s}", inside).replace("{P}", p)
