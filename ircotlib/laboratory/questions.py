"""Questions about a miniature encyclopedia in the styles of four data sets, with gold facts and
gold chains of thought.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ircotlib.laboratory.encyclopedia import CREATORS, MEMBERS, World, make_popular
from ircotlib.laboratory.relations import KINDS, RELATIONS, Relation
from ircotlib.laboratory.wording import (
    AGE,
    ANSWER,
    BRIDGE,
    COMPARISONS,
    COUNT,
    EVENTS,
    INFERENCE,
    RELATIVES,
    SAME_QUESTION,
    SAME_THOUGHTS,
    WHEN,
    ask,
    describe,
    find_telling_word,
    list_names,
    word_thought,
)  # fmt: skip

STYLES = {  # kinds of question, by their names in the official files, and their shares
    "hotpotqa": {"bridge": 0.75, "comparison": 0.25},
    "2wikimultihopqa": {
        "compositional": 0.4,
        "comparison": 0.2,
        "bridge_comparison": 0.2,
        "inference": 0.2,
    },
    "musique": {"2hop": 0.5, "3hop1": 0.3, "4hop1": 0.2},
    "iirc": {"span": 0.5, "age": 0.25, "count": 0.25},
}
HOPS = {"1hop": 1, "bridge": 2, "compositional": 2, "2hop": 2, "3hop1": 3, "4hop1": 4, "span": 2}
POPULAR_SHARE = 0.1  # of the questions start from a popular entity
TRIES = 3000  # draws after which a world is too small for a kind of question

Fact = tuple[str, str]  # subject, relation


@dataclass(frozen=True, slots=True)
class Thought:
    """One sentence of a chain: `fact` is what it states, None when it follows from those before it."""

    text: str
    fact: Fact | None = None


@dataclass(frozen=True, slots=True)
class Riddle:
    """A question with its gold chain.

    `compared`: the thoughts whose values are compared with each other, or with the value `sought`
    in the question. `main`: in the style "iirc", the fact whose paragraph is the main passage.
    `given`: facts that the chain uses without stating them, all in the main passage. `asked`: in a
    question that walks from fact to fact, where the word stands that asks for each.
    """

    style: str
    kind: str
    text: str
    answer: str
    thoughts: tuple[Thought, ...]
    compared: tuple[int, ...] = ()
    sought: str = ""
    main: Fact | None = None
    given: tuple[Fact, ...] = ()
    asked: tuple[int, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts that are needed, in order."""
        return (*self.given, *(thought.fact for thought in self.thoughts if thought.fact))

    @property
    def linked(self) -> list[str]:
        """In the style "iirc", the titles of the pages other than the main passage's that state
        facts, in order.
        """
        return list(dict.fromkeys(subject for subject, _ in self.facts if subject != self.main[0]))

    @property
    def chain(self) -> str:
        """The whole chain of thought."""
        return " ".join(thought.text for thought in self.thoughts)


def find_relation(world: World, subject: str, name: str) -> Relation:
    """The relation of that name for the subject's kind."""
    return next(
        relation for relation in RELATIONS[world.entities[subject].kind] if relation.name == name
    )


def value_of(world: World, fact: Fact) -> str:
    """The value of a fact."""
    return world.entities[fact[0]].facts[fact[1]]


def state(dialect: str, world: World, fact: Fact) -> Thought:
    """The sentence of a chain that states a fact, in the dialect of a style's chains."""
    return Thought(
        word_thought(
            dialect, find_relation(world, *fact), world.entities[fact[0]], value_of(world, fact)
        ),
        fact,
    )


def draw_riddle(
    world: World, rng: random.Random, style: str, kind: str, dialect: str | None = None
) -> Riddle:
    """Draw one question of a style and kind (STYLES; "1hop" in any style); `dialect`: the style of
    its chain, None: its own.

    Raises ValueError when none is found: the world is too small.
    """
    draw = _DRAWS.get(kind, _chain)
    for _ in range(TRIES):
        if riddle := draw(world, rng, style, kind, dialect or style):
            return riddle
    raise ValueError(
        f"no question of kind {kind!r} found in {TRIES} draws from {len(world.entities)} entities: make the world larger"
    )


def _start(world: World, rng: random.Random, kinds: tuple[str, ...] = tuple(KINDS)) -> str:
    """Where a question starts: an entity of one of these kinds, sometimes a popular one."""
    names = list(make_popular() if rng.random() < POPULAR_SHARE else world.entities)
    return next(
        name for name in iter(lambda: rng.choice(names), None) if world.entities[name].kind in kinds
    )


def _finish(*thoughts: Thought, answer: str) -> tuple[Thought, ...]:
    return (*thoughts, Thought(ANSWER.format(answer=answer)))


