"""Make a laboratory: an encyclopedia, written as nine data sets in their official raw
formats, with demonstrations for those of IRCoT.

ircotlib laboratory FOLDER --seed 7 --size 1200 --questions 200
ircotlib laboratory FOLDER --downloads
ircotlib laboratory --prompts

With --downloads, it also has files like those of the papers' corpora. The last
command writes the demonstrations of the default laboratory into prompts/laboratory.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from ircot_laboratory.official import contexts, searchain
from ircot_laboratory.official.contexts import DEV, write_json
from ircot_laboratory.official.iirc import iirc_articles, iirc_records
from ircot_laboratory.questions.demonstrations import write_demonstrations
from ircot_laboratory.questions.questions import ALL_DATASETS, DATASETS, make_riddles
from ircot_laboratory.world.encyclopedia import make_world
from ircot_laboratory.world.pages import KILT
from ircot_laboratory.world.records import Riddle, World
from ircotlib.data import write_jsonl
from ircotlib.datasets.searchain import PAGES
from ircotlib.errors import UserError
from ircotlib.files import PROMPTS, locked, writing
from ircotlib.options import new_parser

SEED, SIZE, QUESTIONS = 0, 2400, 600
TASKS = {  # KILT's file names
    "zsre": "structured_zeroshot-dev-kilt.jsonl",
    "trex": "trex-dev-kilt.jsonl",
    "fever": "fever-dev-kilt.jsonl",
    "eli5": "eli5-dev-kilt.jsonl",
}
LARGE = 30_000  # pages, of which one version is held in memory at a time
ABOUT = "laboratory.json"


class Made(NamedTuple):
    """A data set's version of the encyclopedia, and its questions in their order."""

    world: World
    riddles: Sequence[Riddle]


def make_laboratory(
    folder: Path | str,
    seed: int = SEED,
    size: int = SIZE,
    questions: int = QUESTIONS,
    downloads: bool = False,
) -> Path:
    """Write the data sets for a seed into a folder, as their official development
    files, and prompts/ next to them, completely or not at all. `downloads`: also the
    files of which the papers' corpora are made.

    If the folder already holds this laboratory, it is left as it is. Of several
    processes, one writes and the others wait. Raises UserError if the world is too
    small for so many questions, or if the folder holds something else.
    """
    _check_questions(questions, size)
    folder = Path(folder)
    about = {
        "seed": seed,
        "size": size,
        "questions": questions,
        "downloads": downloads,
        "generator": hash_generator(),
    }
    with locked(Path(f"{folder}.lock")):
        made = (folder / ABOUT).read_text() if (folder / ABOUT).is_file() else ""
        if made == json.dumps(about):
            return folder
        if not made and folder.exists() and any(folder.iterdir()):
            raise UserError(
                f"{folder} holds files that are no laboratory: name another folder"
            )
        with writing(folder) as new:
            demonstrated = _write_datasets(new, about)
            write_all_demonstrations(new / "prompts", demonstrated, seed)
            (new / ABOUT).write_text(json.dumps(about))
    return folder


def _check_questions(questions: int, size: int) -> None:
    if questions < 1:
        raise UserError(
            f"found {questions} questions per data set, expected at least 1"
        )
    most = 2 * size  # no world has more different ones of every kind
    if questions > most:
        raise UserError(
            f"found {questions} questions per data set for {size} pages, "
            f"expected at most {most}: make the world larger"
        )


@lru_cache(maxsize=2 * len(ALL_DATASETS))
def make_dataset(
    dataset: str, seed: int = SEED, size: int = SIZE, questions: int = QUESTIONS
) -> Made:
    """One data set of a laboratory; those of the last two laboratories are kept in
    memory. KILT's data sets share one world.
    """
    if dataset in KILT[1:]:
        world = make_dataset(KILT[0], seed, size, questions).world
    else:
        world = make_world(seed, size, dataset)
    return Made(world, tuple(make_riddles(world, questions, dataset, seed)))


