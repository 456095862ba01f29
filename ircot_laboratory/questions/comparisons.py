"""Questions that compare facts: earlier or later, the same, how long, how many."""

from ircot_laboratory.questions.draw import Draw
from ircot_laboratory.questions.wording import (
    AGE,
    BRIDGE,
    COMPARISONS,
    COUNT,
    EVENTS,
    SAME_QUESTION,
    SAME_THOUGHTS,
    WHEN,
    word_count,
    word_phrase,
)
from ircot_laboratory.world.encyclopedia import MEMBERS
from ircot_laboratory.world.records import Fact, Riddle
from ircot_laboratory.world.relations import MAKERS, RELATIONS, names_of

# number of members in the answer: weight in the draw
NUMBERS = {0: 2, 1: 3, 2: 4, 3: 6}


def draw_comparison(draw: Draw) -> Riddle | None:
    """Which of two entities has the earlier or later year; in a quarter of the draws
    for HotpotQA, whether two cities are in the same country.
    """
    if draw.dataset == "hotpotqa" and draw.rng.random() < 0.25:
        return _draw_same_country(draw)
    name = draw.rng.choice(sorted(COMPARISONS[draw.dataset]))
    a = draw.start([kind for kind in RELATIONS if name in names_of(kind)])
    b = draw.start((draw.world.entities[a].kind,))
    facts = [Fact(a, name), Fact(b, name)]
    if a == b or not _differ(draw, facts):
        return None
    when = draw.rng.choice(WHEN[draw.dataset])
    answer = _choose(draw, facts, when).subject
    words = {"when": when, "noun": draw.noun(a), "a": a, "b": b, "x": answer}
    text, thus = COMPARISONS[draw.dataset][name].fill(**words)
    return draw.riddle(text, answer, facts, thus, compared=(0, 1))


def _differ(draw: Draw, facts: list[Fact]) -> bool:
    """Whether the world has all these facts and their values differ."""
    values = [draw.facts(subject).get(relation) for subject, relation in facts]
    return None not in values and len(set(values)) == len(values)


def _choose(draw: Draw, facts: list[Fact], when: str) -> Fact:
    """The one of two facts with the earlier or the later year."""
    first, last = sorted(facts, key=lambda fact: int(draw.world.value(*fact)))
    return first if when in ("first", "earlier") else last


def _draw_same_country(draw: Draw) -> Riddle | None:
    a = draw.start(("city",))
    answer = draw.rng.choice(("yes", "no"))
    same, different = draw.same_and_others("country", a)
    others = same if answer == "yes" else different
    if not others:
        return None
    b = draw.rng.choice(others)
    facts = [Fact(a, "country"), Fact(b, "country")]
    text = SAME_QUESTION.format(a=a, b=b)
    thus = SAME_THOUGHTS[answer].format(a=a, b=b)
    return draw.riddle(text, answer, facts, thus, compared=(0, 1))


def draw_bridge_comparison(draw: Draw) -> Riddle | None:
    """Which of two works has the maker who was born earlier or later."""
    a = draw.start(MAKERS)
    b = draw.start((draw.world.entities[a].kind,))
    role = MAKERS[draw.world.entities[a].kind]
    made = [Fact(a, role), Fact(b, role)]
    if a == b or not _differ(draw, made):
        return None
    births = [Fact(draw.world.value(*fact), "birth") for fact in made]
    if not _differ(draw, births):
        return None
    when = draw.rng.choice(WHEN[draw.dataset])
    answer = (a, b)[births.index(_choose(draw, births, when))]
    words = {"when": when, "noun": draw.noun(a), "a": a, "b": b, "x": answer}
    text, thus = BRIDGE.fill(role=role, **words)
    facts = [made[0], births[0], made[1], births[1]]
    return draw.riddle(text, answer, facts, thus, compared=(1, 3))


def draw_age(draw: Draw) -> Riddle | None:
    """How old the maker of a work was when it came out."""
    a = draw.start(MAKERS)
    role = MAKERS[draw.world.entities[a].kind]
    dated = next((name for name in EVENTS if name in draw.facts(a)), "")
    maker = draw.facts(a).get(role)
    if not dated or not maker or "birth" not in draw.facts(maker):
        return None
    made, birth, event = Fact(a, role), Fact(maker, "birth"), Fact(a, dated)
    # the main passage has both facts about the work
    if draw.world.passage(*made) != draw.world.passage(*event):
        return None
    n = str(int(draw.world.value(*event)) - int(draw.world.value(*birth)))
    whose = word_phrase(draw.dataset, draw.world.relation(a, role), a)
    text = AGE.question.format(role=whose, a=a, event=EVENTS[dated])
    thus = AGE.thought.format(x=maker, n=n)
    return draw.riddle(text, n, [made, birth, event], thus, compared=(1, 2), main=made)


def draw_count(draw: Draw) -> Riddle | None:
    """How many members of a band were born in a city; the draw favours the higher
    numbers, which are rarer.
    """
    a = draw.start(("band",))
    facts = draw.facts(a)
    given = tuple(Fact(a, role) for role in MEMBERS if role in facts)
    births = [Fact(facts[role], "birthplace") for _, role in given]
    cities = [draw.facts(member).get("birthplace") for member, _ in births]
    passages = {draw.world.passage(*fact) for fact in given}
    if len(set(births)) < 3 or None in cities or len(passages) > 1:
        return None
    [wanted] = draw.rng.choices(list(NUMBERS), list(NUMBERS.values()))
    elsewhere = draw.rng.choice(draw.world.by_kind["city"]).name
    asked = dict.fromkeys([*cities, facts["home"], elsewhere])
    possible = [city for city in asked if cities.count(city) == wanted]
    if not possible:
        return None
    city = draw.rng.choice(possible)
    members = [member for member, _ in births]
    born = [name for name, at in zip(members, cities, strict=True) if at == city]
    return draw.riddle(
        COUNT.question.format(a=a, place=city),
        str(len(born)),
        births,
        word_count(born, city),
        main=given[0],
        given=given,
        compared=tuple(range(len(births))),
        sought=city,
    )
