"""Demonstrations about a miniature encyclopedia, as prompt files in the authors' format and under
their names (prompts/README.md).
"""

import json
import random
from collections.abc import Sequence
from itertools import chain, product, zip_longest
from pathlib import Path

from ircotlib.data import Demonstration, Paragraph
from ircotlib.laboratory.contexts import draw_contexts, gold_passages
from ircotlib.laboratory.encyclopedia import Passage, World
from ircotlib.laboratory.questions import STYLES, TRIES, Fact, Riddle, draw_riddle
from ircotlib.prompts import STYLES as FORMS
from ircotlib.prompts import Style, render_demonstration
from ircotlib.systems.iirc import ASK_FOR_TITLES

DEMONSTRATIONS, SETS, SET_SIZE = 20, 3, 15  # IRCoT §4.1


def draw_demonstrations(
    world: World, riddles: Sequence[Riddle], style: str, seed: int
) -> list[Riddle]:
    """Draw 20 questions that are not among `riddles`, the kinds in turn; not the same in other
    words either: same facts and same answer.

    Raises ValueError when the world has no others.
    """
    rng, kinds = random.Random(f"demonstrations {style} {seed}"), list(STYLES[style])
    taken, drawn = {_meaning(riddle) for riddle in riddles}, []
    for _ in range(TRIES):
        riddle = draw_riddle(world, rng, style, kinds[len(drawn) % len(kinds)])
        if _meaning(riddle) not in taken:
            taken.add(_meaning(riddle))
            drawn.append(riddle)
        if len(drawn) == DEMONSTRATIONS:
            return drawn
    found = f"found {len(drawn)} questions for demonstrations beside the {len(riddles)} asked"
    raise ValueError(f"{found}, expected {DEMONSTRATIONS}: make the world larger")


def _meaning(riddle: Riddle) -> tuple[frozenset[Fact], str]:
    return frozenset(riddle.facts), riddle.answer


def write_demonstrations(
    folder: Path, world: World, riddles: Sequence[Riddle], style: str, seed: int
) -> tuple[list[Path], list[list[str]]]:
    """Write the prompt files of one data set; return them, and the ids of the three fixed sets,
    each with its kinds in turn.

    For Flan-T5 and for GPT3, by chain of thought and direct, with 1 to 3 distractors and without
    paragraphs; for IIRC, whose main passage is always shown, also the titles of the other pages
    that are needed (IRCoT App. B).
    """
    drawn = draw_demonstrations(world, riddles, style, seed)
    ids = {f"{style}-{seed}-{number:02d}": riddle for number, riddle in enumerate(drawn, start=1)}
    contexts = draw_contexts(world, drawn, 10, random.Random(f"distractors {style} {seed}"))
    texts = {}
    for (family, form), m in product(FORMS.items(), (1, 2, 3, 0)):
        name = f"gold_with_{m}_distractors_context" if m else "no_context"
        shown = [
            _shown(world, riddle, context, m, form)
            for riddle, context in zip(drawn, contexts, strict=True)
        ]
        for reader, instruction in (("cot", form.chain_of_thought), ("direct", form.direct)):
            answers = [riddle.chain if reader == "cot" else riddle.answer for riddle in drawn]
            questions = [riddle.text for riddle in drawn]
            texts[f"{name}_{reader}_qa_{family}.txt"] = _render(
                ids, shown, questions, answers, instruction
            )
        if style == "iirc" and not m:
            titles = [riddle.linked for riddle in drawn]
            questions = [
                ASK_FOR_TITLES.format(question=riddle.text, n=len(needed))
                for riddle, needed in zip(drawn, titles, strict=True)
            ]
            texts[f"no_context_open_llm_retrieval_{family}.txt"] = _render(
                ids, shown, questions, map(", ".join, titles), form.direct
            )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts], draw_sets(ids, style, seed)


def draw_sets(ids: dict[str, Riddle], style: str, seed: int) -> list[list[str]]:
    """Draw three sets of 15 ids, the kinds in turn: whichever are dropped because the window is
    short, all kinds are shown.
    """
    rng, sets = random.Random(f"sets {style} {seed}"), []
    for _ in range(SETS):
        by_kind = [
            rng.sample(same := [id for id, riddle in ids.items() if riddle.kind == kind], len(same))
            for kind in STYLES[style]
        ]
        in_turn = [id for id in chain(*zip_longest(*by_kind)) if id]
        sets.append(in_turn[:SET_SIZE])
    return sets


def _shown(
    world: World, riddle: Riddle, context: list[Passage], m: int, form: Style
) -> list[Passage]:
    """The gold paragraphs and m distractors in the context's order, the main passage last or first;
    m 0: that passage alone, if there is one.
    """
    gold, main = gold_passages(world, riddle), [world.passage(*riddle.main)] if riddle.main else []
    wanted = [*gold, *[passage for passage in context if passage not in gold][:m]] if m else []
    others = [passage for passage in context if passage in wanted and passage not in main]
    return form.arrange(main, others)


def _render(ids, shown, questions, answers, instruction: str | None) -> str:
    texts = []
    for id, passages, question, answer in zip(ids, shown, questions, answers, strict=True):
        paragraphs = tuple(
            Paragraph(f"{id}/{number}", passage.title, passage.text)
            for number, passage in enumerate(passages, start=1)
        )
        text = render_demonstration(Demonstration(id, paragraphs, question, answer), instruction)
        texts.append(f"# METADATA: {json.dumps({'qid': id})}\n{text}")
    return "\n\n\n".join(texts) + "\n"
