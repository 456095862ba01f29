"""The laboratory: a miniature encyclopedia written out as four data sets in their official raw
formats, and demonstrations for them.

    python -m ircotlib.laboratory.make FOLDER [--seed N] [--size N] [--questions N] python -m
    ircotlib.laboratory.make --prompts       the demonstrations of the default laboratory, into
    prompts/laboratory
"""

import argparse
import json
import random
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from filelock import FileLock

from ircotlib.data import write_jsonl
from ircotlib.laboratory.contexts import draw_contexts
from ircotlib.laboratory.demonstrations import write_demonstrations
from ircotlib.laboratory.encyclopedia import World, make_world
from ircotlib.laboratory.official import (
    alias_rows,
    hotpotqa_record,
    iirc_articles,
    iirc_records,
    musique_record,
    number_entities,
    number_facts,
    twowiki_record,
)
from ircotlib.laboratory.questions import STYLES, Riddle, make_riddles
from ircotlib.paths import PROMPTS, write_folder

SEED, SIZE, QUESTIONS = 0, 2400, 600
# of a question's context, as in the data sets
PARAGRAPHS = {"hotpotqa": 10, "2wikimultihopqa": 10, "musique": 20}
ABOUT = "laboratory.json"


def make_laboratory(
    folder: Path | str, seed: int = SEED, size: int = SIZE, questions: int = QUESTIONS
) -> Path:
    """Write the data sets of a seed into a folder, as their official development files, and
    prompts/ beside them, whole or not at all.

    A folder that holds this laboratory already is left as it is. Of several processes, one writes
    and the others wait. Raises ValueError when the world is too small for so many questions, or
    when the folder holds something else.
    """
    folder, about = (
        Path(folder),
        {"seed": seed, "size": size, "questions": questions, "generator": _generator()},
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if _read_about(folder) != about:
            _write(folder, about)
    return folder


def _write(folder: Path, about: dict) -> None:
    made = {
        style: make_dataset(style, about["seed"], about["size"], about["questions"])
        for style in STYLES
    }
    with write_folder(folder, ABOUT, "laboratory") as partial:
        for style, (world, riddles) in made.items():
            _write_dataset(partial / style, world, riddles, style, about["seed"])
        write_all_demonstrations(partial / "prompts", made, about["seed"])
        _write_json(partial / ABOUT, about)


def make_dataset(
    style: str, seed: int = SEED, size: int = SIZE, questions: int = QUESTIONS
) -> tuple[World, list[Riddle]]:
    """The encyclopedia of a laboratory as one data set has it, and the questions that are written
    out there, in their order.
    """
    world = make_world(seed, size, style)
    return world, make_riddles(world, questions, style, seed)


def write_all_demonstrations(
    folder: Path, made: dict[str, tuple[World, list[Riddle]]], seed: int = SEED
) -> list[Path]:
    """Write the prompt files of a laboratory's data sets, and which demonstrations make up their
    three fixed sets (IRCoT §4.1).

    `made`: by style, what make_dataset gives.
    """
    paths, sets = [], {}
    for style, (world, riddles) in made.items():
        written, sets[style] = write_demonstrations(folder / style, world, riddles, style, seed)
        paths += written
    _write_json(folder / "demonstration_sets.json", sets)
    return [*paths, folder / "demonstration_sets.json"]


def _write_dataset(
    folder: Path, world: World, riddles: list[Riddle], style: str, seed: int
) -> None:
    folder.mkdir(parents=True)
    if style == "iirc":
        _write_json(folder / "dev.json", iirc_records(world, riddles))
        _write_json(folder / "context_articles.json", iirc_articles(world))
        return
    rng = random.Random(f"contexts {style} {seed}")
    pairs = list(zip(riddles, draw_contexts(world, riddles, PARAGRAPHS[style], rng), strict=True))
    if style == "hotpotqa":
        _write_json(
            folder / "hotpot_dev_distractor_v1.json",
            [hotpotqa_record(world, riddle, context, seed) for riddle, context in pairs],
        )
    elif style == "2wikimultihopqa":
        ids = number_entities(world)
        _write_json(
            folder / "dev.json",
            [twowiki_record(world, riddle, context, seed, ids) for riddle, context in pairs],
        )
        write_jsonl(folder / "id_aliases.json", alias_rows(world, ids))
    else:
        numbers = number_facts(world)
        write_jsonl(
            folder / "musique_ans_v1.0_dev.jsonl",
            [musique_record(world, riddle, context, numbers) for riddle, context in pairs],
        )


def _write_json(path: Path, content: dict | list) -> None:
    """One record a line, so that the file reads and compares well."""
    opening, closing = "{}" if isinstance(content, dict) else "[]"
    rows = content.items() if isinstance(content, dict) else ((None, record) for record in content)
    lines = (
        f"{json.dumps(key)}: " * (key is not None) + json.dumps(value, ensure_ascii=False)
        for key, value in rows
    )
    path.write_text(f"{opening}\n" + ",\n".join(lines) + f"\n{closing}\n", encoding="utf-8")


def _generator() -> str:
    """A hash of the program that makes laboratories, so that one of an older program is made anew."""
    content = blake2b(digest_size=8)
    for name in (
        "names",
        "relations",
        "encyclopedia",
        "wording",
        "questions",
        "contexts",
        "official",
        "demonstrations",
        "make",
    ):
        content.update(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8").encode())
    return content.hexdigest()


def _read_about(folder: Path) -> dict | None:
    path = folder / ABOUT
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Write a laboratory, or the demonstrations of the default one into prompts/laboratory."
    )
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--size", type=int, default=SIZE, help="pages of the encyclopedia, about")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each data set")
    parser.add_argument("--prompts", action="store_true")
    options = parser.parse_args(arguments)
    if options.prompts == bool(options.folder):
        parser.error("give either a folder or --prompts")
    if options.prompts:
        print(
            *write_all_demonstrations(
                PROMPTS / "laboratory", {style: make_dataset(style) for style in STYLES}
            ),
            sep="\n",
        )
    else:
        print(make_laboratory(options.folder, options.seed, options.size, options.questions))


if __name__ == "__main__":
    _main()
