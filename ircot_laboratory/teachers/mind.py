"""What the agent believes while it answers a question: what it has read, knows by heart, or makes
up. The teachers write its replies from these beliefs.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ircot_laboratory.questions.wording import word_thought
from ircot_laboratory.questions.worked import Step, WorkedExample, work_out
from ircot_laboratory.teachers.conclusions import Weighed, find_compared, rename, weigh
from ircot_laboratory.teachers.library import Library
from ircot_laboratory.world.encyclopedia import draw_value
from ircot_laboratory.world.names import PARTS
from ircot_laboratory.world.records import Entity, Fact, Passage, Riddle
from ircot_laboratory.world.relations import Relation
from ircotlib.data import Paragraph

PLAIN = "hotpotqa"  # the data set whose wordings the agent uses in its sentences
LONG = "eli5"  # the data set whose answers are whole chains
PERSONS = frozenset(PARTS["person"][0])  # first names

NOBODY = 0.7  # share of made-up names that are random, and so name an entity only by chance


class Told(NamedTuple):
    """A fact that the agent states. `passage`: where it has read the fact, or None."""

    value: str
    fact: Fact
    passage: Passage | None = None
    made_up: bool = False


@dataclass
class Mind:
    """The agent at work on one question. `knows(fact)` returns the value that it knows by heart, or
    None.

    `values`: the answer that it believes each step to have. `asked`: the step and the fact of each
    query and sentence; `aims`: the fact of each noun phrase; `said`: the value in each sentence.
    `told`: the facts it has settled on, in order. `weighed`: what follows from its comparisons.
    `unsure`: the steps whose values it made up. `shown`: the passages its prompts have shown.
    `notes`: what is kept from turn to turn.
    """

    riddle: Riddle
    library: Library
    knows: Callable[[Fact], str | None]
    rng: random.Random
    worked: WorkedExample = None
    values: dict[int, str] = field(default_factory=dict)
    asked: dict[str, tuple[int, Fact]] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    weighed: list[Weighed] = field(default_factory=list)
    unsure: set[int] = field(default_factory=set)
    aims: dict[str, Fact] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    shown: dict[Passage, None] = field(default_factory=dict)
    notes: dict[str, object] = field(default_factory=dict)

    def __post_init__(self):
        self.worked = work_out(self.library.world, self.riddle, PLAIN)

    @property
    def steps(self) -> Sequence[Step]:
        """The steps of the worked example."""
        return self.worked.steps

    def forget(self) -> None:
        """Discard the answers of all steps, to start over."""
        self.values.clear()

    def subject(self, n: int) -> str:
        """The entity that step n asks about, according to what the agent believes so far."""
        step = self.steps[n]
        return self.values.get(step.after[-1], step.fact.subject) if step.after else step.fact[0]

    def relation(self, n: int) -> Relation:
        """The relation that step n asks for."""
        return self.library.world.relation(*self.steps[n].fact)

    def fact(self, n: int) -> Fact:
        """The fact that step n asks for, with the subject that the agent believes it to have."""
        return Fact(self.subject(n), self.steps[n].fact.relation)

    def ask(self, n: int) -> str:
        """Word the sub-question of step n."""
        step = self.steps[n]
        text = step.question.replace(step.fact.subject, self.subject(n))
        self.asked[text] = n, self.fact(n)
        return text

    def phrase(self, n: int) -> str:
        """Word what step n asks for as a noun phrase."""
        text = self.relation(n).phrase.format(x=self.subject(n))
        self.aims[text] = self.fact(n)
        return text

    def say(self, n: int) -> str:
        """Word the agent's answer to step n as a sentence."""
        subject = Entity(self.subject(n), "", "")
        text = word_thought(PLAIN, self.relation(n), subject, self.values[n])
        self.asked[text] = n, self.fact(n)
        self.said[text] = self.values[n]
        return text

    def find(self, n: int, paragraphs: Sequence[Paragraph] = (), guess: bool = True) -> bool:
        """Settle on an answer to step n: what the paragraphs state, otherwise what the agent knows,
        otherwise, if `guess`, a made-up value. Return whether the answer was read or known.
        """
        fact = self.fact(n)
        for passage in self.read(paragraphs):
            if value := stated(passage, fact):
                return self._believe(n, Told(value, fact, passage))
        if value := self.knows(fact):
            return self._believe(n, Told(value, fact))
        if guess:
            self._believe(n, Told(self._make_up(n), fact, made_up=True))
        return False

    def _make_up(self, n: int) -> str:
        """Make up a value of the right kind: half of the time the one a yes-no question names."""
        is_sought = self.riddle.sought and n in self._compared()
        if is_sought and self.rng.random() < 0.5:
            return self.riddle.sought
        parts = PARTS.get(self.relation(n).value)
        if parts and self.rng.random() < NOBODY:
            return " ".join(self.rng.choice(words) for words in parts)
        return draw_value(self.relation(n), self.subject(n), self.library.by_kind, self.rng)

    def _believe(self, n: int, told: Told) -> bool:
        self.values[n] = told.value
        self.told.append(told)
        self.unsure.discard(n)
        if told.made_up:
            self.unsure.add(n)
        return True

    def accept(self, n: int, value: str) -> None:
        """Believe an answer to step n that comes from elsewhere, such as from feedback."""
        self.values[n] = value
        self.unsure.discard(n)

    def read(self, paragraphs: Sequence[Paragraph]) -> list[Passage]:
        """Mark the passages of paragraphs as shown, and return them."""
        passages = [self.library.passage(one) for one in paragraphs]
        self.shown |= dict.fromkeys(passages)
        return passages

    def is_stated(self, n: int, paragraphs: Sequence[Paragraph]) -> str | None:
        """The answer to step n that paragraphs state, or None."""
        values = (stated(passage, self.fact(n)) for passage in self.read(paragraphs))
        return next(filter(None, values), None)

    def gives_up(self, n: int) -> bool:
        """Whether the agent, if it does not know step n, says so: only if step n is about a person.
        Otherwise it makes up an answer. The rule is arbitrary, but it can be learned.
        """
        return self.subject(n).split()[0] in PERSONS

    def find_all(self, paragraphs: Sequence[Paragraph] = (), first: int = 0) -> list[str]:
        """Settle on answers to the steps from `first` on, and return their sentences."""
        said = []
        for n in range(first, len(self.steps)):
            self.find(n, paragraphs)
            said.append(self.say(n))
        return said

    @property
    def is_long(self) -> bool:
        """Whether the answer is the whole chain."""
        return self.riddle.dataset == LONG

    def conclude(self) -> tuple[str, str]:
        """The concluding sentences, "" if there are none, and the answer, from what it believes."""
        names = {step.answer: self.values[n] for n, step in enumerate(self.steps)}
        thus = rename(" ".join(self.worked.conclusion), names)
        if self.is_long:
            said = [self.say(n) for n in range(len(self.steps))]
            return thus, " ".join([*said, thus]).strip()
        if not self._compared():
            return thus, names[self.steps[-1].answer]
        values = tuple(self.values[n] for n in self._compared())
        facts = tuple(self.fact(n) for n in self._compared())
        now, otherwise = weigh(self.riddle, self.worked, thus, values)
        for text, other in zip(now, otherwise, strict=True):
            self.weighed.append(Weighed(text, other, values, facts))
        return now

    def _compared(self) -> list[int]:
        """The steps whose values the question compares."""
        return find_compared(self.riddle, self.worked)


def stated(passage: Passage, fact: Fact) -> str | None:
    """The value of a fact in a passage, or None if the passage does not state it."""
    spans = (one for one in passage.spans if one.relation == fact.relation)
    span = next(spans, None) if passage.title == fact.subject else None
    return passage.text[span.start : span.end] if span else None
