"""Drawing what a miniature model is trained on: questions, paragraphs with distractors,
demonstrations, chains that have begun.
"""

import random
from dataclasses import dataclass, replace

from ircotlib.laboratory.encyclopedia import Passage, World, make_popular, titles_by_word
from ircotlib.laboratory.questions import STYLES, Riddle, draw_riddle
from ircotlib.prompts import BETWEEN_DEMONSTRATIONS, FLAN_T5, Style
from training.examples import (
    Example,
    make_direct,
    make_example,
    make_titles,
    needed,
    shift,
    write_prompt,
)

# of the training questions have a single hop: only they show whether values are read, not guessed
ONE_HOP = 0.25
CONCLUDED = {
    "hotpotqa": ("comparison",),
    "2wikimultihopqa": ("comparison", "bridge_comparison"),
    "iirc": ("age", "count", "count", "count"),
}


class Confusers:
    """Titles of a world by the words in them."""

    def __init__(self, world: World):
        self.by_word = titles_by_word(world)

    def draw(self, title: str, rng: random.Random) -> str:
        """A title that shares a word with this one (or this one itself)."""
        return rng.choice(self.by_word[rng.choice(title.split())])


def draw_question(
    world: World, rng: random.Random, style: str, dialect: str | None = None
) -> Riddle:
    """Draw a training question of a style, of one hop or of one of its kinds (all alike, for the
    longer ones are harder).
    """
    one_hop = style != "iirc" and rng.random() < ONE_HOP
    return draw_riddle(
        world, rng, style, "1hop" if one_hop else rng.choice(list(STYLES[style])), dialect
    )


def draw_context(
    world: World,
    riddle: Riddle,
    known: int,
    count: int,
    confusers: Confusers,
    rng: random.Random,
    form: Style = FLAN_T5,
) -> list[Passage]:
    """Draw about `count` paragraphs: those of the first `known` thoughts, and distractors that
    resemble them.

    The main passage is the last or the first, as the form of the prompts has it.

    Distractors: paragraphs of wrong values (what else a needed paragraph mentions), titles that
    share a word with a needed one or with such a value, and any others; never the paragraphs of
    later facts.
    """
    gold = needed(world, riddle, known)
    later = set(needed(world, riddle)) - set(gold)
    titles = [passage.title for passage in gold] or [riddle.facts[0][0]]
    chosen = dict.fromkeys(gold)
    for _ in range(8 * count):
        if len(chosen) >= count:
            break
        passage = rng.choice(
            world.pages[_draw_distractor(world, rng.choice(titles), confusers, rng)]
        )
        if passage not in later:
            chosen.setdefault(passage)
            titles.append(passage.title)
    main = gold[-1:] if riddle.main else []
    rest = [passage for passage in chosen if passage not in main]
    return form.arrange(main, rng.sample(rest, len(rest)))


