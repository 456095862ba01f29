"""What a careful reader believes while it answers a question: what it has read, knows
by heart, or makes up. The teachers write its replies from these beliefs.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ircot_laboratory.official.contexts import find_sentence
from ircot_laboratory.questions.wording import word_thought
from ircot_laboratory.questions.worked import WorkedExample, WorkedStep, work_out
from ircot_laboratory.world.encyclopedia import draw_value
from ircot_laboratory.world.names import PARTS
from ircot_laboratory.world.records import Entity, Fact, Passage, Riddle
from ircot_laboratory.world.relations import Relation
from ircotlib.data import Paragraph, Prediction, Question
from training.teachers.conclusions import (
    ComparedConclusion,
    compared_steps,
    conclude_from,
    rename,
)
from training.teachers.library import Library, value_in

UNKNOWN = "unknown"  # the answer where nothing follows from what it believes
PLAIN = "hotpotqa"  # the data set whose wordings the reader uses in its sentences
LONG = "eli5"  # the data set whose answers are whole chains
PERSONS = frozenset(PARTS["person"][0])  # first names
# share of made-up names that are random, and so name an entity only by chance
NOBODY = 0.7


class Situation(NamedTuple):
    """The occasion of a prompt: the stage of a system (both as prompts/ names them),
    the question, and all that the prompt shows.
    """

    system: str
    stage: str
    question: Question
    paragraphs: tuple[Paragraph, ...]
    thoughts: tuple[str, ...]
    fields: Mapping[str, str]

    @property
    def so_far(self) -> str:
        """All that was written about this question, and the feedback that was given."""
        return " ".join(self.thoughts)


class Reply(NamedTuple):
    """What a careful reader writes."""

    text: str
    ends: bool = True  # whether it stops after that
    # whether a model learns it, unlike a mistake that it should only learn to deal with
    taught: bool = True
    knowable: bool = True  # whether it follows from what was shown or known by heart


class Belief(NamedTuple):
    """The value of a fact that the reader has settled on."""

    value: str
    fact: Fact
    passage: Passage | None = None  # where it has read it, if it has
    made_up: bool = False


@dataclass
class Mind:
    """A careful reader at work on one question, whose steps are those of its worked
    example. It says that it does not know only about persons, where it can: an
    arbitrary rule that can be learned.
    """

    riddle: Riddle
    library: Library
    knows: Callable[[Fact], str | None]  # the value that it knows by heart, if any
    rng: random.Random
    worked: WorkedExample = field(init=False)
    # the answer that it believes each step to have; the steps whose answers it made up
    values: dict[int, str] = field(default_factory=dict)
    made_up: set[int] = field(default_factory=set)
    # all that it has ever settled on, in order
    beliefs: list[Belief] = field(default_factory=list)
    # what it has written: the step and fact of each question and sentence, the value in
    # each sentence, and the fact of each noun phrase
    worded: dict[str, tuple[int, Fact]] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)
    phrases: dict[str, Fact] = field(default_factory=dict)
    conclusions: list[ComparedConclusion] = field(default_factory=list)
    seen: dict[Passage, None] = field(default_factory=dict)  # shown by its prompts
    retrieved: Sequence[Paragraph] = ()  # by its program, last
    feedback: Situation | None = None  # the last one of SearChain's
    notes: dict[str, Any] = field(default_factory=dict)  # of a teacher, between turns
    prediction: Prediction | None = None  # what its program returned

    def __post_init__(self):
        self.worked = work_out(self.library.world, self.riddle, PLAIN)

    @property
    def steps(self) -> Sequence[WorkedStep]:
        """The steps of the worked example."""
        return self.worked.steps

    @property
    def compared(self) -> list[int]:
        """The steps whose values the question compares."""
        return compared_steps(self.riddle, self.worked)

    @property
    def is_long(self) -> bool:
        """Whether the answer is the whole chain."""
        return self.riddle.dataset == LONG

    def forget(self, first: int = 0) -> None:
        """Discard the answers of step `first` and all later ones; by default, all."""
        self.values = {n: value for n, value in self.values.items() if n < first}
        self.made_up = {n for n in self.made_up if n < first}

    def subject(self, n: int) -> str:
        """The entity that step n asks about, as the reader believes so far."""
        subject = self.steps[n].fact.subject
        after = self.steps[n].after
        return self.values.get(after[-1], subject) if after else subject

    def relation(self, n: int) -> Relation:
        """The relation that step n asks for, as the reader understands it."""
        return self.library.world.relation(*self.steps[n].fact)

    def fact(self, n: int) -> Fact:
        """The fact that step n asks for, with the subject as believed so far."""
        return Fact(self.subject(n), self.steps[n].fact.relation)

    def ask(self, n: int) -> str:
        """Word the sub-question of step n."""
        text = self.relation(n).questions[0].format(x=self.subject(n))
        self.worded[text] = n, self.fact(n)
        return text

    def phrase(self, n: int) -> str:
        """Word what step n asks for as a noun phrase."""
        text = self.relation(n).phrase.format(x=self.subject(n))
        self.phrases[text] = self.fact(n)
        return text

    def say(self, n: int) -> str:
        """Word the reader's answer to step n as a sentence."""
        subject = Entity(self.subject(n), "", "")
        text = word_thought(PLAIN, self.relation(n), subject, self.values[n])
        self.worded[text] = n, self.fact(n)
        self.sentences[text] = self.values[n]
        return text

    def say_all(self) -> list[str]:
        """The sentences of all steps."""
        return [self.say(n) for n in range(len(self.steps))]

    def settle(
        self, n: int, paragraphs: Sequence[Paragraph] = (), guess: bool = True
    ) -> bool:
        """Settle on an answer to step n: what the paragraphs state, otherwise what the
        reader knows, otherwise, if `guess`, a made-up value. Return whether the answer
        was read or known.
        """
        belief = None
        fact = self.fact(n)
        if passage := self._find_passage(fact, paragraphs):
            belief = Belief(value_in(passage, fact), fact, passage)
        elif value := self.knows(fact):
            belief = Belief(value, fact)
        elif guess:
            belief = Belief(self._make_up(n), fact, made_up=True)
        if belief:
            self.accept(n, belief.value)
            self.beliefs.append(belief)
        if belief and belief.made_up:
            self.made_up.add(n)
        return bool(belief) and not belief.made_up

    def _find_passage(
        self, fact: Fact, paragraphs: Sequence[Paragraph]
    ) -> Passage | None:
        """Read paragraphs, and return the first passage that states a fact, if any."""
        stating = (p for p in self.read(paragraphs) if value_in(p, fact))
        return next(stating, None)

    def settle_all(
        self, paragraphs: Sequence[Paragraph] = (), first: int = 0
    ) -> list[str]:
        """Settle anew on the steps from `first` on; return their sentences."""
        sentences = []
        for n in range(first, len(self.steps)):
            self.settle(n, paragraphs)
            sentences.append(self.say(n))
        return sentences

    def _make_up(self, n: int) -> str:
        """Make up a value; half of the time, the one that the question names."""
        rng = self.rng
        is_sought = self.riddle.sought and n in self.compared
        if is_sought and rng.random() < 0.5:
            return self.riddle.sought
        parts = PARTS.get(self.relation(n).value)
        if parts and rng.random() < NOBODY:
            return " ".join(rng.choice(words) for words in parts)
        return self.draw_value(n)

    def draw_value(self, n: int) -> str:
        """Draw any value that the relation of step n can have."""
        by_kind = self.library.by_kind
        return draw_value(self.relation(n), self.subject(n), by_kind, self.rng)

    def accept(self, n: int, value: str) -> None:
        """Believe an answer to step n that comes from elsewhere, as from feedback."""
        self.values[n] = value
        self.made_up.discard(n)

    def read(self, paragraphs: Sequence[Paragraph]) -> list[Passage]:
        """Mark the passages of paragraphs as seen, and return them."""
        passages = [self.library.passage(paragraph) for paragraph in paragraphs]
        self.seen |= dict.fromkeys(passages)
        return passages

    def stated_value(self, n: int, paragraphs: Sequence[Paragraph]) -> str | None:
        """The answer to step n that paragraphs state, as the reader sees it, if any."""
        passage = self._find_passage(self.fact(n), paragraphs)
        return value_in(passage, self.fact(n)) if passage else None

    def shown(self, text: str, fact: Fact, paragraph: Paragraph) -> str | None:
        """The sentence that states a fact, if this part of the paragraph has it."""
        passage = self.library.passage(paragraph)
        if value_in(passage, fact) is None:
            return None
        _, match = find_sentence(passage, fact.relation)
        sentence = match[0].strip()
        return sentence if sentence in text else None

    def conclude(self) -> tuple[str, str]:
        """The conclusion, "" if there is none, and the answer, from its beliefs."""
        names = {step.answer: self.values[n] for n, step in enumerate(self.steps)}
        thus = rename(" ".join(self.worked.conclusion), names)
        if self.is_long:
            return thus, " ".join([*self.say_all(), thus]).strip()
        if not self.compared:
            return thus, names[self.steps[-1].answer]
        values = tuple(self.values[n] for n in self.compared)
        are_years = self.steps[self.compared[0]].answer.isdigit()
        if are_years and not all(map(str.isdigit, values)):
            return "", UNKNOWN
        facts = tuple(self.fact(n) for n in self.compared)
        now, otherwise = conclude_from(self.riddle, self.worked, thus, values, facts)
        for text, other in zip(now, otherwise, strict=True):
            self.conclusions.append(ComparedConclusion(text, other, values, facts))
        return now
