"""Draws the examples that the shipped extractive reader is trained on: queries as the systems ask
them, each with a paragraph that states the answer or with one that does not.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ircot_laboratory.questions.questions import DATASETS, draw_riddle
from ircot_laboratory.questions.walks import HOPS, WORKS
from ircot_laboratory.questions.wording import ask, describe, find_telling_word, word_thought
from ircot_laboratory.world.encyclopedia import draw_value, names_by_kind
from ircot_laboratory.world.records import Passage, Span, World
from ircot_laboratory.world.relations import KINDS, RELATIONS, Relation
from training.t5.draws import draw_alike

GOLD = "gold"
GOLD_SHARE = 0.45  # of the examples
TRIES = 50  # draws before this kind of example is given up


@dataclass(frozen=True, slots=True)
class Example:
    """A query and a paragraph of a world in the form of a data set. `span`: where the paragraph's
    text states the answer, or None. `kind`: GOLD, or the kind of other paragraph, one of OTHERS.

    For the losses of training: `asked`, the relation of the query; `about`, whether the paragraph
    is on the page of the query's subject; `telling`, the end of the word of the query that asks for
    the relation, 0 if there is none.
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
    """A world in the form of a data set, with its facts, and the facts that name each entity."""

    def __init__(self, world: World, dataset: str):
        self.world, self.dataset = world, dataset
        self.by_kind = names_by_kind(world.entities)
        self.facts = [(e.name, name) for e in world.entities.values() for name in e.facts]
        self.naming = defaultdict(list)  # the facts whose value an entity is
        for name, relation in self.facts:
            self.naming[world.value(name, relation)].append((name, relation))


def draw_example(book: Encyclopedia, rng: random.Random) -> Example:
    """Draw one example: GOLD, or one of the OTHERS that exists for the drawn fact."""
    while True:
        subject, relation = rng.choice(book.facts)
        if rng.random() < GOLD_SHARE:
            return draw_gold(book, rng, subject, relation)
        kind = rng.choice(HARD if rng.random() < 0.4 else list(OTHERS))
        if other := draw_other(book, rng, kind, subject, relation):
            return other


