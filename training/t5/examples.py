"""Makes training examples: prompt, target, and where each word comes from."""

from collections.abc import Sequence
from dataclasses import dataclass

from ircot_laboratory.world.encyclopedia import make_popular
from ircot_laboratory.world.records import Fact, Passage, Riddle, Thought, World
from ircotlib.prompting.prompt import FLAN_T5, Style, read_template
from training.t5.sources import (
    ComparedValues,
    DecidedValue,
    Draft,
    LookedUp,
    PromptText,
    StatedValue,
    SubjectOf,
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
class PromptExample:
    """One training example; positions are in characters."""

    prompt: str
    target: str
    copies: tuple[LookedUp, ...] = ()
    stated: tuple[StatedValue, ...] = ()
    decided: tuple[DecidedValue, ...] = ()
    compared: tuple[ComparedValues, ...] = ()
    about: tuple[SubjectOf, ...] = ()
    asked: tuple[LookedUp, ...] = ()
    silent: int = 0  # how much of the target, from its start, is given, not learned
    complete: bool = True  # whether the target reaches the end of the chain


def needed_passages(
    world: World, riddle: Riddle, known: int | None = None
) -> list[Passage]:
    """The paragraphs of the first `known` thoughts (None: all); the main one last."""
    main = [world.passage(*riddle.main)] if riddle.main else []
    facts = [thought.fact for thought in riddle.thoughts[:known] if thought.fact]
    passages = dict.fromkeys(world.passage(*fact) for fact in facts)
    return [*(passage for passage in passages if passage not in main), *main]


def make_direct(
    world: World, riddle: Riddle, context: Sequence[Passage], style: Style, above: str
) -> PromptExample:
    """Make the example of a direct reader, whose target is the answer alone."""
    instruction = style.template("direct").instruction
    prompt = write_example_prompt(riddle, context, instruction=instruction, above=above)
    copies = find_copies(riddle.answer, 0, find_sources(world, riddle, prompt))
    last = next(thought.fact for thought in reversed(riddle.thoughts) if thought.fact)
    decided = (DecidedValue(0, last),) if world.value(*last) == riddle.answer else ()
    stated = tuple(find_stated(prompt))
    return PromptExample(prompt.text, riddle.answer, tuple(copies), stated, decided)


def make_titles(
    world: World, riddle: Riddle, n: int, style: Style, above: str = ""
) -> PromptExample:
    """Make the example of title generation (IRCoT App. B): the prompt has the main
    passage and the question, the target has the titles of the other gold pages.

    `n`: how many titles the prompt asks for. The target always has all.
    """
    question = read_template("ircot", "titles").ask(riddle.text, n=n)
    context = [world.passage(*riddle.main)]
    instruction = style.template("direct").instruction
    prompt = write_example_prompt(
        riddle, context, 0, instruction, question, above=above
    )
    within = prompt._replace(question=prompt.question + question.index(riddle.text))
    target = ", ".join(riddle.linked)
    copies = find_copies(target, 0, find_sources(world, riddle, within))
    return PromptExample(prompt.text, target, tuple(copies), tuple(find_stated(prompt)))


def make_chain(
    world: World,
    riddle: Riddle,
    context: Sequence[Passage],
    done: int,
    silent: int = 0,
    style: Style = FLAN_T5,
    above: str = "",
) -> PromptExample:
    """Make the example of a chain of thought: its first `done` sentences are in the
    prompt, the rest is the target, cut before the first fact that is neither shown nor
    popular.

    `silent`: how many sentences at the beginning of the target are given, not learned;
    these need no paragraphs.
    """
    thoughts = riddle.thoughts
    instruction = style.template("cot").instruction
    prompt = write_example_prompt(riddle, context, done, instruction, above=above)
    end = max(done, silent)
    while end < len(thoughts) and _is_known(thoughts[end].fact, world, prompt):
        end += 1
    draft = _draft_chain(world, riddle, prompt, done, end)
    silent_length = len(_join(thoughts[done : done + silent])[0]) + 1 if silent else 0
    compared = tuple(find_comparisons(draft))
    sources = find_sources(world, riddle, prompt)
    copies = find_copies(draft.target, silent_length, sources)
    return PromptExample(
        prompt=prompt.text,
        target=draft.target,
        copies=(*copies, *copy_difference(draft, compared)),
        stated=(*find_stated(prompt), *find_stated_so_far(draft)),
        decided=tuple(find_decided(draft, silent)),
        compared=compared,
        about=tuple(find_subjects(draft)),
        asked=tuple(find_asked(draft)),
        silent=silent_length,
        complete=end == len(thoughts),
    )


def _draft_chain(
    world: World, riddle: Riddle, prompt: PromptText, done: int, end: int
) -> Draft:
    """A chain whose thoughts up to `done` are in the prompt; up to `end`, a target."""
    thoughts = riddle.thoughts
    target, starts = _join(thoughts[done:end])
    chain, chain_starts = _join(thoughts[:done])
    before = len(prompt.text) - len(chain)
    in_prompt = {n: before + chain_starts[n] for n in range(done) if thoughts[n].fact}
    in_target = {n: starts[n - done] for n in range(done, end) if thoughts[n].fact}
    last = len(thoughts) - 2
    conclusion = starts[last - done] if done <= last < end else None
    return Draft(world, riddle, prompt, target, in_prompt, in_target, conclusion)


def _is_known(fact: Fact | None, world: World, prompt: PromptText) -> bool:
    """Whether a fact, if any, is in the prompt or popular."""
    if fact is None or fact.subject in make_popular():
        return True
    return world.passage(*fact) in prompt.passages


def _join(thoughts: Sequence[Thought]) -> tuple[str, list[int]]:
    """The thoughts joined by spaces, and where each of them begins."""
    starts = [sum(len(t.text) + 1 for t in thoughts[:n]) for n in range(len(thoughts))]
    return " ".join(thought.text for thought in thoughts), starts


def write_example_prompt(
    riddle: Riddle,
    context: Sequence[Passage],
    done: int = 0,
    instruction: str | None = None,
    question: str = "",
    lower: bool = True,
    above: str = "",
) -> PromptText:
    """Write the prompt in the format of ircotlib.prompting.prompt, below the
    demonstrations `above`.

    `lower`: write the titles of "iirc" other than the main passage's in lower case, as
    in the official files; demonstrations keep their case.
    """
    prompt = above
    passages = {}
    for passage in context:
        is_link = riddle.main and passage.title != riddle.main.subject
        title = passage.title.lower() if is_link and lower else passage.title
        prompt += f"Wikipedia Title: {title}\n"
        passages[passage] = len(prompt)
        prompt += f"{passage.text}\n\n"
    prompt += f"Q: {instruction}\n" if instruction else "Q: "
    start = len(prompt)
    prompt += f"{question or riddle.text}\nA: {_join(riddle.thoughts[:done])[0]}"
    return PromptText(prompt.rstrip(), passages, start)