def _chain(world: World, rng: random.Random, style: str, kind: str, dialect: str) -> Riddle | None:
    """Walk from one entity to the next; None where the walk ends early or returns."""
    start = subject = _start(world, rng)
    facts, seen, hops = [], {start}, HOPS[kind]
    while len(facts) < hops:
        relations = sorted(world.entities[subject].facts)
        if len(facts) < hops - 1:
            relations = [
                name for name in relations if world.entities[subject].facts[name] in world.entities
            ]
        if not relations:
            return None
        facts.append((subject, rng.choice(relations)))
        subject = value_of(world, facts[-1])
        if subject in seen:
            return None
        seen.add(subject)
    noun = f"{KINDS[world.entities[start].kind].noun} {start}"
    works = world.entities[start].kind in ("film", "novel", "album")
    phrase = (
        f"the {noun}"
        if works and style == "hotpotqa"
        else noun
        if works and style == "2wikimultihopqa"
        else start
    )
    *bridges, last = (find_relation(world, *fact) for fact in facts)
    asked = []
    for relation in bridges:
        phrase, asked = _wrap(describe(style, relation, phrase), phrase, asked)
    text, asked = _wrap(ask(style, last, phrase), phrase, asked)
    thoughts = _finish(*(state(dialect, world, fact) for fact in facts), answer=subject)
    return Riddle(
        style,
        kind,
        text,
        subject,
        thoughts,
        main=facts[0] if style == "iirc" else None,
        asked=tuple(asked),
    )


def _wrap(text: str, phrase: str, asked: list[int]) -> tuple[str, list[int]]:
    """A text that has a phrase in it, and where the words stand in it that ask for each fact: those
    of the phrase, and the text's own.
    """
    start = text.index(phrase)
    return text, [*(start + at for at in asked), find_telling_word(text, phrase)]


def _compare(
    world: World, rng: random.Random, style: str, kind: str, dialect: str
) -> Riddle | None:
    """Two years, or (HotpotQA) whether two cities are in the same country."""
    if style == "hotpotqa" and rng.random() < 0.25:
        return _same_country(world, rng, style, kind, dialect)
    name = rng.choice(sorted(COMPARISONS[style]))
    of = tuple(
        kind for kind, relations in RELATIONS.items() if any(r.name == name for r in relations)
    )
    a = _start(world, rng, of)
    b = _start(world, rng, (world.entities[a].kind,))
    if (
        a == b
        or any(name not in world.entities[x].facts for x in (a, b))
        or value_of(world, (a, name)) == value_of(world, (b, name))
    ):
        return None
    when = rng.choice(WHEN[style])
    answer = _choose(world, (a, name), (b, name), when)[0]
    question, thus = COMPARISONS[style][name]
    text = question.format(when=when, noun=KINDS[world.entities[a].kind].noun, a=a, b=b)
    thoughts = _finish(
        state(dialect, world, (a, name)),
        state(dialect, world, (b, name)),
        Thought(thus.format(x=answer, when=when)),
        answer=answer,
    )
    return Riddle(style, kind, text, answer, thoughts, compared=(0, 1))


def _choose(world: World, a: Fact, b: Fact, when: str) -> Fact:
    """Of two facts about years, the one with the earlier or the later year."""
    first, last = sorted((a, b), key=lambda fact: int(value_of(world, fact)))
    return first if when in ("first", "earlier") else last


def _same_country(
    world: World, rng: random.Random, style: str, kind: str, dialect: str
) -> Riddle | None:
    a = _start(world, rng, ("city",))
    answer = rng.choice(("yes", "no"))
    country = world.entities[a].facts.get("country")
    others = [
        e.name
        for e in world.entities.values()
        if "country" in e.facts
        and e.name != a
        and (e.facts["country"] == country) == (answer == "yes")
    ]
    if not country or not others:
        return None
    b = rng.choice(others)
    thus = Thought(SAME_THOUGHTS[answer].format(a=a, b=b))
    thoughts = _finish(
        state(dialect, world, (a, "country")),
        state(dialect, world, (b, "country")),
        thus,
        answer=answer,
    )
    return Riddle(style, kind, SAME_QUESTION.format(a=a, b=b), answer, thoughts, compared=(0, 1))


def _bridge_comparison(
    world: World, rng: random.Random, style: str, kind: str, dialect: str
) -> Riddle | None:
    """Which of two works has the maker who was born earlier."""
    a = _start(world, rng, tuple(CREATORS))
    b = _start(world, rng, (world.entities[a].kind,))
    role = CREATORS[world.entities[a].kind]
    makers = [world.entities[x].facts.get(role) for x in (a, b)]
    if (
        a == b
        or None in makers
        or makers[0] == makers[1]
        or any("birth" not in world.entities[maker].facts for maker in makers)
    ):
        return None
    births = [(maker, "birth") for maker in makers]
    if value_of(world, births[0]) == value_of(world, births[1]):
        return None
    when = rng.choice(WHEN[style])
    answer = (a, b)[births.index(_choose(world, *births, when))]
    text, thus = (
        part.format(
            noun=KINDS[world.entities[a].kind].noun, role=role, when=when, a=a, b=b, x=answer
        )
        for part in BRIDGE
    )
    stated = [
        state(dialect, world, fact)
        for x, birth in zip((a, b), births, strict=True)
        for fact in ((x, role), birth)
    ]
    return Riddle(
        style, kind, text, answer, _finish(*stated, Thought(thus), answer=answer), compared=(1, 3)
    )