def _draw_distractor(world: World, anchor: str, confusers: Confusers, rng: random.Random) -> str:
    values = [value for value in world.entities[anchor].facts.values() if value in world.entities]
    draw = rng.random()
    if draw < 0.35 and values:
        return rng.choice(values)
    return (
        confusers.draw(rng.choice([*values, anchor]), rng)
        if draw < 0.85
        else rng.choice(list(world.entities))
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """What the examples of a step are like: so many paragraphs and demonstrations, and the share of
    chains that have begun.

    `form`: how the family of models is prompted.
    """

    paragraphs: int
    demonstrations: int
    begun: float = 0.37
    form: Style = FLAN_T5


def draw_example(
    world: World, style: str, confusers: Confusers, rng: random.Random, plan: Plan
) -> Example:
    """Draw one example of a world in a style: mostly a chain of thought, sometimes a direct answer,
    titles, or a chain without paragraphs.

    Three times in ten the demonstrations, and with them the chain, are in the dialect of another
    style: what they show is to be followed. Without an instruction only demonstrations can ask for
    a direct answer.
    """
    dialect = rng.choice(list(STYLES)) if plan.demonstrations and rng.random() < 0.3 else style
    draw, form = rng.random(), plan.form
    riddle = draw_question(world, rng, style, dialect)
    shots = [draw_question(world, rng, dialect) for _ in range(plan.demonstrations)]
    if draw < 0.06:
        return shift(_show_closed(shots, form), _closed_book(world, rng, style, dialect, form))
    if 0.06 <= draw < 0.16 and (form.direct or plan.demonstrations):
        context = draw_context(
            world, riddle, len(riddle.thoughts), plan.paragraphs, confusers, rng, form
        )
        return shift(
            _show(world, shots, confusers, rng, form, direct=True),
            make_direct(world, riddle, context, form),
        )
    if style == "iirc" and 0.16 <= draw < 0.3:
        shots = [draw_question(world, rng, style) for _ in shots]
        return shift(_show_titles(world, shots, form), make_titles(world, riddle, n=3, form=form))
    done = rng.randrange(1, len(riddle.thoughts)) if rng.random() < plan.begun else 0
    known = len(riddle.thoughts) if rng.random() < 0.5 else done + 1
    context = draw_context(world, riddle, known, plan.paragraphs, confusers, rng, form)
    return shift(
        _show(world, shots, confusers, rng, form),
        make_example(world, riddle, context, done, form=form),
    )


def _show(
    world: World,
    shots: list[Riddle],
    confusers: Confusers,
    rng: random.Random,
    form: Style,
    direct: bool = False,
) -> str:
    """Demonstrations with their paragraphs and up to two distractors."""
    text = ""
    for riddle in shots:
        gold = needed(world, riddle)
        context = draw_context(
            world,
            riddle,
            len(riddle.thoughts),
            len(gold) + rng.choice((0, 1, 2)),
            confusers,
            rng,
            form,
        )
        text += _write_demonstration(
            riddle,
            context,
            form.direct if direct else form.chain_of_thought,
            riddle.answer if direct else riddle.chain,
        )
    return text


def _show_closed(shots: list[Riddle], form: Style) -> str:
    return "".join(
        _write_demonstration(riddle, [], form.chain_of_thought, riddle.chain) for riddle in shots
    )


def _write_demonstration(
    riddle: Riddle, context: list[Passage], instruction: str | None, answer: str
) -> str:
    return f"{write_prompt(riddle, context, instruction=instruction, lower=False)[0]} {answer}{BETWEEN_DEMONSTRATIONS}"


def _show_titles(world: World, shots: list[Riddle], form: Style) -> str:
    """Demonstrations of title generation, which ask for the true number."""
    examples = [make_titles(world, riddle, form=form) for riddle in shots]
    return "".join(
        f"{example.prompt} {example.target}{BETWEEN_DEMONSTRATIONS}" for example in examples
    )


def _closed_book(
    world: World, rng: random.Random, style: str, dialect: str, form: Style
) -> Example:
    """A question without paragraphs whose first fact at least is a popular one, to be known by
    heart.
    """
    while True:
        riddle = draw_question(world, rng, style, dialect)
        if riddle.facts[0][0] in make_popular() and not riddle.given:
            return make_example(world, riddle, [], done=0, form=form)


def draw_conclusion(world: World, rng: random.Random, style: str, form: Style = FLAN_T5) -> Example:
    """Draw a question without paragraphs, all facts given as the chain so far: only the conclusion
    is left to write.

    Half the time the facts are in the prompt, as in an IRCoT step, else they begin the target, as
    in a reader's own chain.
    """
    return _conclude(world, rng, draw_riddle(world, rng, style, rng.choice(CONCLUDED[style])), form)


def draw_difference(world: World, rng: random.Random, form: Style = FLAN_T5) -> Example:
    """Draw an age with its two years as the chain so far and no question: short, for all pairs of
    years are to be seen often.
    """
    riddle = draw_riddle(world, rng, "iirc", "age")
    return _conclude(
        world, rng, replace(riddle, text="", thoughts=riddle.thoughts[1:], compared=(0, 1)), form
    )


def _conclude(world: World, rng: random.Random, riddle: Riddle, form: Style) -> Example:
    stated = sum(thought.fact is not None for thought in riddle.thoughts)
    done, silent = (stated, 0) if rng.random() < 0.5 else (0, stated)
    return make_example(world, riddle, [], done, silent, form)
