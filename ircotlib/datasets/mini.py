"""The mini data set: questions over a miniature encyclopedia, generated from a seed, and demonstrations in the authors' file format."""

import json
import random
from pathlib import Path

from ircotlib.data import Demonstration, Paragraph, Question
from ircotlib.paths import PROMPTS
from ircotlib.prompts import FLAN_T5, render_demonstration
from ircotlib.text import answer_from_chain
from ircotlib.world.encyclopedia import World, make_world
from ircotlib.world.examples import gold_paragraphs
from ircotlib.world.questions import Riddle, make_riddles, to_question

SEED, PARAGRAPHS, QUESTIONS, DEMONSTRATIONS = 0, 2400, 600, 20


def make_mini(seed: int = SEED, paragraphs: int = PARAGRAPHS, questions: int = QUESTIONS) -> tuple[list[Question], list[Paragraph]]:
    """Generate the questions and the corpus of a seed; every name is one that no training world uses."""
    world = make_world(seed, paragraphs)
    riddles = make_riddles(world, questions, seed)
    return [to_question(r, world, f"mini-{seed}-{i:03d}") for i, r in enumerate(riddles)], list(world.paragraphs.values())


def write_demonstrations(folder: Path) -> list[Path]:
    """Write the mini data set's prompt files: 20 demonstrations, chain of thought and direct, with 1 to 3 distractors and without paragraphs.

    The questions are about the encyclopedia of the default seed and not among its 600.
    """
    world = make_world(SEED, PARAGRAPHS)
    asked = {riddle.facts for riddle in make_riddles(world, QUESTIONS, SEED)}
    riddles = [riddle for riddle in make_riddles(world, 2 * DEMONSTRATIONS, SEED + 1) if riddle.facts not in asked][:DEMONSTRATIONS]
    paths = []
    for m in (0, 1, 2, 3):
        context = f"gold_with_{m}_distractors_context" if m else "no_context"
        for reader, instruction in (("cot", FLAN_T5.chain_of_thought), ("direct", FLAN_T5.direct)):
            texts = [_demonstration_text(world, riddle, i, m, reader, instruction) for i, riddle in enumerate(riddles)]
            paths.append(folder / f"{context}_{reader}_qa_flan_t5.txt")
            paths[-1].parent.mkdir(parents=True, exist_ok=True)
            paths[-1].write_text("\n\n\n".join(texts) + "\n")
    return paths


def _demonstration_text(world: World, riddle: Riddle, number: int, m: int, reader: str, instruction: str) -> str:
    rng, id = random.Random(f"demonstration {number} {m}"), f"mini-demonstration-{number:02d}"
    gold = gold_paragraphs(world, riddle)
    others = rng.sample([p for p in world.paragraphs.values() if p not in gold], m)
    shown = rng.sample([*gold, *others], len(gold) + m) if m else []
    chain = " ".join(riddle.thoughts)
    answer = chain if reader == "cot" else answer_from_chain(chain)
    text = render_demonstration(Demonstration(id, tuple(shown), riddle.text, answer), instruction)
    return f"# METADATA: {json.dumps({'qid': id})}\n{text}"


if __name__ == "__main__":  # python -m ircotlib.datasets.mini: makes prompts/mini again
    for path in write_demonstrations(PROMPTS / "mini"):
        print(path)
