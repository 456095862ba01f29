"""How well a miniature model reads: first sentences and whole chains on a held-out world, the needed paragraphs given."""

import random
from collections.abc import Callable

import torch

from ircotlib.text import answer_from_chain
from ircotlib.world.encyclopedia import World, make_world
from ircotlib.world.examples import Confusers, Example, draw_context, make_example
from ircotlib.world.questions import STYLES, Riddle, make_riddles

Write = Callable[[list[str]], list[str]]  # prompts -> what a model writes after each


def draw_reading_test(world: World, style: str, paragraphs: int, questions: int, seed: int) -> list[tuple[Riddle, Example]]:
    """Questions with all needed paragraphs among `paragraphs`, no demonstrations and no chain so far."""
    rng, confusers = random.Random(f"reading {style} {seed}"), Confusers(world)
    riddles = make_riddles(world, questions, style, seed)
    return [(r, make_example(world, r, draw_context(world, r, len(r.thoughts), paragraphs, confusers, rng), done=0)) for r in riddles]


def reading_accuracy(write: Write, paragraphs: int, questions: int, seed: int, size: int = 1200) -> dict[str, float]:
    """Shares, 0 to 1, of first sentences, answers and whole chains that are exactly the gold ones; answers also by kind of question.

    The questions, so many a style, are about a held-out world of `size` pages; `seed` draws both.
    """
    tests = [test for style in STYLES for test in draw_reading_test(make_world(seed, size, style), style, paragraphs, questions, seed)]
    texts = write([example.prompt for _, example in tests])
    pairs = [(text, riddle) for text, (riddle, _) in zip(texts, tests, strict=True)]
    first = [text.startswith(riddle.thoughts[0].text) for text, riddle in pairs]
    answered = [answer_from_chain(text) == riddle.answer for text, riddle in pairs]
    by_kind = {}
    for right, (_, riddle) in zip(answered, pairs, strict=True):
        by_kind.setdefault(riddle.kind, []).append(right)
    whole = [text == riddle.chain for text, riddle in pairs]
    return {"first": _share(first), "answer": _share(answered), "whole": _share(whole), **{kind: _share(rs) for kind, rs in by_kind.items()}}


def writer(model, tokenizer, rows: int = 40) -> Write:
    """What a model in training writes, greedily, `rows` prompts at a time."""

    @torch.inference_mode()
    def write(prompts: list[str]) -> list[str]:
        texts, device = [], model.device
        for at in range(0, len(prompts), rows):
            batch = tokenizer(prompts[at : at + rows], return_tensors="pt", padding=True).to(device)
            written = model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=90, do_sample=False)
            texts += tokenizer.batch_decode(written, skip_special_tokens=True)
        return texts

    return write


def _share(outcomes: list[bool]) -> float:
    return round(sum(outcomes) / len(outcomes), 3)
