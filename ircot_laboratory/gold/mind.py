"""What the gold reader thinks: the steps that a data set states for a question, and their answers.
It has what the teachers ask of a Mind (teachers.mind), which plays in the laboratory.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ircot_laboratory.questions.worked import WorkedExample, WorkedStep
from ircot_laboratory.world.records import Fact, Riddle, Thought
from ircotlib.data import Paragraph, Question
from ircotlib.datasets.musique import RELATION
from ircotlib.program import SENTENCE_OF_LINE
from ircotlib.text import cut, sentences

PLACE = re.compile(r"#(\d+)")  # where a sub-question has the answer of an earlier step
NEXT = " So the answer is: it."  # what may follow a sentence


class Wording(NamedTuple):
    """A step's question and noun phrase, in which "{x}" stands for what it is about."""

    questions: tuple[str]
    phrase: str


class Unerring(random.Random):
    """Draws that are never below a share of errors, so that a teacher makes none."""

    def random(self) -> float:
        """A number above all shares of errors."""
        return 0.9


@dataclass
class GoldMind:
    """A reader at work on one question, whose steps the data set states, with their answers.

    It knows which step is next and what its answer is, but not the words in which the paragraph
    states it. A step counts as read if its paragraph is shown, or if it was asked in an earlier
    reply: the reader then goes on, whatever was found. The fields are those of Mind.
    """

    question: Question
    rng: random.Random = field(default_factory=lambda: Unerring(0))
    values: dict[int, str] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    asked_before: set[int] = field(default_factory=set)
    worded: dict[str, tuple[int, Fact]] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)
    phrases: dict[str, Fact] = field(default_factory=dict)
    retrieved: Sequence[Paragraph] = ()
    feedback: object = None
    notes: dict[str, object] = field(default_factory=dict)
    # it makes nothing up, believes no passage against its memory, and compares nothing
    invents = None
    made_up = frozenset()
    beliefs = ()
    compared = ()
    is_long = False

    def __post_init__(self):
        self.worked = work_out(self.question)
        thoughts = [Thought(step.sentence, step.fact) for step in self.worked.steps]
        named = self.question.dataset, self.question.kind, self.question.text
        self.riddle = Riddle(*named, self.worked.answer, tuple(thoughts))

    @property
    def steps(self) -> tuple[WorkedStep, ...]:
        """The steps of the data set."""
        return self.worked.steps

    def forget(self) -> None:
        """Start over."""
        self.forget_from(0)

    def forget_from(self, n: int) -> None:
        """Discard the answers of step n and all later ones."""
        self.values = {step: value for step, value in self.values.items() if step < n}

    def subject(self, n: int) -> str:
        """What step n is about, as it would be looked up."""
        return self.steps[n].fact.subject

    def fact(self, n: int) -> Fact:
        """Step n, as what it is about and its question."""
        return self.steps[n].fact

    def relation(self, n: int) -> Wording:
        """The question of step n, and what it asks for in terms of the question alone."""
        step, after = self.question.steps[n], self.steps[n].after
        if not after:
            return Wording((_literal(self.steps[n].question),), _literal(self.phrase(n)))
        answers = {k: _literal(self.steps[k].answer) for k in after}
        nested = {k: self.relation(k).phrase for k in after[:-1]}
        texts = [
            _fill(_literal(step.question), known | {after[-1]: "{x}"})
            for known in (answers, answers | nested)
        ]
        return Wording((texts[0],), _as_phrase(texts[1]))

    def ask(self, n: int) -> str:
        """The sub-question of step n."""
        text = self.steps[n].question
        self.asked.add(n)
        self.worded[text] = n, self.fact(n)
        return text

    def phrase(self, n: int) -> str:
        """The sub-question of step n as a noun phrase."""
        text = _as_phrase(self.steps[n].question)
        self.phrases[text] = self.fact(n)
        return text

    def say(self, n: int) -> str:
        """The sentence of step n."""
        text = self.steps[n].sentence
        self.worded[text] = n, self.fact(n)
        self.sentences[text] = self.steps[n].answer
        return text

    def say_all(self) -> list[str]:
        """The sentences of all steps."""
        return [self.say(n) for n in range(len(self.steps))]

    def settle(self, n: int, paragraphs: Sequence[Paragraph] = (), guess: bool = True) -> bool:
        """Settle on the answer to step n if it was read or, if `guess`, in any case. Return whether
        it was read.
        """
        is_read = n in self.asked_before or self.stated_value(n, paragraphs) is not None
        if is_read or guess:
            self.accept(n)
        return is_read

    def settle_all(self, paragraphs: Sequence[Paragraph] = (), first: int = 0) -> list[str]:
        """Settle on the answers to the steps from `first` on, and return their sentences."""
        for n in range(first, len(self.steps)):
            self.settle(n, paragraphs)
        return [self.say(n) for n in range(first, len(self.steps))]

    def accept(self, n: int, value: str = "") -> None:
        """Believe the answer to step n, whatever other value is offered."""
        self.values[n] = self.steps[n].answer

    def read(self, paragraphs: Sequence[Paragraph]) -> None:
        """What was asked until now was asked in an earlier reply."""
        self.asked_before |= self.asked
        self.asked = set()

    def stated_value(self, n: int, paragraphs: Sequence[Paragraph]) -> str | None:
        """The answer to step n if a paragraph that supports it is among these, or None."""
        gold = self.question.steps[n].gold
        return self.steps[n].answer if any(p.id in gold for p in paragraphs) else None

    def shows(self, text: str, fact: Fact, paragraphs: Sequence[Paragraph]) -> bool:
        """Whether a part of some paragraphs has the answer of a step that they support."""
        numbers = [n for n in range(len(self.steps)) if self.fact(n) == fact]
        values = [self.stated_value(n, paragraphs) for n in numbers]
        return any(value is not None and value in text for value in values)

    def stubborn_value(self, fact: Fact) -> None:
        """Nothing: it believes what it reads."""

    def happens(self, dial: str, *names: object) -> bool:
        """It reads what feedback is about again, and proposes, plans and votes without error."""
        return dial == "rereads"

    def gives_up(self, n: int) -> bool:
        """It knows the answers."""
        return False

    def draw_value(self, n: int) -> str:
        """The answer of step n: it draws no other."""
        return self.steps[n].answer

    def conclude(self) -> tuple[str, str]:
        """No conclusion, and the answer."""
        return "", self.worked.answer