def draw_gold(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> Example:
    """Draw a query for a fact, with the paragraph that states it."""
    passage, query = book.world.passage(subject, relation), word_query(book, rng, subject, relation)
    telling = _find_telling(book, query, subject)
    span = passage.span(relation)
    return Example(book.dataset, query, passage, GOLD, relation, True, span, telling)


def draw_other(
    book: Encyclopedia, rng: random.Random, kind: str, subject: str, relation: str
) -> Example | None:
    """Draw a query with a paragraph of a kind that does not state its answer; None if there is no
    such paragraph.
    """
    drawn = OTHERS[kind](book, rng, subject, relation)
    if drawn is None:
        return None
    query, asked, passage = drawn
    worded = query or word_query(book, rng, subject, asked)
    telling = 0 if query else _find_telling(book, worded, subject)
    about = passage.title == subject
    return Example(book.dataset, worded, passage, kind, asked, about, None, telling)


# What the functions of OTHERS return: the query ("" for one that asks for the fact), the relation
# that it asks for, and the paragraph.
Drawn = tuple[str, str, Passage] | None


def _any_page(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> Drawn:
    return _page_of(book, rng, rng.choice(book.world.names), subject, relation)


def _like_name(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> Drawn:
    """A page whose title shares a word with the subject's name; if possible, one of an entity that
    has the same relation.
    """
    names = [draw_alike(book.world, subject, rng) for _ in range(6)]
    same = [name for name in names if relation in book.world.entities[name].facts]
    return _page_of(book, rng, rng.choice(same or names), subject, relation)


def _same_relation(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> Drawn:
    """A paragraph that states the same relation of another entity."""
    for _ in range(TRIES):
        name = rng.choice(book.world.by_kind[book.world.entities[subject].kind]).name
        if name != subject and relation in book.world.entities[name].facts:
            return "", relation, book.world.passage(name, relation)
    return None


def _naming_page(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> Drawn:
    """The page of another entity that names the subject."""
    names = [name for name in book.naming[subject] if name[0] != subject]
    if not names:
        return None
    return "", relation, book.world.passage(*rng.choice(names))


def _page_of_value(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> Drawn:
    """The page of the answer."""
    value = book.world.value(subject, relation)
    return _page_of(book, rng, value, subject, relation) if value in book.world.pages else None


def _own_page(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> Drawn:
    """A paragraph of the subject's page that does not state the answer: the other paragraph of the
    page, or this one with a query for a relation that the subject lacks.
    """
    entity = book.world.entities[subject]
    stated = book.world.passage(subject, relation)
    if others := [one for one in book.world.pages[subject] if one is not stated]:
        return "", relation, others[0]
    absent = [one.name for one in RELATIONS[entity.kind] if one.name not in entity.facts]
    return ("", rng.choice(absent), stated) if absent else None


def _whole_question(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> Drawn:
    """A question of several hops, with the paragraph of a hop that does not answer it."""
    kinds = [kind for kind in DATASETS[book.dataset] if HOPS.get(kind, 1) > 1 and kind != "span"]
    if not kinds:
        return None
    riddle = draw_riddle(book.world, rng, book.dataset, rng.choice(kinds))
    passage = book.world.passage(*rng.choice(riddle.facts[:-1]))
    last = riddle.facts[-1].relation
    stated = any(span.relation == last for span in passage.spans)
    return None if stated else (riddle.text, last, passage)


def _page_of(
    book: Encyclopedia, rng: random.Random, name: str, subject: str, relation: str
) -> Drawn:
    return None if name == subject else ("", relation, rng.choice(book.world.pages[name]))


OTHERS: dict[str, Callable[..., Drawn]] = {
    "any other page": _any_page,
    "a page with a like name": _like_name,
    "the same relation of another": _same_relation,
    "a page that names the subject": _naming_page,
    "the answer's own page": _page_of_value,
    "the subject's page without it": _own_page,
    "a hop of a longer question": _whole_question,
}

HARD = ("a page with a like name", "the subject's page without it")  # drawn more often


def word_query(book: Encyclopedia, rng: random.Random, subject: str, relation: str) -> str:
    """Word a query for a fact, which need not exist, as the systems do: as a question of a data
    set, as a noun phrase, or as a sentence of a chain whose value may be wrong.
    """
    one, entity = book.world.relation(subject, relation), book.world.entities[subject]
    x, draw, dataset = _name(book, rng, subject), rng.random(), rng.choice(list(DATASETS))
    if draw < 0.75:
        return _cut_end(rng.choice(list(_questions(one, x, dataset))), rng)
    if draw < 0.85:
        return describe(dataset, one, x)
    value = draw_value(one, subject, book.by_kind, rng)
    if relation in entity.facts and rng.random() < 0.5:
        value = entity.facts[relation]
    return word_thought(dataset, one, entity, value)


def _find_telling(book: Encyclopedia, query: str, subject: str) -> int:
    """The end of the word that asks for a relation of the subject; 0 in a sentence of a chain."""
    if query.endswith("."):
        return 0
    start = find_telling_word(query, subject)
    return start + len(re.match(r"\w+", query[start:])[0])


def _questions(relation: Relation, x: str, dataset: str) -> Iterator[str]:
    yield ask(dataset, relation, x)
    yield from (question.format(x=x) for question in relation.questions)
    for who in ("Who", "What") if relation.value in ("person", "man") else ("What",):
        yield f"{who} is {relation.phrase.format(x=x)}?"
    yield f"What is {describe(dataset, relation, x)}?"


def _name(book: Encyclopedia, rng: random.Random, subject: str) -> str:
    """The subject's name, sometimes after its noun, as data sets name works: "the film X"."""
    kind = book.world.entities[subject].kind
    noun, often = KINDS[kind].noun, 0.3 if kind in WORKS else 0.05
    return rng.choice((f"the {noun} ", f"{noun} ")) + subject if rng.random() < often else subject


def _cut_end(question: str, rng: random.Random) -> str:
    return question.removesuffix("?") if rng.random() < 0.1 else question