def _inference(
    world: World, rng: random.Random, style: str, kind: str, dialect: str
) -> Riddle | None:
    """A relation that no page states: it follows from two that are stated."""
    a = _start(world, rng, ("person",))
    first, second = rng.choice(list(RELATIVES))
    middle = world.entities[a].facts.get(first)
    answer = world.entities[middle].facts.get(second) if middle else None
    if not answer or len({a, middle, answer}) < 3:
        return None
    text, thus = (part.format(role=RELATIVES[first, second], a=a, x=answer) for part in INFERENCE)
    stated = [state(dialect, world, fact) for fact in ((a, first), (middle, second))]
    return Riddle(style, kind, text, answer, _finish(*stated, Thought(thus), answer=answer))


def _age(world: World, rng: random.Random, style: str, kind: str, dialect: str) -> Riddle | None:
    """How old the maker of a work was when it came out."""
    a = _start(world, rng, tuple(CREATORS))
    facts, role = world.entities[a].facts, CREATORS[world.entities[a].kind]
    dated = next((name for name in EVENTS if name in facts), None)
    maker = facts.get(role)
    if (
        not dated
        or not maker
        or "birth" not in world.entities[maker].facts
        or world.passage(a, role) != world.passage(a, dated)
    ):
        return None
    n = int(facts[dated]) - int(value_of(world, (maker, "birth")))
    text = AGE[0].format(
        role=describe(style, find_relation(world, a, role), a), a=a, event=EVENTS[dated]
    )
    stated = [state(dialect, world, fact) for fact in ((a, role), (maker, "birth"), (a, dated))]
    thus = Thought(AGE[1].format(x=maker, n=n))
    return Riddle(
        style,
        kind,
        text,
        str(n),
        _finish(*stated, thus, answer=str(n)),
        compared=(1, 2),
        main=(a, role),
    )


def _count(world: World, rng: random.Random, style: str, kind: str, dialect: str) -> Riddle | None:
    """How many members of a band were born in a city; the rarer numbers are asked for more often."""
    a = _start(world, rng, ("band",))
    facts = world.entities[a].facts
    members = [facts[role] for role in MEMBERS if role in facts]
    birthplaces = [world.entities[member].facts.get("birthplace") for member in members]
    passages = {world.passage(a, role) for role in MEMBERS if role in facts}
    if len(set(members)) < 3 or None in birthplaces or len(passages) > 1:
        return None
    wanted, cities = (
        rng.choices(range(4), (2, 3, 4, 6))[0],
        [name for name, e in world.entities.items() if e.kind == "city"],
    )
    places = [
        place
        for place in dict.fromkeys([*birthplaces, facts["home"], rng.choice(cities)])
        if birthplaces.count(place) == wanted
    ]
    if not places:
        return None
    place, n = rng.choice(places), str(wanted)
    text, thus, nobody = COUNT
    from_there = [
        member
        for member, birthplace in zip(members, birthplaces, strict=True)
        if birthplace == place
    ]
    those = list_names(from_there) or nobody.format(n=n)
    thus = thus.format(those=those, were="was" if wanted == 1 else "were", place=place)
    stated = [state(dialect, world, (member, "birthplace")) for member in members]
    given = tuple((a, role) for role in MEMBERS)
    chain = _finish(*stated, Thought(thus), answer=n)
    return Riddle(
        style,
        kind,
        text.format(a=a, place=place),
        n,
        chain,
        compared=(0, 1, 2),
        sought=place,
        main=given[0],
        given=given,
    )


_DRAWS: dict[str, Callable] = {
    "comparison": _compare, "bridge_comparison": _bridge_comparison, "inference": _inference, "age": _age, "count": _count,
}  # fmt: skip


def make_riddles(world: World, count: int, style: str, seed: int) -> list[Riddle]:
    """Draw `count` different questions of a style, each kind in its share, in random order;
    ValueError when the world is too small.
    """
    rng, riddles, shares = random.Random(f"questions {style} {seed}"), {}, 0.0
    for kind, share in STYLES[style].items():
        shares += share
        target = round(shares * count)
        for _ in range(TRIES + 100 * count):
            if len(riddles) == target:
                break
            riddle = draw_riddle(world, rng, style, kind)
            riddles.setdefault((frozenset(riddle.facts), riddle.answer), riddle)
        else:
            raise ValueError(
                f"found {len(riddles)} different questions where {target} are wanted, by kind {kind!r}: make the world larger"
            )
    return rng.sample(list(riddles.values()), len(riddles))
