"""Measures how well a model reads, with all needed paragraphs in the prompt."""

import random
from collections.abc import Callable
from statistics import fmean

from ircot_laboratory.questions.questions import DATASETS, make_riddles
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.records import Riddle, World
from ircotlib.models.decode import decode
from ircotlib.prompting.prompt import FLAN_T5, Style
from ircotlib.text import answer_from_chain
from training.t5.draw_examples import draw_context
from training.t5.examples import PromptExample, make_chain

PARAGRAPHS = 10  # in a prompt, about
# from prompts to what a model writes after each
Write = Callable[[list[str]], list[str]]


def draw_reading_test(
    world: World,
    dataset: str,
    paragraphs: int,
    questions: int,
    seed: int,
    style: Style = FLAN_T5,
) -> list[tuple[Riddle, PromptExample]]:
    """Questions with their prompts, which have about `paragraphs` paragraphs, all
    needed ones among them, and no demonstrations; none of the chain is given.
    """
    rng = random.Random(f"reading {dataset} {seed}")
    tests = []
    for riddle in make_riddles(world, questions, dataset, seed):
        known = len(riddle.thoughts)
        context = draw_context(world, riddle, known, paragraphs, rng, style)
        example = make_chain(world, riddle, context, done=0, style=style)
        tests.append((riddle, example))
    return tests


def reading_accuracy(
    write: Write, questions: int, seed: int, size: int = 1200, style: Style = FLAN_T5
) -> dict[str, float]:
    """The shares, 0 to 1, of first sentences, answers and whole chains that match the
    gold ones exactly; answers also by kind of question.

    `questions` is the number for each data set. They are about a held-out world of
    `size` pages; `seed` decides both.
    """
    tests = []
    for dataset in DATASETS:
        world = make_world(seed, size, dataset)
        tests += draw_reading_test(world, dataset, PARAGRAPHS, questions, seed, style)
    texts = write([example.prompt for _, example in tests])
    right: dict[str, list[bool]] = {"first": [], "answer": [], "whole": []}
    for text, (riddle, _) in zip(texts, tests, strict=True):
        is_right = answer_from_chain(text) == riddle.answer
        right["first"].append(text.startswith(riddle.thoughts[0].text))
        right["answer"].append(is_right)
        right["whole"].append(text == riddle.chain)
        right.setdefault(riddle.kind, []).append(is_right)
    return {name: round(fmean(rights), 3) for name, rights in right.items()}


def writer(model, tokenizer, rows: int = 40, longest: int = 90) -> Write:
    """Greedy decoding: `rows` prompts at a time, at most `longest` tokens each."""

    def ends(_: int, written: list[int]) -> bool:
        return written[-1] == tokenizer.eos_token_id or len(written) == longest

    def write(prompts: list[str]) -> list[str]:
        ids = tokenizer(prompts)["input_ids"]
        written: list[list[int]] = []
        for at in range(0, len(ids), rows):
            replies = sorted(decode(model, ids[at : at + rows], ends))  # by row
            written += [tokens for _, tokens in replies]
        return tokenizer.batch_decode(written, skip_special_tokens=True)

    return write
