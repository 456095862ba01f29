"""Demonstrations about an encyclopedia, written as prompt files in the format and with
the file names of IRCoT's authors (prompts/README.md).
"""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product, zip_longest
from pathlib import Path
from typing import NamedTuple

from ircot_laboratory.questions.contexts import draw_contexts, gold_passages
from ircot_laboratory.questions.questions import DATASETS, TRIES, draw_riddle
from ircot_laboratory.world.records import Passage, Riddle, World
from ircotlib.data import Demonstration, Paragraph
from ircotlib.prompting.prompt import STYLES, Style, render_demonstration
from ircotlib.prompting.templates import Template, read_template

DEMONSTRATIONS, SETS, SET_SIZE = 20, 3, 15  # IRCoT §4.1


class Demonstrated(NamedTuple):
    """A question to be demonstrated, and the paragraphs that may be shown with it."""

    id: str
    riddle: Riddle
    context: list[Passage]


def draw_demonstrations(
    world: World, riddles: Sequence[Riddle], dataset: str, seed: int
) -> list[Riddle]:
    """Draw 20 questions, the kinds in turn, none of which has the same facts and the
    same answer as one of `riddles`, in any wording.

    Raises ValueError if the world does not have so many.
    """
    rng = random.Random(f"demonstrations {dataset} {seed}")
    kinds = list(DATASETS[dataset])
    taken = {riddle.meaning for riddle in riddles}
    drawn: list[Riddle] = []
    for _ in range(TRIES):
        riddle = draw_riddle(world, rng, dataset, kinds[len(drawn) % len(kinds)])
        if riddle.meaning not in taken:
            taken.add(riddle.meaning)
            drawn.append(riddle)
        if len(drawn) == DEMONSTRATIONS:
            return drawn
    raise ValueError(
        f"found {len(drawn)} questions for demonstrations besides the {len(riddles)} "
        f"asked, expected {DEMONSTRATIONS}: make the world larger"
    )


def write_demonstrations(
    folder: Path, world: World, riddles: Sequence[Riddle], dataset: str, seed: int
) -> tuple[list[Path], list[list[str]]]:
    """Write the prompt files of one data set; return their paths, and the ids of the
    three fixed sets.

    There are files for Flan-T5 and for GPT3, with chains of thought and with direct
    answers, with 1 to 3 distractors and without paragraphs. For IIRC, whose main
    passage is always shown, there are also files that ask for the titles of the other
    pages needed (IRCoT App. B).
    """
    drawn = draw_demonstrations(world, riddles, dataset, seed)
    rng = random.Random(f"distractors {dataset} {seed}")
    contexts = draw_contexts(world, drawn, 10, rng)
    ids = [f"{dataset}-{seed}-{number:02d}" for number in range(1, len(drawn) + 1)]
    shots = [*map(Demonstrated, ids, drawn, contexts)]
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in _write_prompts(world, shots, dataset):
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8")
    return paths, draw_sets(dict(zip(ids, drawn, strict=True)), dataset, seed)


def draw_sets(ids: dict[str, Riddle], dataset: str, seed: int) -> list[list[str]]:
    """Draw three sets of 15 ids, the kinds in turn, so that all kinds are shown even if
    some demonstrations are dropped to fit the context window.
    """
    rng = random.Random(f"sets {dataset} {seed}")
    sets = []
    for _ in range(SETS):
        by_kind = []
        for kind in DATASETS[dataset]:
            same = [id for id, riddle in ids.items() if riddle.kind == kind]
            by_kind.append(rng.sample(same, len(same)))
        in_turn = [id for id in chain(*zip_longest(*by_kind)) if id]
        sets.append(in_turn[:SET_SIZE])
    return sets


def _write_prompts(
    world: World, shots: list[Demonstrated], dataset: str
) -> Iterator[tuple[str, str]]:
    """The names and the texts of a data set's prompt files."""
    styles = {name: style for name, style in STYLES.items() if style.demonstrated}
    chains = [(riddle.text, riddle.chain) for _, riddle, _ in shots]
    answers = [(riddle.text, riddle.answer) for _, riddle, _ in shots]
    for (family, style), m in product(styles.items(), (1, 2, 3, 0)):
        name = f"gold_with_{m}_distractors_context" if m else "no_context"
        above = [_show(world, shot, m, style) for shot in shots]
        text = _render(above, chains, style.template("cot"))
        yield f"{name}_cot_qa_{family}.txt", text
        text = _render(above, answers, style.template("direct"))
        yield f"{name}_direct_qa_{family}.txt", text
        if dataset == "iirc" and not m:
            ask = read_template("ircot", "titles").ask
            linked = [(riddle.text, riddle.linked) for _, riddle, _ in shots]
            titles = [
                (ask(text, n=len(names)), ", ".join(names)) for text, names in linked
            ]
            text = _render(above, titles, style.template("titles"))
            yield f"{name}_open_llm_retrieval_{family}.txt", text


def _show(world: World, shot: Demonstrated, m: int, style: Style) -> Demonstration:
    """The gold paragraphs and m distractors in the order of the context, with the main
    passage where the style puts it; for m = 0 only the main passage, if any. Question
    and answer are left empty.
    """
    id, riddle, context = shot
    main = [world.passage(*riddle.main)] if riddle.main else []
    wanted = []
    if m:
        gold = gold_passages(world, riddle)
        wanted = gold + [passage for passage in context if passage not in gold][:m]
    others = [p for p in context if p in wanted and p not in main]
    paragraphs = tuple(
        Paragraph(f"{id}/{number}", passage.title, passage.text)
        for number, passage in enumerate(style.arrange(main, others), start=1)
    )
    return Demonstration(id, paragraphs, "", "")


def _render(
    shown: Iterable[Demonstration], pairs: Iterable[tuple[str, str]], template: Template
) -> str:
    """The text of a prompt file; `pairs`: questions and answers."""
    texts = []
    for demonstration, (question, answer) in zip(shown, pairs, strict=True):
        whole = replace(demonstration, question=question, answer=answer)
        metadata = f"# METADATA: {json.dumps({'qid': whole.id})}"
        texts.append(f"{metadata}\n{render_demonstration(whole, template)}")
    return "\n\n\n".join(texts) + "\n"
