"""Training examples from a miniature encyclopedia: prompts, targets, and where each word of a
target comes from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ircotlib.laboratory.encyclopedia import Passage, World, make_popular
from ircotlib.laboratory.questions import Fact, Riddle, Thought, value_of
from ircotlib.prompts import FLAN_T5, Style
from ircotlib.systems.iirc import ASK_FOR_TITLES

# how a value compares with another; YEARS_AFTER + n: n years later (n < 100)
EARLIER, LATER, SAME, DIFFERENT, YEARS_AFTER = range(5)
PROMPT, TARGET = range(2)  # where a value stands


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value in the PROMPT or the TARGET that is to be compared with another, in the same text or
    in the PROMPT, and what comes of it.
    """

    side: int
    start: int
    other_side: int
    other_start: int
    outcome: int

    @property
    def places(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Side and place of the value, and of the other one."""
        return (self.side, self.start), (self.other_side, self.other_start)


@dataclass(frozen=True, slots=True)
class Example:
    """One training example. All places are in characters; that of a compared value is where its
    last word begins (a year: its last two digits).

    `copies`: (start in target, start in prompt, length) of text copied word for word, and of a
    number of years the later year. `stated`: (place in prompt, place of the subject's first
    mention, subject, relation) of every fact's value, in the chain so far of its last word.
    `decided`: (start in target, subject, relation) of what is written about that subject, or the
    subject itself. `about`: (start in target, side, place) of every value that is written, and
    where its subject was mentioned last. `asked`: (start in target, place in prompt, length) of
    every sentence whose fact a word of the question asks for. `silent`: length of the part of the
    target that is given, not learned. `complete`: whether the target ends the chain.
    """

    prompt: str
    target: str
    copies: tuple[tuple[int, int, int], ...] = ()
    stated: tuple[tuple[int, int, str, str], ...] = ()
    decided: tuple[tuple[int, str, str], ...] = ()
    compared: tuple[Comparison, ...] = ()
    about: tuple[tuple[int, int, int], ...] = ()
    asked: tuple[tuple[int, int, int], ...] = ()
    silent: int = 0
    complete: bool = True


def needed(world: World, riddle: Riddle, known: int | None = None) -> list[Passage]:
    """The paragraphs of the facts that the first `known` thoughts state (None: all), each once, in
    order; the main passage is the last.
    """
    thoughts = riddle.thoughts if known is None else riddle.thoughts[:known]
    main = [world.passage(*riddle.main)] if riddle.main else []
    found = dict.fromkeys(world.passage(*thought.fact) for thought in thoughts if thought.fact)
    return [*(passage for passage in found if passage not in main), *main]


def make_direct(
    world: World, riddle: Riddle, context: Sequence[Passage], form: Style = FLAN_T5
) -> Example:
    """The example of a direct reader: the answer alone."""
    prompt, places, question_start = write_prompt(riddle, context, instruction=form.direct)
    sources = _sources(world, riddle, places, question_start)
    last = next(thought.fact for thought in reversed(riddle.thoughts) if thought.fact)
    decided = ((0, *last),) if value_of(world, last) == riddle.answer else ()
    return Example(
        prompt,
        riddle.answer,
        tuple(_find_copies(riddle.answer, 0, sources)),
        tuple(_all_stated(places)),
        decided,
    )


def make_titles(
    world: World, riddle: Riddle, n: int | None = None, form: Style = FLAN_T5
) -> Example:
    """The example of title generation (IRCoT App. B): main passage and question, and the titles of
    the other gold pages.

    `n`: the number the prompt asks for, None: the true one, which is written in any case.
    """
    question = ASK_FOR_TITLES.format(question=riddle.text, n=n or len(riddle.linked))
    prompt, places, start = write_prompt(
        riddle, [world.passage(*riddle.main)], instruction=form.direct, question=question
    )
    sources = _sources(world, riddle, places, start + question.index(riddle.text))
    target = ", ".join(riddle.linked)
    return Example(
        prompt, target, tuple(_find_copies(target, 0, sources)), tuple(_all_stated(places))
    )


def make_example(
    world: World,
    riddle: Riddle,
    context: Sequence[Passage],
    done: int,
    silent: int = 0,
    form: Style = FLAN_T5,
) -> Example:
    """Make the example: the chain's first `done` sentences in the prompt, the rest as target, cut
    where a fact is neither shown nor popular.

    `silent`: so many sentences of the target are given, whether or not there are paragraphs for
    them.
    """
    prompt, places, question_start = write_prompt(riddle, context, done, form.chain_of_thought)
    sources = _sources(world, riddle, places, question_start)
    thoughts = riddle.thoughts
    shown = [
        n < silent or _is_known(world, thoughts[n].fact, places) for n in range(done, len(thoughts))
    ]
    end = done + (shown.index(False) if False in shown else len(shown))
    target, starts = _join(thoughts[done:end])
    chain, chain_starts = _join(thoughts[:done])
    in_prompt = {
        n: len(prompt) - len(chain) + chain_starts[n] for n in range(done) if thoughts[n].fact
    }
    in_target = {n: starts[n - done] for n in range(done, end) if thoughts[n].fact}
    silent_length = starts[silent] if silent else 0
    compared = tuple(_compare(world, riddle, in_prompt, in_target, question_start))
    told = [(at, thoughts[n]) for n, at in in_prompt.items()]
    stated_so_far = tuple(
        (at + _value_place(world, thought), at + thought.text.index(thought.fact[0]), *thought.fact)
        for at, thought in told
    )
    return Example(
        prompt=prompt,
        target=target,
        copies=(
            *_find_copies(target, silent_length, sources),
            *_copy_difference(riddle, target, compared),
        ),
        stated=(*_all_stated(places), *stated_so_far),
        decided=tuple(
            _decided(
                world,
                riddle,
                {n: at for n, at in in_target.items() if n >= silent},
                target,
                starts,
                done,
            )
        ),
        compared=compared,
        about=tuple(_find_subjects(world, riddle, in_target, target, prompt, question_start)),
        asked=tuple(
            (at, question_start + riddle.asked[n], len(thoughts[n].text))
            for n, at in in_target.items()
            if riddle.asked
        ),
        silent=silent_length,
        complete=end == len(thoughts),
    )


def _is_known(world: World, fact: Fact | None, places: dict[Passage, int]) -> bool:
    return fact is None or fact[0] in make_popular() or world.passage(*fact) in places


def _join(thoughts: Sequence[Thought]) -> tuple[str, list[int]]:
    """The thoughts joined by a space, and where each begins."""
    starts = [sum(len(t.text) + 1 for t in thoughts[:n]) for n in range(len(thoughts))]
    return " ".join(thought.text for thought in thoughts), starts


def write_prompt(
    riddle: Riddle,
    context: Sequence[Passage],
    done: int = 0,
    instruction: str | None = FLAN_T5.chain_of_thought,
    question: str = "",
    lower: bool = True,
) -> tuple[str, dict[Passage, int], int]:
    """The prompt, where each paragraph's text starts in it, and where the question does (form:
    ircotlib.prompts).

    `lower`: in the style "iirc" titles are in lower case, but for the main passage's, as in the
    official files; not so in demonstrations.
    """
    prompt, places = "", {}
    for passage in context:
        is_link = riddle.main and passage.title != riddle.main[0]
        prompt += (
            f"Wikipedia Title: {passage.title.lower() if is_link and lower else passage.title}\n"
        )
        places[passage] = len(prompt)
        prompt += passage.text + "\n\n"
    prompt += f"Q: {instruction}\n" if instruction else "Q: "
    question_start = len(prompt)
    prompt += f"{question or riddle.text}\nA: " + _join(riddle.thoughts[:done])[0]
    return prompt.rstrip(), places, question_start


def _value_start(world: World, thought: Thought) -> int:
    """Where the value begins in a thought."""
    return thought.text.rindex(value_of(world, thought.fact))


def _value_place(world: World, thought: Thought) -> int:
    """Where the value's last word begins in a thought."""
    return _value_start(world, thought) + last_word(value_of(world, thought.fact))


