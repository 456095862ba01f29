"""Finds where each word of a training example comes from: copies; values that are stated, decided
and compared; and the subjects that they belong to.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ircot_laboratory.world.records import Fact, Passage, Riddle, Thought, World

# how a value compares with another; YEARS_AFTER + n: it is n years later (n < 100)
EARLIER, LATER, SAME, DIFFERENT, YEARS_AFTER = range(5)
PROMPT, TARGET = range(2)  # where a value stands


class Place(NamedTuple):
    """A position in the PROMPT or in the TARGET, in characters."""

    side: int
    at: int


class Copy(NamedTuple):
    """Text of the target that is copied word for word, and where it stands in the prompt. For a
    difference of years, the source is the later year.
    """

    at: int
    source: int
    length: int


class Stated(NamedTuple):
    """Where a fact's value begins in the prompt (in the chain so far, its last word), and where its
    subject is first mentioned.
    """

    at: int
    named: int
    subject: str
    relation: str


class Decided(NamedTuple):
    """Where the target states a value, or where a conclusion names a subject; and the fact."""

    at: int
    subject: str
    relation: str


class About(NamedTuple):
    """Where a value begins in the target, and where its subject was last mentioned."""

    at: int
    side: int
    place: int


class Asked(NamedTuple):
    """A sentence of the target, and where the word of the question that asks for its fact is."""

    at: int
    source: int
    length: int


class Comparison(NamedTuple):
    """A value, another one that it is compared with, in the same text or in the PROMPT, and the
    outcome. Positions are those of the values' last words; for years, of the last two digits.
    """

    side: int
    start: int
    other_side: int
    other_start: int
    outcome: int

    @property
    def places(self) -> tuple[Place, Place]:
        """The place of the value, and that of the other one."""
        return Place(self.side, self.start), Place(self.other_side, self.other_start)


class Written(NamedTuple):
    """A prompt, and where the text of each paragraph and the question begin in it."""

    text: str
    places: dict[Passage, int]
    question: int


class Draft(NamedTuple):
    """A question written as prompt and target. `in_prompt`, `in_target`: where the thoughts that
    state facts begin, by number; `conclusion`: where the second last thought begins in the target.
    """

    world: World
    riddle: Riddle
    prompt: Written
    target: str
    in_prompt: dict[int, int]
    in_target: dict[int, int]
    conclusion: int | None

    def fact(self, n: int) -> Fact:
        """The fact that the n-th thought states."""
        return self.riddle.thoughts[n].fact


def last_word(value: str) -> int:
    """Where the last word of a value begins; for a year, the last two digits."""
    return 2 if value.isdigit() else value.rfind(" ") + 1


def _value_start(world: World, thought: Thought) -> int:
    """Where the value begins in the text of a thought."""
    return thought.text.rindex(world.value(*thought.fact))


def _value_place(world: World, thought: Thought) -> int:
    """Where the value's last word begins in the text of a thought."""
    return _value_start(world, thought) + last_word(world.value(*thought.fact))


def find_sources(world: World, riddle: Riddle, prompt: Written) -> dict[str, int]:
    """Find where each name and value can be copied from: the question or a paragraph."""
    subjects = dict.fromkeys(fact.subject for fact in riddle.facts)
    sources = {
        name: prompt.question + riddle.text.index(name) for name in subjects if name in riddle.text
    }
    for fact in riddle.facts:
        passage = world.passage(*fact)
        if passage in prompt.places:
            at = prompt.places[passage] + passage.span(fact.relation).start
            sources.setdefault(world.value(*fact), at)
    return sources


def find_copies(target: str, start: int, sources: dict[str, int]) -> Iterator[Copy]:
    """Find every name or value with a known source in target[start:]."""
    for name, source in sources.items():
        at = target.find(name, start)
        while at >= 0:
            yield Copy(at, source, len(name))
            at = target.find(name, at + 1)


def copy_difference(draft: Draft, compared: Sequence[Comparison]) -> Iterator[Copy]:
    """Let a difference of years be copied from the later year, if that is in the prompt."""
    answer = draft.riddle.answer
    at = draft.target.find(f" {answer} years") + 1
    if draft.riddle.kind == "age" and at and compared and compared[0].side == PROMPT:
        yield Copy(at, compared[0].start, len(answer))


