"""The records: entities, paragraphs, worlds, and questions with gold chains."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ircot_laboratory.world.relations import RELATION_NAMES, RELATIONS, Relation


@dataclass(slots=True)
class Entity:
    """An entity and its facts: relation name -> value (a name, a word or a year). Only
    its own page states them.
    """

    name: str
    kind: str
    category: str
    facts: dict[str, str] = field(default_factory=dict)


class Fact(NamedTuple):
    """A fact of a world, without its value."""

    subject: str
    relation: str


@dataclass(frozen=True, slots=True)
class Span:
    """Where a paragraph states a fact: text[start:end] is the value."""

    relation: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph of a page, and the places of the facts in it."""

    title: str
    text: str
    spans: tuple[Span, ...]

    def __hash__(self):  # of the text alone, which remembers its own
        return hash(self.text)

    def span(self, relation: str) -> Span:
        """Where the paragraph states this relation; StopIteration if it does not."""
        return next(span for span in self.spans if span.relation == relation)


class Stated(NamedTuple):
    """What a world states of a relation: subjects and their values, in the order of
    entities; the kinds of the subjects; the place of each in this order; and the places
    of each value, in order.
    """

    subjects: list[str]
    values: list[str]
    kinds: set[str]
    places: dict[str, int]
    by_value: dict[str, list[int]]

    def add(self, subject: Entity, value: str) -> None:
        place = self.places[subject.name] = len(self.subjects)
        self.by_value.setdefault(value, []).append(place)
        self.kinds.add(subject.kind)
        self.subjects.append(subject.name)
        self.values.append(value)


@dataclass(frozen=True)
class World:
    """An encyclopedia: the entities by name, and the page of each, in one or two
    paragraphs, by its title, which is the name. Nothing changes once it is made.
    """

    entities: dict[str, Entity]
    pages: dict[str, tuple[Passage, ...]]

    def passage(self, subject: str, relation: str) -> Passage:
        """The paragraph that states a fact."""
        return next(
            passage
            for passage in self.pages[subject]
            if any(span.relation == relation for span in passage.spans)
        )

    def value(self, subject: str, relation: str) -> str:
        """The value of a fact."""
        return self.entities[subject].facts[relation]

    def relation(self, subject: str, name: str) -> Relation:
        """The relation of that name for the subject's kind."""
        kind = self.entities[subject].kind
        return next(relation for relation in RELATIONS[kind] if relation.name == name)

    @cached_property
    def names(self) -> list[str]:
        """The names of all entities, in their order."""
        return list(self.entities)

    @cached_property
    def by_kind(self) -> dict[str, list[Entity]]:
        """The entities of each kind, in their order."""
        entities: dict[str, list[Entity]] = {kind: [] for kind in RELATIONS}
        for entity in self.entities.values():
            entities[entity.kind].append(entity)
        return entities

    @cached_property
    def stated(self) -> dict[str, Stated]:
        """Where each relation is stated, and with which values."""
        stated = {name: Stated([], [], set(), {}, {}) for name in RELATION_NAMES}
        for entity in self.entities.values():
            for relation, value in entity.facts.items():
                stated[relation].add(entity, value)
        return stated

    @cached_property
    def by_word(self) -> dict[str, list[str]]:
        """For each word, the titles that contain it."""
        titles = defaultdict(list)
        for title in self.pages:
            for word in title.split():
                titles[word].append(title)
        return dict(titles)

    @cached_property
    def initials(self) -> Counter[str]:
        """How many persons have each initial with the same last names: "A. Branby"."""
        return Counter(shorten(person.name) for person in self.by_kind["person"])


def shorten(person: str) -> str:
    """A person's name with an initial for the first name."""
    return f"{person[0]}. {person.partition(' ')[2]}"


@dataclass(frozen=True, slots=True)
class Thought:
    """A sentence of a chain. `fact`: what it states; None: it follows from others."""

    text: str
    fact: Fact | None = None


@dataclass(frozen=True, slots=True)
class Riddle:
    """A question with its gold chain.

    `compared`: the numbers of the thoughts whose values are compared with each other,
    or with the value `sought` in the question. `main`: for "iirc", a fact in the main
    passage. `given`: facts that the chain uses without stating them, all in the main
    passage. `asked`: for a question that walks from fact to fact, the position of the
    word that asks for each. `input`: the official file's input, if the loader words it
    as a question; "" otherwise.
    """

    dataset: str
    kind: str
    text: str
    answer: str
    thoughts: tuple[Thought, ...]
    compared: tuple[int, ...] = ()
    sought: str = ""
    main: Fact | None = None
    given: tuple[Fact, ...] = ()
    asked: tuple[int, ...] = ()
    input: str = ""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts needed for the answer, in order."""
        stated = (thought.fact for thought in self.thoughts if thought.fact)
        return (*self.given, *stated)

    @property
    def meaning(self) -> tuple[frozenset[Fact], str]:
        """The facts and the answer: equal for two wordings of the same question."""
        return frozenset(self.facts), self.answer

    @property
    def linked(self) -> list[str]:
        """For "iirc", the titles of all pages needed but the main one, in order."""
        subjects = dict.fromkeys(fact.subject for fact in self.facts)
        return [subject for subject in subjects if subject != self.main.subject]

    @property
    def chain(self) -> str:
        """The whole chain of thought."""
        return " ".join(thought.text for thought in self.thoughts)
