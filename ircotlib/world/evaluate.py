"""How well a miniature model reads: first sentences and whole chains on a held-out world, the needed paragraphs given."""

import random

import torch

from ircotlib.world.encyclopedia import make_world
from ircotlib.world.examples import Confusers, draw_context, make_example
from ircotlib.world.questions import make_riddles


def draw_reading_test(paragraphs: int, questions: int, seed: int) -> list[tuple]:
    """(question, example) pairs of a held-out world: all needed paragraphs among `paragraphs`, and no chain so far."""
    world, rng = make_world(seed, 1200), random.Random(f"reading {seed}")
    confusers = Confusers(world)
    riddles = make_riddles(world, questions, seed)
    return [(r, make_example(world, r, draw_context(world, r, len(r.facts), paragraphs, confusers, rng), done=0)) for r in riddles]


@torch.inference_mode()
def reading_accuracy(model, tokenizer, paragraphs: int, questions: int, seed: int) -> dict[str, float]:
    """Shares, 0 to 1, of first sentences and of whole chains that are exactly the gold ones; whole chains also by kind."""
    tests = draw_reading_test(paragraphs, questions, seed)
    texts = []
    for at in range(0, len(tests), 40):
        batch = tokenizer([e.prompt for _, e in tests[at : at + 40]], return_tensors="pt", padding=True)
        written = model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=90, do_sample=False)
        texts += tokenizer.batch_decode(written, skip_special_tokens=True)
    first = [text.startswith(riddle.thoughts[0]) for text, (riddle, _) in zip(texts, tests, strict=True)]
    whole = [text == example.target for text, (_, example) in zip(texts, tests, strict=True)]
    kinds = sorted({riddle.kind for riddle, _ in tests})
    by_kind = {kind: [w for w, (riddle, _) in zip(whole, tests, strict=True) if riddle.kind == kind] for kind in kinds}
    return {"first": _share(first), "whole": _share(whole), **{kind: _share(ws) for kind, ws in by_kind.items()}}


def _share(outcomes: list[bool]) -> float:
    return round(sum(outcomes) / len(outcomes), 3)
