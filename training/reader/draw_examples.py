"""Draws the examples that the shipped extractive reader is trained on: queries as the
systems ask them, each with a paragraph that states the answer or with one that does
not.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ircot_laboratory.questions.questions import DATASETS, draw_riddle
from ircot_laboratory.questions.walks import HOPS, WORKS
from ircot_laboratory.questions.wording import (
    find_telling_word,
    word_phrase,
    word_question,
    word_thought,
)
from ircot_laboratory.world.encyclopedia import draw_value, names_by_kind
from ircot_laboratory.world.records import Fact, Passage, Span, World
from ircot_laboratory.world.relations import KINDS, RELATIONS, Relation
from training.worlds import draw_alike

GOLD = "gold"
GOLD_SHARE = 0.45  # of the examples
TRIES = 50  # draws before this kind of example is given up
OTHERS = (  # kinds of paragraphs that do not state the answer
    "any other page",
    "a page with a like name",
    "the same relation of another",
    "a page that names the subject",
    "the answer's own page",
    "the subject's page without it",
    "a hop of a longer question",
)
HARD = ("a page with a like name", "the subject's page without it")  # drawn more often


@dataclass(frozen=True, slots=True)
class ReaderExample:
    """A query and a paragraph of a world in the form of a data set. `span`: where the
    paragraph's text states the answer, or None. `kind`: GOLD, or the kind of other
    paragraph, one of OTHERS.

    For the losses of training: `asked`, the relation of the query; `about`, whether the
    paragraph is on the page of the query's subject; `telling`, the end of the word of
    the query that asks for the relation, 0 if there is none.
    """

    dataset: str
    query: str
    passage: Passage
    kind: str
    asked: str
    about: bool
    span: Span | None = None
    telling: int = 0


class Encyclopedia:
    """A world in the form of a data set, its facts, and those that name an entity."""

    def __init__(self, world: World, dataset: str):
        self.world = world
        self.dataset = dataset
        self.by_kind = names_by_kind(world.entities)
        entities = world.entities.values()
        self.facts = [Fact(e.name, relation) for e in entities for relation in e.facts]
        # the facts whose value an entity is
        self.naming: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            self.naming[world.value(*fact)].append(fact)


def draw_reader_example(book: Encyclopedia, rng: random.Random) -> ReaderExample:
    """Draw one example: GOLD, or one of the OTHERS that exists for the drawn fact."""
    while True:
        subject, relation = rng.choice(book.facts)
        if rng.random() < GOLD_SHARE:
            return draw_gold(book, rng, subject, relation)
        kind = rng.choice(HARD if rng.random() < 0.4 else OTHERS)
        if other := draw_other(book, rng, kind, subject, relation):
            return other


def draw_gold(
    book: Encyclopedia, rng: random.Random, subject: str, relation: str
) -> ReaderExample:
    """Draw a query for a fact, with the paragraph that states it."""
    passage = book.world.passage(subject, relation)
    query = word_query(book, rng, subject, relation)
    return ReaderExample(
        book.dataset,
        query,
        passage,
        GOLD,
        asked=relation,
        about=True,
        span=passage.span(relation),
        telling=_find_telling(query, subject),
    )


def draw_other(
    book: Encyclopedia, rng: random.Random, kind: str, subject: str, relation: str
) -> ReaderExample | None:
    """A query with a paragraph that does not state its answer, if there is one."""
    query, asked = "", relation
    if kind == "a hop of a longer question":
        query, asked, passage = _draw_hop(book, rng)
    elif kind == "the subject's page without it":
        asked, passage = _draw_own(book, rng, subject, relation)
    else:
        passage = _draw_page(book, rng, kind, subject, relation)
    if passage is None:
        return None
    telling = 0
    if not query:
        query = word_query(book, rng, subject, asked)
        telling = _find_telling(query, subject)
    about = passage.title == subject
    return ReaderExample(
        book.dataset, query, passage, kind, asked, about, telling=telling
    )


def _draw_page(
    book: Encyclopedia, rng: random.Random, kind: str, subject: str, relation: str
) -> Passage | None:
    """Draw a paragraph of a page other than the subject's."""
    world, entities = book.world, book.world.entities
    if kind == "the same relation of another":
        for _ in range(TRIES):
            name = rng.choice(world.by_kind[entities[subject].kind]).name
            if name != subject and relation in entities[name].facts:
                return world.passage(name, relation)
        return None
    if kind == "a page that names the subject":
        facts = [fact for fact in book.naming[subject] if fact[0] != subject]
        return world.passage(*rng.choice(facts)) if facts else None
    if kind == "any other page":
        name = rng.choice(world.names)
    elif kind == "the answer's own page":
        name = world.value(subject, relation)
    else:  # a like name; if possible, that of an entity with the same relation
        names = [draw_alike(world, subject, rng) for _ in range(6)]
        same = [name for name in names if relation in entities[name].facts]
        name = rng.choice(same or names)
    if name == subject or name not in world.pages:
        return None
    return rng.choice(world.pages[name])