def _write_datasets(folder: Path, about: dict) -> Iterator[tuple[str, Made]]:
    """Write the files of every data set, and yield those that have demonstrations."""
    seed, size, questions = about["seed"], about["size"], about["questions"]
    for dataset in ALL_DATASETS:
        if size > LARGE and dataset not in KILT[1:]:
            make_dataset.cache_clear()
            make_world.cache_clear()
        made = make_dataset(dataset, seed, size, questions)
        _write_dataset(folder / dataset, made, dataset, seed)
        # KILT's data sets share the knowledge source, one download
        if dataset == KILT[0]:
            (folder / "kilt").mkdir()
            write_jsonl(folder / "kilt" / PAGES, searchain.kilt_pages(made.world))
        if about["downloads"]:
            contexts.write_downloads(folder / dataset, *made, dataset, seed)
        if dataset in DATASETS:
            yield dataset, made


def write_all_demonstrations(
    folder: Path, made: Iterable[tuple[str, Made]], seed: int = SEED
) -> list[Path]:
    """Write the prompt files of these data sets of a laboratory, and
    demonstration_sets.json, which lists the demonstrations in the three fixed sets of
    each (IRCoT §4.1). Return all paths.
    """
    paths: list[Path] = []
    sets = {}
    for dataset, (world, riddles) in made:
        written, sets[dataset] = write_demonstrations(
            folder / dataset, world, riddles, dataset, seed
        )
        paths += written
    write_json(folder / "demonstration_sets.json", sets)
    return [*paths, folder / "demonstration_sets.json"]


def _write_dataset(folder: Path, made: Made, dataset: str, seed: int) -> None:
    folder.mkdir(parents=True)
    world, riddles = made
    if dataset in DEV:
        records = contexts.context_records(world, riddles, dataset, seed)
        contexts.write_records(folder / DEV[dataset], records)
    if dataset == "2wikimultihopqa":
        write_jsonl(folder / "id_aliases.json", contexts.alias_rows(world))
    elif dataset == "iirc":
        write_json(folder / "dev.json", iirc_records(world, riddles))
        write_json(folder / "context_articles.json", iirc_articles(world))
    elif dataset == "strategyqa":
        records = [searchain.strategyqa_record(world, r, seed) for r in riddles]
        write_json(folder / "strategyqa_train.json", records)
        paragraphs = searchain.strategyqa_paragraphs(world)
        write_json(folder / "strategyqa_train_paragraphs.json", paragraphs)
    elif dataset in TASKS:
        records = [searchain.kilt_record(world, riddle, seed) for riddle in riddles]
        write_jsonl(folder / TASKS[dataset], records)


@cache  # once per process: a notebook asks for it with each data set
def hash_generator() -> str:
    """A hash of all that writes a laboratory: one of another hash is made again."""
    content = blake2b(digest_size=8)
    here = Path(__file__).parent
    paths = [here / "make.py"]
    for room in ("world", "questions", "official"):
        paths += [*(here / room).glob("*.py"), *(here / room).glob("*.csv")]
    for path in sorted(paths):
        content.update(f"{path.name}\n{path.read_text(encoding='utf-8')}".encode())
    return content.hexdigest()


def main(arguments: Iterable[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib laboratory")
    add = parser.add_argument
    add("folder", nargs="?", type=Path, help="where the data sets are written")
    add("--seed", type=int, default=SEED, help="each makes another encyclopedia")
    add("--size", type=int, default=SIZE, help="about how many pages")
    add("--questions", type=int, default=QUESTIONS, help="questions per data set")
    add("--downloads", action="store_true", help="with files of the papers' corpora")
    add("--prompts", action="store_true", help="write demonstrations in prompts/")
    options = parser.parse_args(arguments)
    if options.prompts == bool(options.folder):
        parser.error("give either a folder or --prompts")
    if options.prompts:
        made = ((dataset, make_dataset(dataset)) for dataset in DATASETS)
        print(*write_all_demonstrations(PROMPTS / "laboratory", made), sep="\n")
        return
    del options.prompts  # the others are the arguments
    print(make_laboratory(**vars(options)))
