"""Questions about a miniature encyclopedia, with gold facts and gold chains of thought."""

import random
from dataclasses import dataclass

from ircotlib.data import Question
from ircotlib.world.encyclopedia import World
from ircotlib.world.relations import KINDS, RELATIONS, Relation

SHARES = {"1hop": 0.10, "2hop": 0.35, "3hop": 0.25, "4hop": 0.15, "comparison": 0.10, "same": 0.05}

COMPARISONS = {
    "birth": ("Who was born {when}, {a} or {b}?", "Thus, {x} was born {when}."),
    "release": ("Which {noun} came out {when}, {a} or {b}?", "Thus, {x} came out {when}."),
    "opening": ("Which {noun} was founded {when}, {a} or {b}?", "Thus, {x} was founded {when}."),
}
SAME_QUESTION = "Are {a} and {b} in the same country?"
SAME_THOUGHTS = {"yes": "Thus, {a} and {b} are in the same country.", "no": "Thus, {a} and {b} are in different countries."}
ANSWER = "So the answer is: {answer}."
TRIES = 1000  # draws after which a world is too small for a kind of question


@dataclass(frozen=True, slots=True)
class Riddle:
    """A question with its gold chain: `facts` are (subject, relation) in the order they are needed; the first
    len(facts) `thoughts` state one each, the others follow from them, and the last gives the answer."""

    text: str
    answer: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    thoughts: tuple[str, ...]


def find_relation(world: World, subject: str, name: str) -> Relation:
    """The relation of that name for the subject's kind."""
    return next(relation for relation in RELATIONS[world.entities[subject].kind] if relation.name == name)


def draw_riddle(world: World, rng: random.Random, kind: str) -> Riddle:
    """Draw one question of a kind: "1hop" to "4hop", "comparison" (of years) or "same" (country; yes or no)."""
    if kind == "comparison":
        return _compare(world, rng)
    if kind == "same":
        return _same_country(world, rng)
    return _chain(world, rng, hops=int(kind[0]))


def _chain(world: World, rng: random.Random, hops: int) -> Riddle:
    """Walk `hops` relations from one entity; start again from another one where the walk ends early or returns."""
    for _ in range(TRIES):
        start = subject = rng.choice(list(world.entities))
        facts, values, seen = [], [], {start}
        while len(facts) < hops and subject in world.entities:
            relations = sorted(world.entities[subject].facts)
            if len(facts) < hops - 1:
                relations = [name for name in relations if world.entities[subject].facts[name] in world.entities]
            if not relations:
                break
            facts.append((subject, rng.choice(relations)))
            subject = world.entities[subject].facts[facts[-1][1]]
            values.append(subject)
            if subject in seen:
                break
            seen.add(subject)
        if len(facts) == hops == len(seen) - 1:
            return _ask(world, rng, tuple(facts), values)
    raise ValueError(f"no question of {hops} hops found in {TRIES} draws from {len(world.entities)} entities: make the world larger")


def _ask(world: World, rng: random.Random, facts: tuple, values: list[str]) -> Riddle:
    relations = [find_relation(world, *fact) for fact in facts]
    start = facts[0][0]
    phrase = start
    if world.entities[start].kind in ("film", "novel", "album") and rng.random() < 0.5:
        phrase = f"the {KINDS[world.entities[start].kind].noun} {start}"
    for relation in relations[:-1]:
        phrase = relation.phrase.format(x=phrase)
    question = rng.choice(relations[-1].questions).format(x=phrase)
    thoughts = [r.thought.format(s=s, o=o) for r, (s, _), o in zip(relations, facts, values, strict=True)]
    return Riddle(question, values[-1], f"{len(facts)}hop", facts, (*thoughts, ANSWER.format(answer=values[-1])))


def _compare(world: World, rng: random.Random) -> Riddle:
    name = rng.choice(sorted(COMPARISONS))
    kind = rng.choice([kind for kind, relations in RELATIONS.items() if any(r.name == name for r in relations)])
    a, b = rng.sample([e.name for e in world.entities.values() if e.kind == kind and name in e.facts], 2)
    years = [int(world.entities[x].facts[name]) for x in (a, b)]
    if years[0] == years[1]:
        return _compare(world, rng)
    when = rng.choice(("first", "last"))
    answer = (a, b)[(years[0] < years[1]) != (when == "first")]
    question, thus = COMPARISONS[name]
    text = question.format(when=when, noun=KINDS[kind].noun, a=a, b=b)
    return Riddle(text, answer, "comparison", ((a, name), (b, name)), _two_facts(world, name, a, b, thus.format(x=answer, when=when), answer))


def _same_country(world: World, rng: random.Random) -> Riddle:
    cities = [e for e in world.entities.values() if e.kind == "city" and "country" in e.facts]
    a = rng.choice(cities)
    answer = rng.choice(("yes", "no"))
    others = [e for e in cities if e is not a and (e.facts["country"] == a.facts["country"]) == (answer == "yes")]
    if not others:
        return _same_country(world, rng)
    a, b = a.name, rng.choice(others).name
    thus = SAME_THOUGHTS[answer].format(a=a, b=b)
    return Riddle(SAME_QUESTION.format(a=a, b=b), answer, "same", ((a, "country"), (b, "country")), _two_facts(world, "country", a, b, thus, answer))


def _two_facts(world: World, name: str, a: str, b: str, thus: str, answer: str) -> tuple[str, ...]:
    thought = find_relation(world, a, name).thought
    facts = [thought.format(s=x, o=world.entities[x].facts[name]) for x in (a, b)]
    return (*facts, thus, ANSWER.format(answer=answer))


def make_riddles(world: World, count: int, seed: int) -> list[Riddle]:
    """Draw `count` different questions, each kind in its share (SHARES), in random order; ValueError when the world is too small."""
    rng, riddles = random.Random(f"questions {seed}"), {}
    for kind, share in SHARES.items():
        target = len(riddles) + round(share * count)
        for _ in range(TRIES + 100 * count):
            if len(riddles) == target:
                break
            riddle = draw_riddle(world, rng, kind)
            riddles.setdefault(riddle.facts, riddle)
        else:
            raise ValueError(f"found {len(riddles)} different questions where {target} are wanted, by kind {kind!r}: make the world larger")
    return rng.sample(list(riddles.values()), len(riddles))


def to_question(riddle: Riddle, world: World, id: str) -> Question:
    """The record of a question: its gold paragraphs are those that state its facts."""
    gold = tuple(world.paragraphs[subject].id for subject, _ in riddle.facts)
    return Question(id, riddle.text, (riddle.answer,), gold, dataset="mini", kind=riddle.kind)
