"""Finds where each word of a training example comes from: copies; values that are
stated, decided and compared; and the subjects that they belong to. All positions are in
characters.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ircot_laboratory.world.records import Fact, Passage, Riddle, World
from training.positions import PROMPT, TARGET, YEARS_AFTER, compare, last_word


class Place(NamedTuple):
    """A position in the PROMPT or in the TARGET."""

    side: int
    at: int


class LookedUp(NamedTuple):
    """A part of the target, and where the prompt tells what to write there: where the
    same text stands (for a difference of years, the later year), or the word of the
    question that asks for it.
    """

    at: int
    source: int
    length: int


class StatedValue(NamedTuple):
    """Where the prompt has a fact's value (in a chain, its last word), and subject."""

    at: int
    named: int
    fact: Fact


class DecidedValue(NamedTuple):
    """Where the target states a value, or a conclusion names a subject; the fact."""

    at: int
    fact: Fact


class SubjectOf(NamedTuple):
    """Where a value begins in the target, and where its subject was last mentioned."""

    at: int
    subject: Place


class ComparedValues(NamedTuple):
    """A value, another one that it is compared with, in the same text or in the PROMPT,
    and the outcome. Places are those of the values' last words; for years, of the last
    two digits.
    """

    value: Place
    other: Place
    outcome: int


class PromptText(NamedTuple):
    """A prompt, and where the text of each paragraph and the question begin in it."""

    text: str
    passages: dict[Passage, int]
    question: int


class Draft(NamedTuple):
    """A question written as prompt and target. `in_prompt`, `in_target`: where the
    thoughts that state facts begin, by number; `conclusion`: where the second last
    thought begins in the target.
    """

    world: World
    riddle: Riddle
    prompt: PromptText
    target: str
    in_prompt: dict[int, int]
    in_target: dict[int, int]
    conclusion: int | None

    def fact(self, n: int) -> Fact:
        """The fact that the n-th thought states."""
        return self.riddle.thoughts[n].fact

    def value(self, n: int) -> str:
        """The value of that fact."""
        return self.world.value(*self.fact(n))

    def value_start(self, n: int) -> int:
        """Where the value begins in the text of the n-th thought."""
        return self.riddle.thoughts[n].text.rindex(self.value(n))

    def value_place(self, n: int) -> Place | None:
        """Where the value's last word stands; None if neither text has it."""
        for side, starts in ((PROMPT, self.in_prompt), (TARGET, self.in_target)):
            if n in starts:
                start = starts[n] + self.value_start(n)
                return Place(side, start + last_word(self.value(n)))
        return None


def find_sources(world: World, riddle: Riddle, prompt: PromptText) -> dict[str, int]:
    """Where each name and value can be copied from: the question or a paragraph."""
    sources: dict[str, int] = {}
    for subject, _ in riddle.facts:
        if subject in riddle.text:
            sources[subject] = prompt.question + riddle.text.index(subject)
    for fact in riddle.facts:
        passage = world.passage(*fact)
        if passage in prompt.passages:
            at = prompt.passages[passage] + passage.span(fact.relation).start
            sources.setdefault(world.value(*fact), at)
    return sources


def find_copies(target: str, start: int, sources: dict[str, int]) -> Iterator[LookedUp]:
    """Find every name or value with a known source in target[start:]."""
    for name, source in sources.items():
        at = target.find(name, start)
        while at >= 0:
            yield LookedUp(at, source, len(name))
            at = target.find(name, at + 1)


def copy_difference(
    draft: Draft, compared: Sequence[ComparedValues]
) -> Iterator[LookedUp]:
    """A difference of years is copied from the later year, if the prompt has it."""
    answer = draft.riddle.answer
    at = draft.target.find(f" {answer} years") + 1
    if draft.riddle.kind != "age" or not at:
        return
    if compared and compared[0].value.side == PROMPT:
        yield LookedUp(at, compared[0].value.at, len(answer))


def find_stated(prompt: PromptText) -> Iterator[StatedValue]:
    """Find the values of all facts in the paragraphs."""
    for passage, at in prompt.passages.items():
        named = at + passage.text.index(passage.title)
        for span in passage.spans:
            fact = Fact(passage.title, span.relation)
            yield StatedValue(at + span.start, named, fact)


def find_stated_so_far(draft: Draft) -> Iterator[StatedValue]:
    """Find the values of all facts in the chain so far."""
    for n, at in draft.in_prompt.items():
        named = at + draft.riddle.thoughts[n].text.index(draft.fact(n).subject)
        yield StatedValue(draft.value_place(n).at, named, draft.fact(n))


def find_decided(draft: Draft, silent: int) -> Iterator[DecidedValue]:
    """Find the values that the target states (not silently), and names it concludes."""
    riddle, world = draft.riddle, draft.world
    for n, at in draft.in_target.items():
        if n >= silent:
            yield DecidedValue(at + draft.value_start(n), draft.fact(n))
    if not riddle.compared or draft.conclusion is None:
        return
    named = {}
    for fact in reversed([thought.fact for thought in riddle.thoughts if thought.fact]):
        if fact.subject == riddle.answer or world.value(*fact) == riddle.sought:
            named[fact.subject] = fact  # the first of several
    for subject, fact in named.items():
        yield DecidedValue(draft.target.index(subject, draft.conclusion), fact)


def find_subjects(draft: Draft) -> Iterator[SubjectOf]:
    """Find the values in the target, and where their subjects were mentioned last."""
    for n, start in draft.in_target.items():
        at, subject = start + draft.value_start(n), draft.fact(n).subject
        in_target = draft.target.rfind(subject, 0, at)
        in_prompt = draft.prompt.text.rfind(subject, draft.prompt.question)
        if in_target >= 0:
            yield SubjectOf(at, Place(TARGET, in_target))
        elif in_prompt >= 0:
            yield SubjectOf(at, Place(PROMPT, in_prompt))


def find_asked(draft: Draft) -> Iterator[LookedUp]:
    """Find every sentence of the target that a word of the question asks for."""
    riddle = draft.riddle
    for n, at in draft.in_target.items() if riddle.asked else ():
        source = draft.prompt.question + riddle.asked[n]
        yield LookedUp(at, source, len(riddle.thoughts[n].text))


def find_comparisons(draft: Draft) -> Iterator[ComparedValues]:
    """Find the values that the question compares, if the example has both."""
    riddle, sought = draft.riddle, draft.riddle.sought
    values = [draft.value(n) for n in riddle.compared]
    places = [draft.value_place(n) for n in riddle.compared]
    if sought:
        at = draft.prompt.question + riddle.text.rindex(sought) + last_word(sought)
        for place, value in zip(places, values, strict=True):
            if place:
                outcome = compare(sought, value)
                yield ComparedValues(place, Place(PROMPT, at), outcome)
    elif values and all(places):
        a, b = values
        outcome = compare(a, b)
        if riddle.kind == "age":
            outcome = YEARS_AFTER + int(b) - int(a)
        yield ComparedValues(places[1], places[0], outcome)
        # only in a prompt can a value be compared with a later one
        if places[1].side == PROMPT:
            yield ComparedValues(places[0], places[1], compare(b, a))
