"""How well a miniature model reads: first sentences and whole chains on a held-out world, the needed paragraphs given."""

import random
from collections.abc import Callable

import torch

from ircotlib.world.encyclopedia import World, make_world
from ircotlib.world.examples import Confusers, Example, draw_context, make_example
from ircotlib.world.questions import Riddle, make_riddles

Write = Callable[[list[str]], list[str]]  # prompts -> what a model writes after each


def draw_reading_test(world: World, paragraphs: int, questions: int, seed: int) -> list[tuple[Riddle, Example]]:
    """Questions with all needed paragraphs among `paragraphs`, and no chain so far."""
    rng, confusers = random.Random(f"reading {seed}"), Confusers(world)
    riddles = make_riddles(world, questions, seed)
    return [(r, make_example(world, r, draw_context(world, r, len(r.facts), paragraphs, confusers, rng), done=0)) for r in riddles]


def reading_accuracy(write: Write, paragraphs: int, questions: int, seed: int, size: int = 1200) -> dict[str, float]:
    """Shares, 0 to 1, of first sentences and of whole chains that are exactly the gold ones; whole chains also by kind of question.

    The questions are about a held-out world of `size` paragraphs; `seed` draws both.
    """
    tests = draw_reading_test(make_world(seed, size), paragraphs, questions, seed)
    texts = write([example.prompt for _, example in tests])
    first = [text.startswith(riddle.thoughts[0]) for text, (riddle, _) in zip(texts, tests, strict=True)]
    whole = [text == example.target for text, (_, example) in zip(texts, tests, strict=True)]
    kinds = sorted({riddle.kind for riddle, _ in tests})
    by_kind = {kind: [w for w, (riddle, _) in zip(whole, tests, strict=True) if riddle.kind == kind] for kind in kinds}
    return {"first": _share(first), "whole": _share(whole), **{kind: _share(ws) for kind, ws in by_kind.items()}}


def writer(model, tokenizer, rows: int = 40) -> Write:
    """What a model in training writes, greedily, `rows` prompts at a time."""

    @torch.inference_mode()
    def write(prompts: list[str]) -> list[str]:
        texts = []
        for at in range(0, len(prompts), rows):
            batch = tokenizer(prompts[at : at + rows], return_tensors="pt", padding=True)
            written = model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=90, do_sample=False)
            texts += tokenizer.batch_decode(written, skip_special_tokens=True)
        return texts

    return write


def _share(outcomes: list[bool]) -> float:
    return round(sum(outcomes) / len(outcomes), 3)
