"""The files of HotpotQA, 2WikiMultihopQA and MuSiQue: development questions, and the downloads from
which the papers' corpora are made (IRCoT App. A).
"""

import io
import json
import random
import tarfile
from bz2 import compress
from collections.abc import Sequence
from pathlib import Path

from ircot_laboratory.official.contexts import (
    SENTENCE,
    hotpotqa_record,
    musique_record,
    number_entities,
    number_facts,
    twowiki_record,
)
from ircot_laboratory.official.files import write_records
from ircot_laboratory.official.iirc import with_links
from ircot_laboratory.questions.contexts import draw_contexts
from ircot_laboratory.questions.questions import make_riddles
from ircot_laboratory.world.records import Riddle, World
from ircotlib.datasets.hotpotqa import ARCHIVE, FOLDER

# in a question's context, as in the data sets
PARAGRAPHS = {"hotpotqa": 10, "2wikimultihopqa": 10, "musique": 20}
DEV = {
    "hotpotqa": "hotpot_dev_distractor_v1.json",
    "2wikimultihopqa": "dev.json",
    "musique": "musique_ans_v1.0_dev.jsonl",
}
SHARD = 20  # abstracts in a file of the archive; in the official one about 340
SHARDS = 100  # in a folder of the archive
UNTOLD = {"answer": "", "supporting_facts": [], "evidences": [], "evidences_id": []}


def context_records(
    world: World, riddles: Sequence[Riddle], dataset: str, seed: int | str
) -> list[dict]:
    """The questions as records with their contexts."""
    rng = random.Random(f"contexts {dataset} {seed}")
    contexts = draw_contexts(world, riddles, PARAGRAPHS[dataset], rng)
    pairs = list(zip(riddles, contexts, strict=True))
    if dataset == "hotpotqa":
        return [hotpotqa_record(world, *pair, seed) for pair in pairs]
    if dataset == "2wikimultihopqa":
        ids = number_entities(world)
        return [twowiki_record(world, *pair, seed, ids) for pair in pairs]
    numbers = number_facts(world)
    return [musique_record(world, *pair, numbers) for pair in pairs]


def other_splits(
    world: World, riddles: Sequence[Riddle], dataset: str, seed: int
) -> dict[str, list[dict]]:
    """The records of 2WikiMultihopQA's or MuSiQue's other files, by the file's name; `riddles`: the
    development questions, of which the other splits have none. Test sets have no answers.
    """
    splits, asked = {"dev": context_records(world, riddles, dataset, seed)}, set()
    asked.update(riddle.meaning for riddle in riddles)
    for split in ("train", "test"):
        drawn = make_riddles(world, len(riddles), dataset, f"{seed} {split}")
        others = [riddle for riddle in drawn if riddle.meaning not in asked]
        asked.update(riddle.meaning for riddle in others)
        splits[split] = context_records(world, others, dataset, f"{seed} {split}")
    if dataset == "2wikimultihopqa":
        hidden = [record | UNTOLD | {"answer_id": None} for record in splits["test"]]
        return {"train.json": splits["train"], "test.json": hidden}
    files = {}
    for split, records in splits.items():
        both = [pair for record in records for pair in (record, _unanswerable(record))]
        for variant, chosen in (("ans", records), ("full", both)):
            chosen = list(map(_hide, chosen)) if split == "test" else chosen
            files[f"musique_{variant}_v1.0_{split}.jsonl"] = chosen
    del files[DEV["musique"]]
    return files


def _unanswerable(record: dict) -> dict:
    """A question of MuSiQue's full variant, whose last paragraph is not in its context."""
    steps = record["question_decomposition"]
    last = steps[-1]["paragraph_support_idx"]
    kept = [paragraph for paragraph in record["paragraphs"] if paragraph["idx"] != last]
    steps = [step | {"paragraph_support_idx": None} for step in steps]
    return record | {"paragraphs": kept, "question_decomposition": steps, "answerable": False}


def _hide(record: dict) -> dict:
    """A question of MuSiQue without its answer."""
    fields = ("idx", "title", "paragraph_text")
    shown = [{name: entry[name] for name in fields} for entry in record["paragraphs"]]
    return {"id": record["id"], "paragraphs": shown, "question": record["question"]}


def write_downloads(
    folder: Path, world: World, riddles: Sequence[Riddle], dataset: str, seed: int
) -> None:
    """Write the files, besides the development questions, from which a data set's corpus of the
    papers is made; those of the others are there already.
    """
    if dataset == "hotpotqa":
        write_abstracts(folder / ARCHIVE, world)
    elif dataset in DEV:
        for name, records in other_splits(world, riddles, dataset, seed).items():
            write_records(folder / name, records)


def write_abstracts(archive: Path, world: World) -> None:
    """Write HotpotQA's archive of all pages: bz2 files of JSON lines, 100 in a folder, unordered
    (https://hotpotqa.github.io/wiki-readme.html), the same bytes on every machine.
    """
    lines = []
    for number, (title, [passage]) in enumerate(world.pages.items(), start=1):
        url = f"https://en.wikipedia.org/wiki?curid={number}"
        sentences = {"text": SENTENCE.findall(passage.text)}
        sentences |= {"text_with_links": SENTENCE.findall(with_links(world, passage))}
        record = {"id": str(number), "url": url, "title": title} | sentences
        lines.append(f"{json.dumps(record)}\n")
    shards = {}
    for number, first in enumerate(range(0, len(lines), SHARD)):
        letters = chr(65 + number // (26 * SHARDS)) + chr(65 + number // SHARDS % 26)
        name = f"{FOLDER}/{letters}/wiki_{number % SHARDS:02}.bz2"
        shards[name] = compress("".join(lines[first : first + SHARD]).encode())
    with tarfile.open(archive, "w:bz2") as tar:
        for name in random.Random(FOLDER).sample(list(shards), len(shards)):
            member = tarfile.TarInfo(name)
            member.size = len(shards[name])
            tar.addfile(member, io.BytesIO(shards[name]))
