"""How well a miniature model reads: first sentences and whole chains on a held-out world, the
needed paragraphs given.
"""

import random
from collections.abc import Callable

import torch

from ircotlib.generation.greedy import decode_greedily
from ircotlib.laboratory.encyclopedia import World, make_world
from ircotlib.laboratory.questions import STYLES, Riddle, make_riddles
from ircotlib.prompts import FLAN_T5, Style
from ircotlib.text import answer_from_chain
from training.draws import Confusers, draw_context
from training.examples import Example, make_example

Write = Callable[[list[str]], list[str]]  # prompts -> what a model writes after each


def draw_reading_test(
    world: World, style: str, paragraphs: int, questions: int, seed: int, form: Style = FLAN_T5
) -> list[tuple[Riddle, Example]]:
    """Questions with all needed paragraphs among `paragraphs`, no demonstrations and no chain so
    far.
    """
    rng, confusers = random.Random(f"reading {style} {seed}"), Confusers(world)
    riddles = make_riddles(world, questions, style, seed)
    contexts = [
        draw_context(world, riddle, len(riddle.thoughts), paragraphs, confusers, rng, form)
        for riddle in riddles
    ]
    return [
        (riddle, make_example(world, riddle, context, done=0, form=form))
        for riddle, context in zip(riddles, contexts, strict=True)
    ]


def reading_accuracy(
    write: Write,
    paragraphs: int,
    questions: int,
    seed: int,
    size: int = 1200,
    form: Style = FLAN_T5,
) -> dict[str, float]:
    """Shares, 0 to 1, of first sentences, answers and whole chains that are exactly the gold ones;
    answers also by kind of question.

    The questions, so many a style, are about a held-out world of `size` pages; `seed` draws both.
    """
    tests = [
        test
        for style in STYLES
        for test in draw_reading_test(
            make_world(seed, size, style), style, paragraphs, questions, seed, form
        )
    ]
    texts = write([example.prompt for _, example in tests])
    pairs = [(text, riddle) for text, (riddle, _) in zip(texts, tests, strict=True)]
    first = [text.startswith(riddle.thoughts[0].text) for text, riddle in pairs]
    answered = [answer_from_chain(text) == riddle.answer for text, riddle in pairs]
    by_kind = {}
    for right, (_, riddle) in zip(answered, pairs, strict=True):
        by_kind.setdefault(riddle.kind, []).append(right)
    whole = [text == riddle.chain for text, riddle in pairs]
    return {
        "first": _share(first),
        "answer": _share(answered),
        "whole": _share(whole),
        **{kind: _share(rs) for kind, rs in by_kind.items()},
    }


def writer(model, tokenizer, rows: int = 40) -> Write:
    """What a model in training writes, greedily, `rows` prompts at a time."""

    def ends(_: int, written: list[int]) -> bool:
        return written[-1] == tokenizer.eos_token_id or len(written) == 90

    def write(prompts: list[str]) -> list[str]:
        texts, ids = [], [torch.tensor(tokens) for tokens in tokenizer(prompts)["input_ids"]]
        for at in range(0, len(ids), rows):
            texts += tokenizer.batch_decode(
                decode_greedily(model, ids[at : at + rows], ends), skip_special_tokens=True
            )
        return texts

    return write


def _share(outcomes: list[bool]) -> float:
    return round(sum(outcomes) / len(outcomes), 3)