def last_word(value: str) -> int:
    """Where the last word of a value begins; of a year, its last two digits."""
    return 2 if value.isdigit() else value.rfind(" ") + 1


def _sources(
    world: World, riddle: Riddle, places: dict[Passage, int], question_start: int
) -> dict[str, int]:
    """Where each name and value can be copied from: the question, or the paragraph that states it."""
    subjects = dict.fromkeys(subject for subject, _ in riddle.facts)
    sources = {
        name: question_start + riddle.text.index(name) for name in subjects if name in riddle.text
    }
    for fact in riddle.facts:
        passage = world.passage(*fact)
        if passage in places:
            sources.setdefault(value_of(world, fact), places[passage] + passage.span(fact[1]).start)
    return sources


def _all_stated(places: dict[Passage, int]) -> list[tuple[int, int, str, str]]:
    named = {passage: at + passage.text.index(passage.title) for passage, at in places.items()}
    return [
        (at + span.start, named[passage], passage.title, span.relation)
        for passage, at in places.items()
        for span in passage.spans
    ]


def _find_copies(target: str, start: int, sources: dict[str, int]) -> list[tuple[int, int, int]]:
    """Every name or value with a known source in target[start:]."""
    copies = []
    for name, source in sources.items():
        at = target.find(name, start)
        while at >= 0:
            copies.append((at, source, len(name)))
            at = target.find(name, at + 1)
    return copies