def find_stated(prompt: Written) -> Iterator[Stated]:
    """Find the values of all facts in the paragraphs."""
    for passage, at in prompt.places.items():
        named = at + passage.text.index(passage.title)
        for span in passage.spans:
            yield Stated(at + span.start, named, passage.title, span.relation)


def find_stated_so_far(draft: Draft) -> Iterator[Stated]:
    """Find the values of all facts in the chain so far."""
    for n, at in draft.in_prompt.items():
        thought = draft.riddle.thoughts[n]
        named = at + thought.text.index(thought.fact.subject)
        yield Stated(at + _value_place(draft.world, thought), named, *thought.fact)


def find_decided(draft: Draft, silent: int) -> Iterator[Decided]:
    """Find the values that the target states, except in the first `silent` sentences, and the names
    in the conclusion of a comparison or a count.
    """
    riddle, world = draft.riddle, draft.world
    for n, at in draft.in_target.items():
        if n >= silent:
            yield Decided(at + _value_start(world, riddle.thoughts[n]), *draft.fact(n))
    if riddle.compared and draft.conclusion is not None:
        stated = [thought.fact for thought in riddle.thoughts if thought.fact]
        named = {
            fact.subject: fact
            for fact in reversed(stated)
            if fact.subject == riddle.answer or world.value(*fact) == riddle.sought
        }
        for subject, fact in named.items():
            yield Decided(draft.target.index(subject, draft.conclusion), *fact)


def find_subjects(draft: Draft) -> Iterator[About]:
    """Find where each value in the target begins, and where its subject was last mentioned: in the
    target, otherwise in the question or the chain so far.
    """
    for n, start in draft.in_target.items():
        at = start + _value_start(draft.world, draft.riddle.thoughts[n])
        subject = draft.fact(n).subject
        in_target = draft.target.rfind(subject, 0, at)
        in_prompt = draft.prompt.text.rfind(subject, draft.prompt.question)
        if in_target >= 0:
            yield About(at, TARGET, in_target)
        elif in_prompt >= 0:
            yield About(at, PROMPT, in_prompt)


def find_asked(draft: Draft) -> Iterator[Asked]:
    """Find every sentence of the target that a word of the question asks for."""
    riddle = draft.riddle
    for n, at in draft.in_target.items() if riddle.asked else ():
        yield Asked(at, draft.prompt.question + riddle.asked[n], len(riddle.thoughts[n].text))


def find_comparisons(draft: Draft) -> Iterator[Comparison]:
    """Find the comparisons of the values that the question compares, if the example has both."""
    riddle = draft.riddle
    values = [draft.world.value(*draft.fact(n)) for n in riddle.compared]
    places = [_find_value(draft, n) for n in riddle.compared]
    if riddle.sought:
        at = draft.prompt.question + riddle.text.rindex(riddle.sought) + last_word(riddle.sought)
        for place, value in zip(places, values, strict=True):
            if place:
                outcome = SAME if value == riddle.sought else DIFFERENT
                yield Comparison(*place, PROMPT, at, outcome)
    elif values and all(places):
        first, second = _outcomes(*values, difference=riddle.kind == "age")
        yield Comparison(*places[1], *places[0], second)
        if places[1].side == PROMPT:  # only in a prompt can a value be compared with a later one
            yield Comparison(*places[0], *places[1], first)


def _find_value(draft: Draft, n: int) -> Place | None:
    """The place of a thought's value; None if neither prompt nor target has the thought."""
    for side, starts in ((PROMPT, draft.in_prompt), (TARGET, draft.in_target)):
        if n in starts:
            return Place(side, starts[n] + _value_place(draft.world, draft.riddle.thoughts[n]))
    return None


def _outcomes(a: str, b: str, difference: bool) -> tuple[int, int]:
    """How each of two values compares with the other. `difference`: for the second value, say by
    how many years it is later.
    """
    if not a.isdigit():
        return ((SAME if a == b else DIFFERENT),) * 2
    if difference:
        return EARLIER, YEARS_AFTER + int(b) - int(a)
    return (EARLIER, LATER) if int(a) < int(b) else (LATER, EARLIER)