def _draw_own(
    book: Encyclopedia, rng: random.Random, subject: str, relation: str
) -> tuple[str, Passage | None]:
    """The page's other paragraph; or this one, and a relation the subject lacks."""
    stated = book.world.passage(subject, relation)
    for passage in book.world.pages[subject]:
        if passage is not stated:
            return relation, passage
    entity = book.world.entities[subject]
    absent = [r.name for r in RELATIONS[entity.kind] if r.name not in entity.facts]
    return (rng.choice(absent), stated) if absent else (relation, None)


def _draw_hop(
    book: Encyclopedia, rng: random.Random
) -> tuple[str, str, Passage | None]:
    """A question of several hops, its last relation, and an earlier hop's paragraph."""
    if book.dataset == "iirc":  # whose main passage has the first hop
        return "", "", None
    kinds = [kind for kind in DATASETS[book.dataset] if HOPS.get(kind, 1) > 1]
    riddle = draw_riddle(book.world, rng, book.dataset, rng.choice(kinds))
    passage = book.world.passage(*rng.choice(riddle.facts[:-1]))
    last = riddle.facts[-1].relation
    stated = any(span.relation == last for span in passage.spans)
    return riddle.text, last, None if stated else passage


def word_query(
    book: Encyclopedia, rng: random.Random, subject: str, relation: str
) -> str:
    """Word a query for a fact, which need not exist, as the systems do: as a question
    of a data set, as a noun phrase, or as a sentence of a chain whose value may be
    wrong.
    """
    asked = book.world.relation(subject, relation)
    entity = book.world.entities[subject]
    noun = KINDS[entity.kind].noun
    x = subject
    if rng.random() < (0.3 if entity.kind in WORKS else 0.05):
        # "the film X", as data sets name works
        x = rng.choice((f"the {noun} ", f"{noun} ")) + subject
    draw = rng.random()
    dataset = rng.choice(list(DATASETS))
    if draw < 0.75:
        question = rng.choice(list(_questions(asked, x, dataset)))
        return question.removesuffix("?") if rng.random() < 0.1 else question
    if draw < 0.85:
        return word_phrase(dataset, asked, x)
    value = draw_value(asked, subject, book.by_kind, rng)
    if relation in entity.facts and rng.random() < 0.5:
        value = entity.facts[relation]
    return word_thought(dataset, asked, entity, value)


def _find_telling(query: str, subject: str) -> int:
    """The end of the word that asks for a relation; 0 in a sentence of a chain."""
    if query.endswith("."):
        return 0
    start = find_telling_word(query, subject)
    return start + len(re.match(r"\w+", query[start:])[0])


def _questions(relation: Relation, x: str, dataset: str) -> Iterator[str]:
    yield word_question(dataset, relation, x)
    yield from (question.format(x=x) for question in relation.questions)
    for who in ("Who", "What") if relation.value in ("person", "man") else ("What",):
        yield f"{who} is {relation.phrase.format(x=x)}?"
    yield f"What is {word_phrase(dataset, relation, x)}?"