def work_out(question: Question) -> WorkedExample:
    """The worked example of a question, with earlier answers filled in. A step without a sentence
    is stated as its question and the answer after a colon; one that does not say what it is about
    is about the answer that its question has, or all of that.
    """
    answers = {n: step.answer for n, step in enumerate(question.steps)}
    steps = []
    for step in question.steps:
        places = [int(number) - 1 for number in PLACE.findall(step.question)]
        after = tuple(dict.fromkeys(n for n in places if n < len(steps)))
        text = " ".join(_fill(step.question, answers).split())
        subject = answers[after[-1]] if after else step.subject or text
        fact = Fact(subject, text or step.sentence)
        sentence = as_sentence(step.sentence or f"{text.rstrip('?')}: {step.answer}")
        steps.append(WorkedStep(text, step.answer, fact, sentence, after))
    answer = question.answers[0]
    return WorkedExample(question.text, answer, tuple(steps), (), answer)


def as_sentence(text: str) -> str:
    """The first sentence of a text, with an end by which IRCoT's program recognises it."""
    text = " ".join(text.split())
    text = sentences(text[:1].upper() + text[1:])[0]
    endings = text, f"{text}.", f"{text.rstrip('.')}!"  # what follows "Self Made Vol." goes on
    return next((t for t in endings if cut(t + NEXT, SENTENCE_OF_LINE) == t), text)


def _fill(text: str, values: dict[int, str]) -> str:
    return PLACE.sub(lambda place: values.get(int(place[1]) - 1, place[0]), text)


def _literal(text: str) -> str:
    """A text as a format in which nothing is replaced."""
    return text.replace("{", "{{").replace("}", "}}")


def _as_phrase(question: str) -> str:
    """A sub-question as what it asks for: "father of Ada Moss" for "Ada Moss >> father"."""
    subject, relation, asked = question.partition(RELATION)
    return f"the {asked} of {subject}" if relation else question.strip().rstrip("?")
