"""Draws training examples: questions, paragraphs, demonstrations, begun chains."""

import random
from dataclasses import replace

from ircot_laboratory.questions.questions import DATASETS, draw_riddle
from ircot_laboratory.world.encyclopedia import make_popular
from ircot_laboratory.world.records import Passage, Riddle, World
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, FLAN_T5, Style
from training.t5.examples import (
    PromptExample,
    make_chain,
    make_direct,
    make_titles,
    needed_passages,
    write_example_prompt,
)
from training.t5.recipe import Plan, T5Recipe
from training.worlds import draw_alike, make_training_world

PROMPT_TOKENS = 3600  # in one step, about
PARAGRAPH, DEMONSTRATION, QUESTION = 45, 200, 40  # their lengths in tokens, about
FRESH = 500_000  # worlds from this number on are for the conclusions of a single step
# share of the questions with a single hop: only they show whether values are read, not
# guessed
ONE_HOP = 0.25
# the kinds of questions, by data set, whose conclusions are also trained alone
CONCLUDED = {
    "hotpotqa": ("comparison",),
    "2wikimultihopqa": ("comparison", "bridge_comparison"),
    "iirc": ("age", "count", "count", "count"),
}


def draw_batch(
    step: int, recipe: T5Recipe, worlds: dict[str, World]
) -> list[PromptExample]:
    """Draw the examples of a step."""
    rng = random.Random(f"{recipe.seed} {step}")
    if recipe.is_conclusion(step):
        return _draw_conclusions(step, recipe, rng)
    plan = replace(recipe.plan(step, rng), style=recipe.style)
    shown = plan.paragraphs * PARAGRAPH + plan.demonstrations * DEMONSTRATION
    count = max(2, PROMPT_TOKENS // (QUESTION + shown))
    datasets = rng.choices(recipe.datasets(step), k=count)
    examples = [draw_prompt_example(worlds[d], d, rng, plan) for d in datasets]
    return [example for example in examples if example.target]


def _draw_conclusions(
    step: int, recipe: T5Recipe, rng: random.Random
) -> list[PromptExample]:
    """Conclusions about a world of this step's own, often differences of years."""
    world = make_training_world(recipe.seed, FRESH + step, "iirc", 1.0)
    datasets = [d for d in recipe.datasets(step) for _ in CONCLUDED.get(d, ())]
    if "iirc" in datasets and rng.random() < 0.5:
        return [draw_difference(world, rng, recipe.style) for _ in range(96)]
    drawn = rng.choices(datasets, k=48)
    return [draw_conclusion(world, rng, dataset, recipe.style) for dataset in drawn]


def draw_training_question(
    world: World, rng: random.Random, dataset: str, dialect: str | None = None
) -> Riddle:
    """Draw a question of one hop or of any kind, all equally: long ones are hard."""
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
    """Draw about `count` paragraphs: those of the first `known` thoughts, and
    distractors that resemble them, in random order. The style decides whether the main
    passage is first or last.

    A distractor is on the page of a value of an entity chosen so far, on a page whose
    title shares a word with that entity or such a value, or on any other page. It is
    never a paragraph of a later thought.
    """
    gold = needed_passages(world, riddle, known)
    later = set(needed_passages(world, riddle)) - set(gold)
    titles = [passage.title for passage in gold] or [riddle.facts[0].subject]
    chosen = dict.fromkeys(gold)
    for _ in range(8 * count):
        if len(chosen) >= count:
            break
        title = _draw_distractor(world, rng.choice(titles), rng)
        passage = rng.choice(world.pages[title])
        if passage not in later:
            chosen.setdefault(passage)
            titles.append(passage.title)
    main = gold[-1:] if riddle.main else []
    rest = [passage for passage in chosen if passage not in main]
    return style.arrange(main, rng.sample(rest, len(rest)))


def _draw_distractor(world: World, anchor: str, rng: random.Random) -> str:
    facts = world.entities[anchor].facts
    values = [value for value in facts.values() if value in world.entities]
    draw = rng.random()
    if draw < 0.35 and values:
        return rng.choice(values)
    if draw < 0.85:
        return draw_alike(world, rng.choice([*values, anchor]), rng)
    return rng.choice(world.names)


def draw_prompt_example(
    world: World, dataset: str, rng: random.Random, plan: Plan
) -> PromptExample:
    """Draw one example in the form of a data set: mostly a chain of thought, sometimes
    a direct answer, titles, or a chain without paragraphs.

    In three of ten examples with demonstrations, the demonstrations and the chain are
    in the dialect of a random data set, so that the model learns to follow them. In a
    style without an instruction, only demonstrations can ask for a direct answer.
    """
    is_other = plan.demonstrations and rng.random() < 0.3
    dialect = rng.choice(list(DATASETS)) if is_other else dataset
    share = rng.random()
    riddle = draw_training_question(world, rng, dataset, dialect)
    count = range(plan.demonstrations)
    shots = [draw_training_question(world, rng, dialect) for _ in count]
    if share < 0.06:
        return _draw_closed_book(world, rng, dataset, dialect, shots, plan.style)
    if share < 0.16 and (plan.style.template("direct").instruction or shots):
        return draw_direct(world, riddle, shots, rng, plan)
    if dataset == "iirc" and 0.16 <= share < 0.3:
        # shown without chains
        shots = [draw_training_question(world, rng, dataset) for _ in shots]
        return show_titles(world, riddle, shots, plan.style)
    return draw_chain(world, riddle, shots, rng, plan)


def draw_chain(
    world: World, riddle: Riddle, shots: list[Riddle], rng: random.Random, plan: Plan
) -> PromptExample:
    """A chain of thought that may be partly written, with the paragraphs of the whole
    chain or only those up to its next sentence, below demonstrations of the questions
    `shots`.
    """
    everything = len(riddle.thoughts)
    done = rng.randrange(1, everything) if rng.random() < plan.begun else 0
    known = everything if rng.random() < 0.5 else done + 1
    context = draw_context(world, riddle, known, plan.paragraphs, rng, plan.style)
    shown = draw_demonstrations(world, shots, rng, plan.style)
    return make_chain(world, riddle, context, done, style=plan.style, above=shown)


def draw_direct(
    world: World, riddle: Riddle, shots: list[Riddle], rng: random.Random, plan: Plan
) -> PromptExample:
    """A direct answer below demonstrations of direct answers."""
    known = len(riddle.thoughts)
    context = draw_context(world, riddle, known, plan.paragraphs, rng, plan.style)
    shown = draw_demonstrations(world, shots, rng, plan.style, direct=True)
    return make_direct(world, riddle, context, plan.style, shown)


def show_titles(
    world: World, riddle: Riddle, shots: list[Riddle], style: Style
) -> PromptExample:
    """Three titles below demonstrations, which ask for the true number of titles."""
    above = ""
    for shot in shots:
        shown = make_titles(world, shot, len(shot.linked), style)
        above += f"{shown.prompt} {shown.target}{BETWEEN_DEMONSTRATIONS}"
    return make_titles(world, riddle, 3, style, above)


def _draw_closed_book(
    world: World,
    rng: random.Random,
    dataset: str,
    dialect: str,
    shots: list[Riddle],
    style: Style,
) -> PromptExample:
    """A question without paragraphs whose first fact is about a popular entity."""
    instruction = style.template("cot").instruction
    shown = "".join(_demonstrate(shot, [], instruction, shot.chain) for shot in shots)
    while True:
        riddle = draw_training_question(world, rng, dataset, dialect)
        if riddle.facts[0].subject in make_popular() and not riddle.given:
            return make_chain(world, riddle, [], done=0, style=style, above=shown)


def draw_demonstrations(
    world: World,
    shots: list[Riddle],
    rng: random.Random,
    style: Style,
    direct: bool = False,
) -> str:
    """Demonstrations with their paragraphs and up to two distractors."""
    text = ""
    instruction = style.template("direct" if direct else "cot").instruction
    for riddle in shots:
        count = len(needed_passages(world, riddle)) + rng.choice((0, 1, 2))
        context = draw_context(world, riddle, len(riddle.thoughts), count, rng, style)
        answer = riddle.answer if direct else riddle.chain
        text += _demonstrate(riddle, context, instruction, answer)
    return text


def _demonstrate(
    riddle: Riddle, context: list[Passage], instruction: str | None, answer: str
) -> str:
    prompt = write_example_prompt(riddle, context, instruction=instruction, lower=False)
    return f"{prompt.text} {answer}{BETWEEN_DEMONSTRATIONS}"


def draw_conclusion(
    world: World, rng: random.Random, dataset: str, style: Style = FLAN_T5
) -> PromptExample:
    """Draw a question without paragraphs whose facts are all given as the chain so far,
    so that only the conclusion is left to write.

    Half of the time the facts are in the prompt, as in a step of IRCoT; otherwise they
    begin the target, as in a reader's own chain.
    """
    riddle = draw_riddle(world, rng, dataset, rng.choice(CONCLUDED[dataset]))
    return _conclude(world, rng, riddle, style)


def draw_difference(
    world: World, rng: random.Random, style: Style = FLAN_T5
) -> PromptExample:
    """Draw a difference of two years alone, so that all pairs are often seen."""
    riddle = draw_riddle(world, rng, "iirc", "age")
    short = replace(riddle, text="", thoughts=riddle.thoughts[1:], compared=(0, 1))
    return _conclude(world, rng, short, style)


def _conclude(
    world: World, rng: random.Random, riddle: Riddle, style: Style
) -> PromptExample:
    stated = sum(thought.fact is not None for thought in riddle.thoughts)
    done, silent = (stated, 0) if rng.random() < 0.5 else (0, stated)
    return make_chain(world, riddle, [], done, silent, style)
