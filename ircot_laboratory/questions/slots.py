"""Slots to fill, as in zsRE and T-REx: a subject and a relation, "Silent Harbor [SEP] director"."""

from ircot_laboratory.questions.draw import Draw
from ircot_laboratory.world.records import Fact, Riddle
from ircot_laboratory.world.tables import read_table
from ircotlib.datasets.searchain import SEPARATOR, ask_relation

SLOTS = {row["relation"]: row["slot"] for row in read_table("slots")}
# for each relation to a city, the slot for the city's country
COUNTRIES = {row["relation"]: row["country"] for row in read_table("slots") if row["country"]}
SLOT_THOUGHT = "Thus, the {slot} of {a} is {x}."


def draw_slot(draw: Draw) -> Riddle | None:
    """A slot whose value is on one page."""
    a = draw.start()
    fact = Fact(a, draw.rng.choice(sorted(draw.facts(a))))
    return _fill(draw, SLOTS[fact.relation], [fact])


def draw_country_slot(draw: Draw) -> Riddle | None:
    """A slot for a country: the page of the subject gives the city, and the page of the city the
    country.
    """
    a = draw.start()
    places = sorted(COUNTRIES.keys() & draw.facts(a).keys())
    if not places:
        return None
    first = Fact(a, draw.rng.choice(places))
    city = draw.world.value(*first)
    if "country" not in draw.facts(city):
        return None
    return _fill(draw, COUNTRIES[first.relation], [first, Fact(city, "country")])


def _fill(draw: Draw, slot: str, facts: list[Fact]) -> Riddle:
    a, value = facts[0].subject, draw.world.value(*facts[-1])
    text = f"{a}{SEPARATOR}{slot}"
    thus = SLOT_THOUGHT.format(slot=slot, a=a, x=value) if len(facts) > 1 else ""
    return draw.riddle(ask_relation(text), value, facts, thus, input=text)
