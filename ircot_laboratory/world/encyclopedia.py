"""The generator of encyclopedias: entities with facts, and a page about each, worded
differently for every data set.
"""

import random
from functools import cache, lru_cache

from ircot_laboratory.world.names import LISTS, MEN, draw_names, find_shares
from ircot_laboratory.world.pages import write_pages
from ircot_laboratory.world.records import Entity, World
from ircot_laboratory.world.relations import KINDS, MAKERS, RELATIONS, Relation

# years of birth, and all other years: within one century, so that there are few
# differences
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
    rng, popular = (
        random.Random(f"world {seed} {size} {held_out} {variety}"),
        make_popular(),
    )
    counts = {name: max(4, round(kind.share * size)) for name, kind in KINDS.items()}
    drawn = _draw_entities(rng, counts, set(popular), held_out, variety)
    entities = popular | drawn
    _draw_facts(list(drawn.values()), entities, rng)
    return entities


@cache
def make_popular() -> dict[str, Entity]:
    """The few popular entities, which are in every world with the same facts, so that a
    model can memorise them.
    """
    rng, counts = (
        random.Random("popular"),
        {name: kind.popular for name, kind in KINDS.items()},
    )
    entities = _draw_entities(rng, counts, set(), False, 1.0)
    _draw_facts(list(entities.values()), entities, rng)
    return entities


def _draw_entities(
    rng: random.Random,
    counts: dict[str, int],
    taken: set[str],
    held_out: bool,
    variety: float,
) -> dict[str, Entity]:
    taken, entities = set(taken), {}
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
        relations, more = RELATIONS[entity.kind], entity.kind in ("person", "band")
        for relation in rng.sample(
            relations, k=min(len(relations), rng.choice((3, 4)) + more)
        ):
            entity.facts[relation.name] = draw_value(
                relation, entity.name, by_kind, rng
            )
    mine = {entity.name for entity in drawn}
    _settle_marriages(entities)
    for entity in drawn:
        maker = entities.get(entity.facts.get(MAKERS.get(entity.kind), ""))
        for dated in ("release", "opening"):
            if maker and dated in entity.facts and "birth" in maker.facts:
                entity.facts[dated] = str(int(maker.facts["birth"]) + rng.choice(AGES))
        _settle_members(entity, entities, mine, by_kind["city"], rng)


def names_by_kind(entities: dict[str, Entity]) -> dict[str, list[str]]:
    """The names from which values of relations are drawn: those of each kind, and of
    men.
    """
    by_kind = {
        kind: [e.name for e in entities.values() if e.kind == kind] for kind in KINDS
    }
    return by_kind | {
        "man": [name for name in by_kind["person"] if name.split()[0] in MEN]
    }


def draw_value(
    relation: Relation, subject: str, by_kind: dict[str, list[str]], rng: random.Random
) -> str:
    """Draw a value for a relation, other than the subject itself."""
    if relation.value == "year":
        return str(rng.choice(BIRTHS if relation.name == "birth" else YEARS))
    choices = LISTS.get(relation.value) or by_kind[relation.value]
    value = rng.choice(choices)
    return value if value != subject else draw_value(relation, subject, by_kind, rng)


def _settle_marriages(entities: dict[str, Entity]) -> None:
    """Delete marriages that contradict an earlier page: nobody is married twice, and
    only one page of a couple states the marriage.
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
    """Give the members of a band birthplaces, often its home city."""
    for member in sorted(mine & {entity.facts.get(name) for name in MEMBERS}):
        facts = entities[member].facts
        if rng.random() < 0.7:
            facts["birthplace"] = entity.facts["home"]
        else:
            facts["birthplace"] = facts.get("birthplace") or rng.choice(cities)
