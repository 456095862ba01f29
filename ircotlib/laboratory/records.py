"""The records of the laboratory: entities, paragraphs, worlds, and questions with their gold
chains.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ircotlib.laboratory.relations import RELATION_NAMES, RELATIONS, Relation


@dataclass(slots=True)
class Entity:
    """An entity and its facts: relation name -> value (a name, a word or a year), each stated in
    its own page only.
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
    """Where a paragraph's text states a fact: text[start:end] is the value."""

    relation: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph of a page, and the places of the facts in it."""

    title: str
    text: str
    spans: tuple[Span, ...]

    def span(self, relation: str) -> Span:
        """Where the paragraph states this fact; StopIteration where it does not."""
        return next(span for span in self.spans if span.relation == relation)


@dataclass(frozen=True)
class World:
    """An encyclopedia: entities, and the page of each by its name (= title), of one paragraph or of
    two. Nothing is changed once it is made.
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
        return next(one for one in RELATIONS[self.entities[subject].kind] if one.name == name)

    @cached_property
    def names(self) -> list[str]:
        """The names of all entities, in their order."""
        return list(self.entities)

    @cached_property
    def by_kind(self) -> dict[str, list[Entity]]:
        """The entities of each kind, in their order."""
        entities = {kind: [] for kind in RELATIONS}
        for entity in self.entities.values():
            entities[entity.kind].append(entity)
        return entities

    @cached_property
    def by_relation(self) -> dict[str, dict[str, str]]:
        """The values of each relation, by the names of those whose page states one."""
        values = {name: {} for name in RELATION_NAMES}
        for entity in self.entities.values():
            for relation, value in entity.facts.items():
                values[relation][entity.name] = value
        return values

    @cached_property
    def by_word(self) -> dict[str, list[str]]:
        """The titles by the words in them."""
        titles = defaultdict(list)
        for title in self.pages:
            for word in title.split():
                titles[word].append(title)
        return dict(titles)


@dataclass(frozen=True, slots=True)
class Thought:
    """One sentence of a chain: `fact` is what it states, None when it follows from those before."""

    text: str
    fact: Fact | None = None


@dataclass(frozen=True, slots=True)
class Riddle:
    """A question with its gold chain.

    `compared`: the thoughts whose values are compared with each other, or with the value `sought`
    in the question. `main`: in "iirc", the fact whose paragraph is the main passage. `given`: facts
    that the chain uses without stating them, all in the main passage. `asked`: in a question that
    walks from fact to fact, where the word stands that asks for each. `input`: what the official
    file has in place of the text, where its loader puts that as a question.
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
        """All facts that are needed, in order."""
        return (*self.given, *(thought.fact for thought in self.thoughts if thought.fact))

    @property
    def meaning(self) -> tuple[frozenset[Fact], str]:
        """What makes it the same question in other words: the same facts, and the same answer."""
        return frozenset(self.facts), self.answer

    @property
    def linked(self) -> list[str]:
        """In "iirc", the titles of the pages other than the main passage's that state facts, in
        order.
        """
        return list(dict.fromkeys(subject for subject, _ in self.facts if subject != self.main[0]))

    @property
    def chain(self) -> str:
        """The whole chain of thought."""
        return " ".join(thought.text for thought in self.thoughts)
