"""Questions that walk from fact to fact."""

from ircot_laboratory.questions.draw import Draw
from ircot_laboratory.questions.wording import (
    INFERENCE,
    RELATIVES,
    find_telling_word,
    word_phrase,
    word_question,
)
from ircot_laboratory.world.records import Fact, Riddle

HOPS = {
    "1hop": 1,
    "bridge": 2,
    "compositional": 2,
    "2hop": 2,
    "3hop1": 3,
    "4hop1": 4,
    "span": 2,
}
WORKS = ("film", "novel", "album")


def draw_walk(draw: Draw) -> Riddle | None:
    """A question about the last value of a walk from one entity to the next; None if
    the walk ends early or returns to an entity.
    """
    facts = _walk(draw, draw.start())
    if not facts:
        return None
    text, asked = _ask(draw, facts)
    main = facts[0] if draw.dataset == "iirc" else None
    return draw.riddle(
        text, draw.world.value(*facts[-1]), facts, main=main, asked=asked
    )


def _walk(draw: Draw, start: str) -> list[Fact]:
    subject, seen, facts, hops = start, {start}, [], HOPS[draw.kind]
    while len(facts) < hops:
        values = draw.facts(subject)
        relations = sorted(values)
        if len(facts) < hops - 1:
            relations = [
                name for name in relations if values[name] in draw.world.entities
            ]
        if not relations:
            return []
        facts.append(Fact(subject, draw.rng.choice(relations)))
        subject = values[facts[-1].relation]
        if subject in seen:
            return []
        seen.add(subject)
    return facts


def _ask(draw: Draw, facts: list[Fact]) -> tuple[str, tuple[int, ...]]:
    """The question for the last value, and the positions of the words that ask for each
    fact.
    """
    *bridges, last = (draw.world.relation(*fact) for fact in facts)
    phrase, asked = _name(draw, facts[0].subject), []
    for relation in bridges:
        phrase, asked = _wrap(
            word_phrase(draw.dataset, relation, phrase), phrase, asked
        )
    text, asked = _wrap(word_question(draw.dataset, last, phrase), phrase, asked)
    return text, tuple(asked)


def _name(draw: Draw, start: str) -> str:
    """The name of the first entity; for works, with their noun in data sets that do so."""
    before = {"hotpotqa": "the ", "2wikimultihopqa": ""}.get(draw.dataset)
    is_work = draw.world.entities[start].kind in WORKS
    return (
        f"{before}{draw.noun(start)} {start}"
        if is_work and before is not None
        else start
    )


def _wrap(text: str, phrase: str, asked: list[int]) -> tuple[str, list[int]]:
    """A text that contains a phrase, and the positions of the words that ask for each
    fact: those of the phrase, and the text's own.
    """
    start = text.index(phrase)
    return text, [*(start + at for at in asked), find_telling_word(text, phrase)]


def draw_inference(draw: Draw) -> Riddle | None:
    """A question for a relation that no page states but that follows from two stated
    ones.
    """
    a = draw.start(("person",))
    first, second = draw.rng.choice(list(RELATIVES))
    middle = draw.facts(a).get(first)
    answer = draw.facts(middle).get(second) if middle else None
    if not answer or len({a, middle, answer}) < 3:
        return None
    role = RELATIVES[first, second]
    text, thus = (part.format(role=role, a=a, x=answer) for part in INFERENCE)
    return draw.riddle(text, answer, [Fact(a, first), Fact(middle, second)], thus)
