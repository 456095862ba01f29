"""What the agent believes while it answers a question: what it has read, knows by heart, or makes
up; teachers write its replies from this.
"""

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ircotlib.data import Paragraph
from ircotlib.laboratory.encyclopedia import draw_value
from ircotlib.laboratory.records import Entity, Fact, Passage, Riddle
from ircotlib.laboratory.relations import Relation
from ircotlib.laboratory.wording import word_thought
from ircotlib.laboratory.worked import PLAIN, Step, WorkedExample, work_out
from training.agent_library import Library

UNSOLVED = 0.4  # of the subjects that are not known: the agent says so, it does not make things up


class Told(NamedTuple):
    """A fact that the agent states; `passage`: where it has read it, None: nowhere."""

    value: str
    fact: Fact
    passage: Passage | None = None


@dataclass
class Mind:
    """The agent at work on one question. `knows(fact)`: a value it knows by heart, or None.

    `values`: what it believes each step's answer to be. `asked`: the facts its queries and
    sentences are about. `told`: what it stated, in order. `made_up`: names that it invented.
    `shown`: the passages that stood in its prompts.
    """

    riddle: Riddle
    library: Library
    knows: Callable[[Fact], str | None]
    rng: random.Random
    worked: WorkedExample = None
    values: dict[int, str] = field(default_factory=dict)
    asked: dict[str, tuple[int, Fact]] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    made_up: set[str] = field(default_factory=set)
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
        """Begin anew."""
        self.values.clear()

    def subject(self, n: int) -> str:
        """Whom step n is about, as far as the agent has come."""
        step = self.steps[n]
        return self.values.get(step.after[-1], step.fact.subject) if step.after else step.fact[0]

    def relation(self, n: int) -> Relation:
        """The relation that step n asks for."""
        return self.library.world.relation(*self.steps[n].fact)

    def fact(self, n: int) -> Fact:
        """What step n asks for, of whom the agent believes it to be about."""
        return Fact(self.subject(n), self.steps[n].fact.relation)

    def ask(self, n: int) -> str:
        """The sub-question of step n."""
        step = self.steps[n]
        text = step.question.replace(step.fact.subject, self.subject(n))
        self.asked[text] = n, self.fact(n)
        return text

    def phrase(self, n: int) -> str:
        """The noun phrase for what step n asks for."""
        return self.relation(n).phrase.format(x=self.subject(n))

    def say(self, n: int) -> str:
        """The sentence that states what the agent believes of step n."""
        subject = Entity(self.subject(n), "", "")
        text = word_thought(PLAIN, self.relation(n), subject, self.values[n])
        self.asked[text] = n, self.fact(n)
        self.said[text] = self.values[n]
        return text

    def find(self, n: int, paragraphs: Sequence[Paragraph] = (), guess: bool = True) -> bool:
        """Settle what the agent believes of step n: what paragraphs state, else what it knows, else
        what it makes up (if it may). Return whether it is not made up.
        """
        fact = self.fact(n)
        for passage in self.read(paragraphs):
            if value := stated(passage, fact):
                return self._believe(n, Told(value, fact, passage))
        if value := self.knows(fact):
            return self._believe(n, Told(value, fact))
        if guess:
            value = draw_value(self.relation(n), fact.subject, self.library.by_kind, self.rng)
            self.made_up.add(value)
            self._believe(n, Told(value, fact))
        return False

    def _believe(self, n: int, told: Told) -> bool:
        self.values[n] = told.value
        self.told.append(told)
        return True

    def accept(self, n: int, value: str) -> None:
        """Believe what was said of step n elsewhere."""
        self.values[n] = value

    def read(self, paragraphs: Sequence[Paragraph]) -> list[Passage]:
        """The passages of paragraphs, which count as shown."""
        passages = [self.library.passage(one) for one in paragraphs]
        self.shown |= dict.fromkeys(passages)
        return passages

    def is_stated(self, n: int, paragraphs: Sequence[Paragraph]) -> str | None:
        """What paragraphs state of step n."""
        values = (stated(passage, self.fact(n)) for passage in self.read(paragraphs))
        return next(filter(None, values), None)

    def gives_up(self, n: int) -> bool:
        """Whether the agent, not knowing step n, says so; a name decides, so that it can learn
        when.
        """
        return zlib.crc32(self.subject(n).split()[0].encode()) % 100 < 100 * UNSOLVED

    def find_all(self, paragraphs: Sequence[Paragraph] = (), first: int = 0) -> list[str]:
        """The sentences of all steps from one on."""
        said = []
        for n in range(first, len(self.steps)):
            self.find(n, paragraphs)
            said.append(self.say(n))
        return said

    @property
    def is_right(self) -> bool:
        """Whether the agent believes what is true of every step."""
        return all(self.values.get(n) == step.answer for n, step in enumerate(self.steps))

    def conclude(self) -> tuple[str, str]:
        """The sentences that follow from what the agent believes, "" for none, and the answer."""
        true = " ".join(self.worked.conclusion)
        if self.is_right or set(self.values) != set(range(len(self.steps))):
            return true, self.worked.answer
        if not self.riddle.compared:
            answer, last = self.values[len(self.steps) - 1], self.steps[-1].answer
            return _rename(true, {last: answer, **self._renamed()}), answer
        return self._compare(true)

    def _renamed(self) -> dict[str, str]:
        return {step.answer: self.values[n] for n, step in enumerate(self.steps)}

    def _compare(self, true: str) -> tuple[str, str]:
        """The conclusion of a comparison of two values: as in truth, or the other way round."""
        compared = [n for n, step in enumerate(self.steps) if step.fact in self._compared()]
        gold, now = ([values[n] for n in compared] for values in (self._gold(), self.values))
        if _order(gold) == _order(now) or len(compared) != 2:
            return true, self.worked.answer
        return turn_round(true, self.worked.answer, self.riddle, self.steps)

    def _compared(self) -> set[Fact]:
        return {self.riddle.thoughts[n].fact for n in self.riddle.compared}

    def _gold(self) -> list[str]:
        return [step.answer for step in self.steps]


def stated(passage: Passage, fact: Fact) -> str | None:
    """The value of a fact that a passage states."""
    spans = (one for one in passage.spans if one.relation == fact.relation)
    span = next(spans, None) if passage.title == fact.subject else None
    return passage.text[span.start : span.end] if span else None


def _order(values: Sequence[str]) -> int:
    a, b = values[:2]
    return (a > b) - (a < b) if a.isdigit() else int(a == b)


def _rename(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text


OPPOSITE = {"yes": "no", "Yes": "No", "SUPPORTS": "REFUTES"}
OPPOSITE |= {no: yes for yes, no in OPPOSITE.items()}


def turn_round(text: str, answer: str, riddle: Riddle, steps: Sequence[Step]) -> tuple[str, str]:
    """A conclusion and its answer if the comparison comes out the other way."""
    if answer in OPPOSITE:
        same = (" are in the same country", " are in different countries")
        a, b = same if same[0] in text else same[::-1]
        return text.replace(a, b), OPPOSITE[answer]
    asked = [step.fact.subject for step in steps if step.fact.subject in riddle.text]
    other = next((name for name in asked if name != answer), answer)
    return text.replace(answer, other), other