def _decided(
    world: World,
    riddle: Riddle,
    in_target: dict[int, int],
    target: str,
    starts: list[int],
    done: int,
) -> list[tuple]:
    """The values that the target states, and the names that conclude a comparison or a count."""
    found = [
        (at + _value_start(world, riddle.thoughts[n]), *riddle.thoughts[n].fact)
        for n, at in in_target.items()
    ]
    conclusion = len(riddle.thoughts) - 2 - done
    if riddle.compared and 0 <= conclusion < len(starts):
        facts = [thought.fact for thought in riddle.thoughts if thought.fact]
        named = {
            fact[0]: fact
            for fact in reversed(facts)
            if fact[0] == riddle.answer or value_of(world, fact) == riddle.sought
        }
        found += [
            (target.index(subject, starts[conclusion]), *fact) for subject, fact in named.items()
        ]
    return found


def _find_subjects(
    world: World,
    riddle: Riddle,
    in_target: dict[int, int],
    target: str,
    prompt: str,
    question_start: int,
) -> Iterator[tuple[int, int, int]]:
    """Where every value begins that the target states, and where its subject was mentioned last: in
    the target, else in question and chain so far.
    """
    for n, at in in_target.items():
        thought = riddle.thoughts[n]
        at += _value_start(world, thought)
        for side, place in (
            (TARGET, target.rfind(thought.fact[0], 0, at)),
            (PROMPT, prompt.rfind(thought.fact[0], question_start)),
        ):
            if place >= 0:
                yield at, side, place
                break


def _compare(
    world: World,
    riddle: Riddle,
    in_prompt: dict[int, int],
    in_target: dict[int, int],
    question_start: int,
) -> Iterator[Comparison]:
    """The comparisons of the values that the question compares, where both stand somewhere;
    `in_prompt`, `in_target`: places of thoughts.
    """
    values = [value_of(world, riddle.thoughts[n].fact) for n in riddle.compared]
    places = [
        _find_value(world, riddle.thoughts[n], in_prompt.get(n), in_target.get(n))
        for n in riddle.compared
    ]
    if riddle.sought:
        sought = (
            PROMPT,
            question_start + riddle.text.rindex(riddle.sought) + last_word(riddle.sought),
        )
        outcomes = [SAME if value == riddle.sought else DIFFERENT for value in values]
        yield from (
            Comparison(*place, *sought, outcome)
            for place, outcome in zip(places, outcomes, strict=True)
            if place
        )
    elif values and all(places):
        first, second = _outcomes(*values, difference=riddle.kind == "age")
        yield Comparison(*places[1], *places[0], second)
        if places[1][0] == PROMPT:  # what is written later can be looked at in a prompt only
            yield Comparison(*places[0], *places[1], first)


def _find_value(
    world: World, thought: Thought, in_prompt: int | None, in_target: int | None
) -> tuple[int, int] | None:
    """The side and the place of a thought's value; None where the thought stands nowhere."""
    if in_prompt is None and in_target is None:
        return None
    return (TARGET if in_prompt is None else PROMPT), (
        in_target if in_prompt is None else in_prompt
    ) + _value_place(world, thought)


def _outcomes(a: str, b: str, difference: bool) -> tuple[int, int]:
    """How each of two values compares with the other; `difference`: by how many years the second is
    later.
    """
    if not a.isdigit():
        return ((SAME if a == b else DIFFERENT),) * 2
    if difference:
        return EARLIER, YEARS_AFTER + int(b) - int(a)
    return (EARLIER, LATER) if int(a) < int(b) else (LATER, EARLIER)


def _copy_difference(
    riddle: Riddle, target: str, compared: Sequence[Comparison]
) -> Iterator[tuple[int, int, int]]:
    """A number of years is read off the later year, where that stands in the prompt."""
    at = target.find(f" {riddle.answer} years") + 1
    if riddle.kind == "age" and at and compared and compared[0].side == PROMPT:
        yield at, compared[0].start, len(riddle.answer)


def shift(before: str, example: Example) -> Example:
    """The example with a text before its prompt."""
    n = len(before)
    compared = tuple(
        replace(
            one,
            start=one.start + n * (one.side == PROMPT),
            other_start=one.other_start + n * (one.other_side == PROMPT),
        )
        for one in example.compared
    )
    copies = tuple((at, source + n, length) for at, source, length in example.copies)
    stated = tuple(
        (at + n, named + n, subject, relation) for at, named, subject, relation in example.stated
    )
    asked = tuple((at, source + n, length) for at, source, length in example.asked)
    about = tuple((at, side, place + n * (side == PROMPT)) for at, side, place in example.about)
    return replace(
        example,
        prompt=before + example.prompt,
        copies=copies,
        stated=stated,
        compared=compared,
        about=about,
        asked=asked,
    )
