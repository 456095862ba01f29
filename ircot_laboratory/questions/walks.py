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

TWO = ("bridge", "compositional", "2hop", "span")  # the kinds of two hops
HOPS = {"1hop": 1, **dict.fromkeys(TWO, 2), "3hop1": 3, "4hop1": 4}
WORKS = ("film", "novel", "album")


def draw_walk(draw: Draw) -> Riddle | None:
    """A question about the last value of a walk from one entity to the next; None if
    the walk ends early or returns to an entity.
    """
    facts = _walk(draw, draw.start())
    if not facts:
        return None
    text, asked = _ask(draw, facts)
    answer = draw.world.value(*facts[-1])
    main = facts[0] if draw.dataset == "iirc" else None
    return draw.riddle(text, answer, facts, main=main, asked=asked)


def _walk(draw: Draw, start: str) -> list[Fact]:
    entities = draw.world.entities
    subject, seen = start, {start}
    facts: list[Fact] = []
    hops = HOPS[draw.kind]
    while len(facts) < hops:
        values = draw.facts(subject)
        relations = sorted(values)
        if len(facts) < hops - 1:  # it goes on from there
            relations = [name for name in relations if values[name] in entities]
        if not relations:
            return []
        facts.append(Fact(subject, draw.rng.choice(relations)))
        subject = values[facts[-1].relation]
        if subject in seen:
            return []
        seen.add(subject)
    return facts


def _ask(draw: Draw, facts: list[Fact]) -> tuple[str, tuple[int, ...]]:
    """The question for the last value, and where the words ask for each fact."""
    *bridges, last = (draw.world.relation(*fact) for fact in facts)
    phrase = _name(draw, facts[0].subject)
    asked: list[int] = []
    for relation in bridges:
        longer = word_phrase(draw.dataset, relation, phrase)
        phrase, asked = _wrap(longer, phrase, asked)
    text, asked = _wrap(word_question(draw.dataset, last, phrase), phrase, asked)
    return text, tuple(asked)


def _name(draw: Draw, start: str) -> str:
    """The first entity's name; for works, with their noun in data sets that do so."""
    if draw.world.entities[start].kind not in WORKS:
        return start
    before = {
        "hotpotqa": f"the {draw.noun(start)} ",
        "2wikimultihopqa": f"{draw.noun(start)} ",
    }
    return before.get(draw.dataset, "") + start


def _wrap(text: str, phrase: str, asked: list[int]) -> tuple[str, list[int]]:
    """A text that contains a phrase, and the positions of the words that ask for each
    fact: those of the phrase, and the text's own.
    """
    start = text.index(phrase)
    return text, [*(start + at for at in asked), find_telling_word(text, phrase)]


def draw_inference(draw: Draw) -> Riddle | None:
    """A question for a relation that follows from two that pages state."""
    a = draw.start(("person",))
    first, second = draw.rng.choice(list(RELATIVES))
    middle = draw.facts(a).get(first)
    answer = draw.facts(middle).get(second) if middle else None
    if not answer or len({a, middle, answer}) < 3:
        return None
    role = RELATIVES[first, second]
    text, thus = INFERENCE.fill(role=role, a=a, x=answer)
    return draw.riddle(text, answer, [Fact(a, first), Fact(middle, second)], thus)
