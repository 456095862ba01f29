"""Makes training examples from an encyclopedia: a prompt as the systems write it, the target, and
where each word of the target comes from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ircot_laboratory.world.encyclopedia import make_popular
from ircot_laboratory.world.records import Passage, Riddle, Thought, World
from ircotlib.prompting.prompt import FLAN_T5, Style, read_template
from training.t5.places import (
    PROMPT,
    About,
    Asked,
    Comparison,
    Copy,
    Decided,
    Draft,
    Stated,
    Written,
    copy_difference,
    find_asked,
    find_comparisons,
    find_copies,
    find_decided,
    find_sources,
    find_stated,
    find_stated_so_far,
    find_subjects,
)


@dataclass(frozen=True, slots=True)
class Example:
    """One training example; positions are in characters.

    `silent`: the length of the beginning of the target that is given, not learned. `complete`:
    whether the target reaches the end of the chain.
    """

    prompt: str
    target: str
    copies: tuple[Copy, ...] = ()
    stated: tuple[Stated, ...] = ()
    decided: tuple[Decided, ...] = ()
    compared: tuple[Comparison, ...] = ()
    about: tuple[About, ...] = ()
    asked: tuple[Asked, ...] = ()
    silent: int = 0
    complete: bool = True


def needed(world: World, riddle: Riddle, known: int | None = None) -> list[Passage]:
    """The paragraphs of the facts that the first `known` thoughts state (all thoughts if None),
    each once, in order; the main passage comes last.
    """
    thoughts = riddle.thoughts[:known]
    main = [world.passage(*riddle.main)] if riddle.main else []
    found = dict.fromkeys(world.passage(*thought.fact) for thought in thoughts if thought.fact)
    return [*(passage for passage in found if passage not in main), *main]


def make_direct(
    world: World, riddle: Riddle, context: Sequence[Passage], style: Style = FLAN_T5
) -> Example:
    """Make the example of a direct reader, whose target is the answer alone."""
    prompt = write_prompt(riddle, context, instruction=style.direct)
    copies = find_copies(riddle.answer, 0, find_sources(world, riddle, prompt))
    last = next(thought.fact for thought in reversed(riddle.thoughts) if thought.fact)
    decided = (Decided(0, *last),) if world.value(*last) == riddle.answer else ()
    return Example(prompt.text, riddle.answer, tuple(copies), tuple(find_stated(prompt)), decided)


def make_titles(
    world: World, riddle: Riddle, n: int | None = None, style: Style = FLAN_T5
) -> Example:
    """Make the example of title generation (IRCoT App. B): the prompt has the main passage and the
    question, the target has the titles of the other gold pages.

    `n`: how many titles the prompt asks for; None: as many as there are. The target always has all.
    """
    question = read_template("ircot", "titles").ask(riddle.text, n=n or len(riddle.linked))
    context = [world.passage(*riddle.main)]
    prompt = write_prompt(riddle, context, instruction=style.direct, question=question)
    asked = prompt._replace(question=prompt.question + question.index(riddle.text))
    target = ", ".join(riddle.linked)
    copies = find_copies(target, 0, find_sources(world, riddle, asked))
    return Example(prompt.text, target, tuple(copies), tuple(find_stated(prompt)))


def make_example(
    world: World,
    riddle: Riddle,
    context: Sequence[Passage],
    done: int,
    silent: int = 0,
    style: Style = FLAN_T5,
) -> Example:
    """Make the example of a chain of thought: its first `done` sentences are in the prompt, the
    rest is the target, cut before the first fact that is neither shown nor popular.

    `silent`: how many sentences at the beginning of the target are given, not learned; these need
    no paragraphs.
    """
    prompt = write_prompt(riddle, context, done, style.chain_of_thought)
    end = _find_end(world, riddle, prompt, done, silent)
    draft = _draft(world, riddle, prompt, done, end)
    given = " ".join(thought.text for thought in riddle.thoughts[done : done + silent])
    silent_length = len(given) + 1 if silent else 0
    compared = tuple(find_comparisons(draft))
    copies = find_copies(draft.target, silent_length, find_sources(world, riddle, prompt))
    return Example(
        prompt=prompt.text,
        target=draft.target,
        copies=(*copies, *copy_difference(draft, compared)),
        stated=(*find_stated(prompt), *find_stated_so_far(draft)),
        decided=tuple(find_decided(draft, silent)),
        compared=compared,
        about=tuple(find_subjects(draft)),
        asked=tuple(find_asked(draft)),
        silent=silent_length,
        complete=end == len(riddle.thoughts),
    )


def _find_end(world: World, riddle: Riddle, prompt: Written, done: int, silent: int) -> int:
    """The number of thoughts before the first one that can be neither read nor known."""
    for n in range(max(done, silent), len(riddle.thoughts)):
        fact = riddle.thoughts[n].fact
        if (
            fact
            and fact.subject not in make_popular()
            and world.passage(*fact) not in prompt.places
        ):
            return n
    return len(riddle.thoughts)


def _draft(world: World, riddle: Riddle, prompt: Written, done: int, end: int) -> Draft:
    thoughts = riddle.thoughts
    target, starts = _join(thoughts[done:end])
    chain, chain_starts = _join(thoughts[:done])
    before = len(prompt.text) - len(chain)
    in_prompt = {n: before + chain_starts[n] for n in range(done) if thoughts[n].fact}
    in_target = {n: starts[n - done] for n in range(done, end) if thoughts[n].fact}
    last = len(thoughts) - 2
    conclusion = starts[last - done] if done <= last < end else None
    return Draft(world, riddle, prompt, target, in_prompt, in_target, conclusion)


def _join(thoughts: Sequence[Thought]) -> tuple[str, list[int]]:
    """The thoughts joined by spaces, and where each of them begins."""
    starts = [sum(len(t.text) + 1 for t in thoughts[:n]) for n in range(len(thoughts))]
    return " ".join(thought.text for thought in thoughts), starts


def write_prompt(
    riddle: Riddle,
    context: Sequence[Passage],
    done: int = 0,
    instruction: str | None = FLAN_T5.chain_of_thought,
    question: str = "",
    lower: bool = True,
) -> Written:
    """Write the prompt in the format of ircotlib.prompting.prompt.

    `lower`: write the titles of "iirc" other than the main passage's in lower case, as in the
    official files; demonstrations keep their case.
    """
    prompt, places = "", {}
    for passage in context:
        is_link = riddle.main and passage.title != riddle.main.subject
        title = passage.title.lower() if is_link and lower else passage.title
        prompt += f"Wikipedia Title: {title}\n"
        places[passage] = len(prompt)
        prompt += f"{passage.text}\n\n"
    prompt += f"Q: {instruction}\n" if instruction else "Q: "
    start = len(prompt)
    prompt += f"{question or riddle.text}\nA: {_join(riddle.thoughts[:done])[0]}"
    return Written(prompt.rstrip(), places, start)


def shift(before: str, example: Example) -> Example:
    """Put a text before the prompt of an example, and shift its positions."""
    n = len(before)
    compared = [
        one._replace(
            start=one.start + n * (one.side == PROMPT),
            other_start=one.other_start + n * (one.other_side == PROMPT),
        )
        for one in example.compared
    ]
    about = [one._replace(place=one.place + n * (one.side == PROMPT)) for one in example.about]
    stated = [one._replace(at=one.at + n, named=one.named + n) for one in example.stated]
    return replace(
        example,
        prompt=before + example.prompt,
        copies=tuple(one._replace(source=one.source + n) for one in example.copies),
        stated=tuple(stated),
        compared=tuple(compared),
        about=tuple(about),
        asked=tuple(one._replace(source=one.source + n) for one in example.asked),
    )
