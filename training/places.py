"""Where each word of a training example comes from: copies, the values that are stated, decided and
compared, and the subjects that they belong to.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ircotlib.laboratory.records import Fact, Passage, Riddle, Thought, World

# how a value compares with another; YEARS_AFTER + n: n years later (n < 100)
EARLIER, LATER, SAME, DIFFERENT, YEARS_AFTER = range(5)
PROMPT, TARGET = range(2)  # where a value stands


class Place(NamedTuple):
    """A place in the PROMPT or in the TARGET, in characters."""

    side: int
    at: int


class Copy(NamedTuple):
    """Text of the target that is copied word for word, and where it stands in the prompt; of a
    number of years, where the later year does.
    """

    at: int
    source: int
    length: int


class Stated(NamedTuple):
    """A fact's value in the prompt (in the chain so far, its last word), and where its subject is
    mentioned first.
    """

    at: int
    named: int
    subject: str
    relation: str


class Decided(NamedTuple):
    """What the target says of a subject, or the subject itself where a chain concludes."""

    at: int
    subject: str
    relation: str


class About(NamedTuple):
    """A value in the target, and where its subject was mentioned last."""

    at: int
    side: int
    place: int


class Asked(NamedTuple):
    """A sentence of the target, and where the word stands that asks for its fact."""

    at: int
    source: int
    length: int


class Comparison(NamedTuple):
    """A value that is to be compared with another, in the same text or in the PROMPT, and what
    comes of it; places are those of last words (of a year, of its last two digits).
    """

    side: int
    start: int
    other_side: int
    other_start: int
    outcome: int

    @property
    def places(self) -> tuple[Place, Place]:
        """The place of the value, and of the other one."""
        return Place(self.side, self.start), Place(self.other_side, self.other_start)


class Written(NamedTuple):
    """A prompt, and where each paragraph's text and the question start in it."""

    text: str
    places: dict[Passage, int]
    question: int


class Draft(NamedTuple):
    """A question written as prompt and target; `in_prompt`, `in_target`: where the thoughts begin
    that state facts. `conclusion`: where the last but one begins in the target, if it does.
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
    """Where the last word of a value begins; of a year, its last two digits."""
    return 2 if value.isdigit() else value.rfind(" ") + 1


def _value_start(world: World, thought: Thought) -> int:
    """Where the value begins in a thought."""
    return thought.text.rindex(world.value(*thought.fact))


def _value_place(world: World, thought: Thought) -> int:
    """Where the value's last word begins in a thought."""
    return _value_start(world, thought) + last_word(world.value(*thought.fact))


def find_sources(world: World, riddle: Riddle, prompt: Written) -> dict[str, int]:
    """Where each name and value can be copied from: the question, or a paragraph."""
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
    """Every name or value with a known source in target[start:]."""
    for name, source in sources.items():
        at = target.find(name, start)
        while at >= 0:
            yield Copy(at, source, len(name))
            at = target.find(name, at + 1)


def copy_difference(draft: Draft, compared: Sequence[Comparison]) -> Iterator[Copy]:
    """A number of years is read off the later year, where that stands in the prompt."""
    answer = draft.riddle.answer
    at = draft.target.find(f" {answer} years") + 1
    if draft.riddle.kind == "age" and at and compared and compared[0].side == PROMPT:
        yield Copy(at, compared[0].start, len(answer))


def find_stated(prompt: Written) -> Iterator[Stated]:
    """Every fact's value in the paragraphs."""
    for passage, at in prompt.places.items():
        named = at + passage.text.index(passage.title)
        for span in passage.spans:
            yield Stated(at + span.start, named, passage.title, span.relation)


def find_stated_so_far(draft: Draft) -> Iterator[Stated]:
    """Every fact's value in the chain so far."""
    for n, at in draft.in_prompt.items():
        thought = draft.riddle.thoughts[n]
        named = at + thought.text.index(thought.fact.subject)
        yield Stated(at + _value_place(draft.world, thought), named, *thought.fact)


def find_decided(draft: Draft, silent: int) -> Iterator[Decided]:
    """The values that the target states, but for the first `silent` sentences, and the names that
    conclude a comparison or a count.
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
    """Where every value begins that the target states, and where its subject was mentioned last: in
    the target, else in question and chain so far.
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
    """Every sentence of the target that a word of the question asks for."""
    riddle = draft.riddle
    for n, at in draft.in_target.items() if riddle.asked else ():
        yield Asked(at, draft.prompt.question + riddle.asked[n], len(riddle.thoughts[n].text))


def find_comparisons(draft: Draft) -> Iterator[Comparison]:
    """The comparisons of the values that the question compares, where both stand somewhere."""
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
        if places[1].side == PROMPT:  # what is written later can be looked at in a prompt only
            yield Comparison(*places[0], *places[1], first)


def _find_value(draft: Draft, n: int) -> Place | None:
    """Where the value of a thought stands; None where the thought stands nowhere."""
    for side, starts in ((PROMPT, draft.in_prompt), (TARGET, draft.in_target)):
        if n in starts:
            return Place(side, starts[n] + _value_place(draft.world, draft.riddle.thoughts[n]))
    return None


def _outcomes(a: str, b: str, difference: bool) -> tuple[int, int]:
    """How each of two values compares with the other; `difference`: by how many years the second is
    later.
    """
    if not a.isdigit():
        return ((SAME if a == b else DIFFERENT),) * 2
    if difference:
        return EARLIER, YEARS_AFTER + int(b) - int(a)
    return (EARLIER, LATER) if int(a) < int(b) else (LATER, EARLIER)
