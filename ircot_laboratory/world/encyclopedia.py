"""Generates encyclopedias: entities with facts, and a page about each."""

import random
from functools import cache, lru_cache

from ircot_laboratory.world.names import LISTS, MEN, draw_names, find_shares
from ircot_laboratory.world.pages import write_pages
from ircot_laboratory.world.records import Entity, World
from ircot_laboratory.world.relations import KINDS, MAKERS, RELATIONS, Relation

# years of birth, and all other years: in one century, so that there are few differences
BIRTHS, YEARS = range(1900, 1950), range(1920, 2000)
AGES = range(20, 50)  # of makers when their works came out
MEMBERS = ("singer", "drummer", "pianist")


@lru_cache(maxsize=12)
def make_world(
    seed: int,
    size: int = 2400,
    dataset: str = "hotpotqa",
    *,
    held_out: bool = True,
    variety: float = 1.0,
) -> World:
    """Make the encyclopedia for a seed, of about `size` pages, written for a data set
    (questions.ALL_DATASETS).

    The facts are the same for every data set, but the wording of the pages is not;
    pages of "iirc" have up to two paragraphs. `held_out`: use the names that no
    training world uses. `variety`: see `draw_names`. The popular entities are in every
    world.
    """
    entities = make_entities(seed, size, held_out=held_out, variety=variety)
    return World(entities, write_pages(entities, dataset, seed))


@lru_cache(maxsize=3)  # the worlds of all data sets share them
def make_entities(
    seed: int, size: int = 2400, *, held_out: bool = True, variety: float = 1.0
) -> dict[str, Entity]:
    """The entities of a world with their facts, by name, the popular ones first."""
    rng = random.Random(f"world {seed} {size} {held_out} {variety}")
    popular = make_popular()
    counts = {name: max(4, round(kind.share * size)) for name, kind in KINDS.items()}
    drawn = _draw_entities(rng, counts, set(popular), held_out, variety)
    entities = popular | drawn
    _draw_facts(list(drawn.values()), entities, rng)
    return entities


@cache
def make_popular() -> dict[str, Entity]:
    """The few entities with the same facts in every world, so that models know them."""
    rng = random.Random("popular")
    counts = {name: kind.popular for name, kind in KINDS.items()}
    entities = _draw_entities(rng, counts, set(), held_out=False, variety=1.0)
    _draw_facts(list(entities.values()), entities, rng)
    return entities


def _draw_entities(
    rng: random.Random,
    counts: dict[str, int],
    taken: set[str],
    held_out: bool,
    variety: float,
) -> dict[str, Entity]:
    taken = set(taken)
    entities = {}
    shares = find_shares(counts, taken, held_out) if variety == 1 else {}
    for kind, count in counts.items():
        share = shares.get(kind, 1.0)
        for name in draw_names(kind, count, taken, rng, held_out, variety, share):
            entities[name] = Entity(name, kind, rng.choice(KINDS[kind].categories))
    return entities


def _draw_facts(
    drawn: list[Entity], entities: dict[str, Entity], rng: random.Random
) -> None:
    """Draw 3 or 4 facts for each entity (4 or 5 for persons, all for bands). A work
    comes out when its maker is 20 to 49; members of a band are often born in its home
    city.
    """
    by_kind = names_by_kind(entities)
    for entity in drawn:
        relations = RELATIONS[entity.kind]
        count = rng.choice((3, 4)) + (entity.kind in ("person", "band"))
        for relation in rng.sample(relations, k=min(len(relations), count)):
            value = draw_value(relation, entity.name, by_kind, rng)
            entity.facts[relation.name] = value
    own = {entity.name for entity in drawn}
    _settle_marriages(entities)
    for entity in drawn:
        role = MAKERS.get(entity.kind, "")
        maker = entities.get(entity.facts.get(role, ""))
        for dated in ("release", "opening"):
            if maker and dated in entity.facts and "birth" in maker.facts:
                entity.facts[dated] = str(int(maker.facts["birth"]) + rng.choice(AGES))
        _settle_members(entity, entities, own, by_kind["city"], rng)


def names_by_kind(entities: dict[str, Entity]) -> dict[str, list[str]]:
    """The names from which values are drawn: those of each kind, and of men."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for entity in entities.values():
        by_kind[entity.kind].append(entity.name)
    men = [name for name in by_kind["person"] if name.split()[0] in MEN]
    return by_kind | {"man": men}


def draw_value(
    relation: Relation, subject: str, by_kind: dict[str, list[str]], rng: random.Random
) -> str:
    """Draw a value for a relation, other than the subject itself."""
    if relation.value == "year":
        return str(rng.choice(BIRTHS if relation.name == "birth" else YEARS))
    values = LISTS.get(relation.value) or by_kind[relation.value]
    while (value := rng.choice(values)) == subject:
        pass
    return value


def _settle_marriages(entities: dict[str, Entity]) -> None:
    """Delete marriages that contradict an earlier page: nobody is married twice, and
    only one page of a couple states the marriage.
    """
    married: set[str] = set()
    for entity in entities.values():
        if "spouse" not in entity.facts:
            continue
        couple = {entity.name, entity.facts["spouse"]}
        if couple & married:
            del entity.facts["spouse"]
        else:
            married |= couple


def _settle_members(
    entity: Entity,
    entities: dict[str, Entity],
    own: set[str],
    cities: list[str],
    rng: random.Random,
) -> None:
    """Give the members of a band birthplaces, often its home city."""
    for member in sorted(own & {entity.facts.get(name) for name in MEMBERS}):
        facts = entities[member].facts
        if rng.random() < 0.7:
            facts["birthplace"] = entity.facts["home"]
        else:
            facts["birthplace"] = facts.get("birthplace") or rng.choice(cities)
