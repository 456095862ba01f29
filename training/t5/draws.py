"""Draws the examples that a shipped model is trained on: questions, paragraphs with distractors,
demonstrations, and chains that are partly written.
"""

import random
from dataclasses import dataclass, replace

from ircot_laboratory.questions.questions import DATASETS, draw_riddle
from ircot_laboratory.world.encyclopedia import make_popular
from ircot_laboratory.world.records import Passage, Riddle, World
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, FLAN_T5, Style
from training.t5.examples import (
    Example,
    make_direct,
    make_example,
    make_titles,
    needed,
    shift,
    write_prompt,
)

# share of the questions with a single hop: only they show whether values are read, not guessed
ONE_HOP = 0.25
CONCLUDED = {  # the kinds of questions, by data set, whose conclusions are also trained alone
    "hotpotqa": ("comparison",),
    "2wikimultihopqa": ("comparison", "bridge_comparison"),
    "iirc": ("age", "count", "count", "count"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What the examples of a step are like: the numbers of paragraphs and of demonstrations.

    `begun`: the share of chains that are partly written; `style`: how the model is prompted.
    """

    paragraphs: int
    demonstrations: int
    begun: float = 0.37
    style: Style = FLAN_T5


def draw_question(
    world: World, rng: random.Random, dataset: str, dialect: str | None = None
) -> Riddle:
    """Draw a training question of a data set: of one hop, or of one of its kinds. All kinds are
    equally frequent, since the longer ones are harder to learn.
    """
    one_hop = dataset != "iirc" and rng.random() < ONE_HOP
    kind = "1hop" if one_hop else rng.choice(list(DATASETS[dataset]))
    return draw_riddle(world, rng, dataset, kind, dialect)


def draw_context(
    world: World,
    riddle: Riddle,
    known: int,
    count: int,
    rng: random.Random,
    style: Style = FLAN_T5,
) -> list[Passage]:
    """Draw about `count` paragraphs: those of the first `known` thoughts, and distractors that
    resemble them, in random order. The style decides whether the main passage is first or last.

    A distractor is on the page of a value of an entity chosen so far, on a page whose title shares
    a word with that entity or such a value, or on any other page. It is never a paragraph of a
    later thought.
    """
    gold = needed(world, riddle, known)
    later = set(needed(world, riddle)) - set(gold)
    titles = [passage.title for passage in gold] or [riddle.facts[0].subject]
    chosen = dict.fromkeys(gold)
    for _ in range(8 * count):
        if len(chosen) >= count:
            break
        passage = rng.choice(world.pages[_draw_distractor(world, rng.choice(titles), rng)])
        if passage not in later:
            chosen.setdefault(passage)
            titles.append(passage.title)
    main = gold[-1:] if riddle.main else []
    rest = [passage for passage in chosen if passage not in main]
    return style.arrange(main, rng.sample(rest, len(rest)))


def _draw_distractor(world: World, anchor: str, rng: random.Random) -> str:
    values = [value for value in world.entities[anchor].facts.values() if value in world.entities]
    draw = rng.random()
    if draw < 0.35 and values:
        return rng.choice(values)
    if draw < 0.85:
        return draw_alike(world, rng.choice([*values, anchor]), rng)
    return rng.choice(world.names)


def draw_alike(world: World, title: str, rng: random.Random) -> str:
    """Draw a title that shares a word with this one; it may be the same title."""
    return rng.choice(world.by_word[rng.choice(title.split())])


def draw_example(world: World, dataset: str, rng: random.Random, plan: Plan) -> Example:
    """Draw one example in the form of a data set: mostly a chain of thought, sometimes a direct
    answer, titles, or a chain without paragraphs.

    In three of ten examples with demonstrations, the demonstrations and the chain are in the
    dialect of a random data set, so that the model learns to follow them. In a style without an
    instruction, only demonstrations can ask for a direct answer.
    """
    is_other = plan.demonstrations and rng.random() < 0.3
    dialect = rng.choice(list(DATASETS)) if is_other else dataset
    draw, style = rng.random(), plan.style
    riddle = draw_question(world, rng, dataset, dialect)
    shots = [draw_question(world, rng, dialect) for _ in range(plan.demonstrations)]
    if draw < 0.06:
        example = _draw_closed_book(world, rng, dataset, dialect, style)
        return shift(_show_closed(shots, style), example)
    if 0.06 <= draw < 0.16 and (style.direct or plan.demonstrations):
        everything = len(riddle.thoughts)
        context = draw_context(world, riddle, everything, plan.paragraphs, rng, style)
        shown = _show(world, shots, rng, style, direct=True)
        return shift(shown, make_direct(world, riddle, context, style))
    if dataset == "iirc" and 0.16 <= draw < 0.3:
        shots = [draw_question(world, rng, dataset) for _ in shots]
        shown = _show_titles(world, shots, style)
        return shift(shown, make_titles(world, riddle, n=3, style=style))
    return _draw_chain(world, riddle, shots, rng, plan)


def _draw_chain(
    world: World, riddle: Riddle, shots: list[Riddle], rng: random.Random, plan: Plan
) -> Example:
    """A chain of thought that may be partly written, with the paragraphs of the whole chain or only
    those up to its next sentence.
    """
    everything = len(riddle.thoughts)
    done = rng.randrange(1, everything) if rng.random() < plan.begun else 0
    known = everything if rng.random() < 0.5 else done + 1
    context = draw_context(world, riddle, known, plan.paragraphs, rng, plan.style)
    shown = _show(world, shots, rng, plan.style)
    return shift(shown, make_example(world, riddle, context, done, style=plan.style))


def _show(
    world: World, shots: list[Riddle], rng: random.Random, style: Style, direct: bool = False
) -> str:
    """Demonstrations with their paragraphs and up to two distractors."""
    text, instruction = "", style.direct if direct else style.chain_of_thought
    for riddle in shots:
        count = len(needed(world, riddle)) + rng.choice((0, 1, 2))
        context = draw_context(world, riddle, len(riddle.thoughts), count, rng, style)
        answer = riddle.answer if direct else riddle.chain
        text += _write_demonstration(riddle, context, instruction, answer)
    return text


def _show_closed(shots: list[Riddle], style: Style) -> str:
    return "".join(
        _write_demonstration(riddle, [], style.chain_of_thought, riddle.chain) for riddle in shots
    )


def _write_demonstration(
    riddle: Riddle, context: list[Passage], instruction: str | None, answer: str
) -> str:
    prompt = write_prompt(riddle, context, instruction=instruction, lower=False)
    return f"{prompt.text} {answer}{BETWEEN_DEMONSTRATIONS}"


def _show_titles(world: World, shots: list[Riddle], style: Style) -> str:
    """Demonstrations of title generation, which ask for the true number."""
    examples = [make_titles(world, riddle, style=style) for riddle in shots]
    return "".join(f"{one.prompt} {one.target}{BETWEEN_DEMONSTRATIONS}" for one in examples)


def _draw_closed_book(
    world: World, rng: random.Random, dataset: str, dialect: str, style: Style
) -> Example:
    """A question without paragraphs whose first fact, at least, is about a popular entity, and so
    known by heart.
    """
    while True:
        riddle = draw_question(world, rng, dataset, dialect)
        if riddle.facts[0].subject in make_popular() and not riddle.given:
            return make_example(world, riddle, [], done=0, style=style)


def draw_conclusion(
    world: World, rng: random.Random, dataset: str, style: Style = FLAN_T5
) -> Example:
    """Draw a question without paragraphs whose facts are all given as the chain so far, so that
    only the conclusion is left to write.

    Half of the time the facts are in the prompt, as in a step of IRCoT; otherwise they begin the
    target, as in a reader's own chain.
    """
    riddle = draw_riddle(world, rng, dataset, rng.choice(CONCLUDED[dataset]))
    return _conclude(world, rng, riddle, style)


def draw_difference(world: World, rng: random.Random, style: Style = FLAN_T5) -> Example:
    """Draw a difference of two years: the years are the chain so far, and there is no question. The
    example is short, so that the model sees all pairs of years often.
    """
    riddle = draw_riddle(world, rng, "iirc", "age")
    short = replace(riddle, text="", thoughts=riddle.thoughts[1:], compared=(0, 1))
    return _conclude(world, rng, short, style)


def _conclude(world: World, rng: random.Random, riddle: Riddle, style: Style) -> Example:
    stated = sum(thought.fact is not None for thought in riddle.thoughts)
    done, silent = (stated, 0) if rng.random() < 0.5 else (0, stated)
    return make_example(world, riddle, [], done, silent, style)
