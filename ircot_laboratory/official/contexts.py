"""The files of HotpotQA, 2WikiMultihopQA and MuSiQue, as far as they are read: the
questions, and the downloads from which the papers' corpora are made (IRCoT App. A).
"""

import io
import json
import random
import re
import tarfile
from bz2 import compress
from collections.abc import Iterator, Sequence
from pathlib import Path

from ircot_laboratory.questions.contexts import draw_contexts, gold_passages
from ircot_laboratory.questions.questions import make_riddles
from ircot_laboratory.world.names import LISTS
from ircot_laboratory.world.records import Fact, Passage, Riddle, World, shorten
from ircot_laboratory.world.relations import KINDS
from ircotlib.data import write_jsonl
from ircotlib.datasets import digest
from ircotlib.datasets.hotpotqa import ARCHIVE, FOLDER

# in a question's context, as in the data sets
PARAGRAPHS = {"hotpotqa": 10, "2wikimultihopqa": 10, "musique": 20}
DEV = {
    "hotpotqa": "hotpot_dev_distractor_v1.json",
    "2wikimultihopqa": "dev.json",
    "musique": "musique_ans_v1.0_dev.jsonl",
}
# abstracts in a file, in the official archive about 340; files in a folder
SHARD, SHARDS = 20, 100
UNTOLD = {"answer": "", "supporting_facts": [], "evidences": [], "answer_id": None}
SENTENCE = re.compile(r"[^.]+\.")  # with the space before it; no name has a full stop
PROPERTIES = {  # Wikidata's names for relations, where they differ
    "birth": "date of birth",
    "birthplace": "place of birth",
    "death": "place of death",
    "release": "publication date",
    "opening": "inception",
    "school": "educated at",
}


def aliases(world: World, answer: str) -> tuple[str, ...]:
    """Other correct forms of an answer: a person's initial and last name if no other
    person has the same, "University of X", "Y River", …

    There are none for years, numbers, yes and no. No alias is the name or an alias of
    anything else in the world.
    """
    if answer in world.entities:
        kind = world.entities[answer].kind
    else:
        kind = next((kind for kind, names in LISTS.items() if answer in names), "")
    match kind:
        case "person":
            short = shorten(answer)
            return (short,) if world.initials[short] == 1 else ()
        case "film" | "novel" | "album" | "band":
            return (f"the {KINDS[kind].noun} {answer}",)
        case "university" | "country":
            first, _, last = answer.rpartition(" ")
            return (f"{last} of {first}",)
        case "river":
            return (f"{answer} River", f"River {answer}")
        case "language":
            return (f"{answer} language",)
        case "currency":
            return (f"{answer}s",)
    return ()


def find_sentence(passage: Passage, relation: str) -> tuple[int, re.Match]:
    """The number, from 0, and the match of the sentence that states a fact."""
    span = passage.span(relation)
    return next(
        (number, match)
        for number, match in enumerate(SENTENCE.finditer(passage.text))
        if span.start < match.end()
    )


def hotpotqa_record(
    world: World, riddle: Riddle, context: Sequence[Passage], seed: int
) -> dict:
    """A question in the format of HotpotQA's files (Yang et al. 2018, distractor
    setting); sentences after the first begin with a space.
    """
    supporting = [
        [fact.subject, find_sentence(world.passage(*fact), fact.relation)[0]]
        for fact in riddle.facts
    ]
    return {
        "_id": digest(f"hotpotqa {seed} {riddle.text}", 24),
        "answer": riddle.answer,
        "question": riddle.text,
        "supporting_facts": supporting,
        "context": [[p.title, SENTENCE.findall(p.text)] for p in context],
        "type": riddle.kind,
    }


def twowiki_record(
    world: World,
    riddle: Riddle,
    context: Sequence[Passage],
    seed: int,
    ids: dict[str, str],
) -> dict:
    """A question as in 2WikiMultihopQA's files (Ho et al. 2020); years have no ids."""
    evidences = [
        [fact.subject, PROPERTIES.get(fact.relation, fact.relation), world.value(*fact)]
        for fact in riddle.facts
    ]
    pages = [(p.title, SENTENCE.findall(p.text)) for p in context]
    return hotpotqa_record(world, riddle, (), seed) | {
        "_id": digest(f"2wikimultihopqa {seed} {riddle.text}", 32),
        "context": [[title, [*map(str.strip, texts)]] for title, texts in pages],
        "evidences": evidences,
        "answer_id": ids.get(riddle.answer),
    }


def number_entities(world: World) -> dict[str, str]:
    """An id in Wikidata's form for every entity and every name of a list."""
    names = [*world.entities, *(name for names in LISTS.values() for name in names)]
    return {name: f"Q{number}" for number, name in enumerate(names, start=1)}


def alias_rows(world: World) -> Iterator[dict]:
    """The lines of 2WikiMultihopQA's id_aliases.json."""
    for name, id in number_entities(world).items():
        yield {"Q_id": id, "aliases": list(aliases(world, name)), "demonyms": []}


def number_facts(world: World) -> dict[Fact, int]:
    """MuSiQue's id of the single-hop question about each fact, from 1."""
    entities = world.entities.values()
    facts = (Fact(entity.name, name) for entity in entities for name in entity.facts)
    return {fact: number for number, fact in enumerate(facts, start=1)}


def musique_record(
    world: World, riddle: Riddle, context: Sequence[Passage], numbers: dict[Fact, int]
) -> dict:
    """A question in the format of MuSiQue's files (Trivedi et al. 2022); #1 in a
    decomposition stands for the answer of its first question.
    """
    gold = gold_passages(world, riddle)
    paragraphs = [
        {
            "idx": number,
            "title": passage.title,
            "paragraph_text": passage.text,
            "is_supporting": passage in gold,
        }
        for number, passage in enumerate(context)
    ]
    steps = []
    for n, fact in enumerate(riddle.facts):
        subject = f"#{n}" if n else fact.subject
        step = {
            "question": world.relation(*fact).questions[1].format(x=subject),
            "answer": world.value(*fact),
            "paragraph_support_idx": context.index(world.passage(*fact)),
        }
        steps.append(step)
    return {
        "id": f"{riddle.kind}__{'_'.join(str(numbers[fact]) for fact in riddle.facts)}",
        "paragraphs": paragraphs,
        "question": riddle.text,
        "question_decomposition": steps,
        "answer": riddle.answer,
        "answer_aliases": list(aliases(world, riddle.answer)),
        "answerable": True,
    }


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
    """The records of 2WikiMultihopQA's or MuSiQue's other files, by the file's name;
    `riddles`: the development questions, of which the other splits have none. Test sets
    have no answers.
    """
    splits = {"dev": context_records(world, riddles, dataset, seed)}
    earlier = {riddle.meaning for riddle in riddles}
    for split in ("train", "test"):
        drawn = make_riddles(world, len(riddles), dataset, f"{seed} {split}")
        others = [riddle for riddle in drawn if riddle.meaning not in earlier]
        earlier.update(riddle.meaning for riddle in others)
        splits[split] = context_records(world, others, dataset, f"{seed} {split}")
    if dataset == "2wikimultihopqa":
        hidden = [record | UNTOLD for record in splits["test"]]
        return {"train.json": splits["train"], "test.json": hidden}
    files = {}
    for split, records in splits.items():
        full = [pair for record in records for pair in (record, _unanswerable(record))]
        for variant, chosen in (("ans", records), ("full", full)):
            hidden = [*map(_hide, chosen)] if split == "test" else chosen
            files[f"musique_{variant}_v1.0_{split}.jsonl"] = hidden
    del files[DEV["musique"]]
    return files


def _unanswerable(record: dict) -> dict:
    """A question of MuSiQue's full variant, without the last paragraph needed."""
    last = record["question_decomposition"][-1]["paragraph_support_idx"]
    kept = [paragraph for paragraph in record["paragraphs"] if paragraph["idx"] != last]
    return record | {
        "paragraphs": kept,
        "question_decomposition": [],
        "answerable": False,
    }


def _hide(record: dict) -> dict:
    """A question of MuSiQue without its answer."""
    fields = ("idx", "title", "paragraph_text")
    hidden = [{name: entry[name] for name in fields} for entry in record["paragraphs"]]
    return {"id": record["id"], "paragraphs": hidden, "question": record["question"]}


def write_downloads(
    folder: Path, world: World, riddles: Sequence[Riddle], dataset: str, seed: int
) -> None:
    """Write the files, besides the development questions, from which a data set's
    corpus of the papers is made; those of the others are there already.
    """
    if dataset == "hotpotqa":
        write_abstracts(folder / ARCHIVE, world)
    elif dataset in DEV:
        for name, records in other_splits(world, riddles, dataset, seed).items():
            write_records(folder / name, records)


def write_abstracts(archive: Path, world: World) -> None:
    """Write HotpotQA's archive of all pages: bz2 files of JSON lines, 100 in a folder,
    unordered (https://hotpotqa.github.io/wiki-readme.html), the same bytes on every
    machine.
    """
    lines = []
    for title, [passage] in world.pages.items():
        page = {"title": title, "text": SENTENCE.findall(passage.text)}
        lines.append(json.dumps(page) + "\n")
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


def write_records(path: Path, records: list[dict]) -> None:
    """Write records as JSON or, if the name ends so, as JSON lines."""
    if path.suffix == ".jsonl":
        write_jsonl(path, records)
    else:
        write_json(path, records)


def write_json(path: Path, content: dict | list) -> None:
    """Write JSON with one record per line, so that it is easy to read and compare."""
    if isinstance(content, dict):
        opening, closing = "{}"
        rows = [(f"{json.dumps(key)}: ", content[key]) for key in content]
    else:
        opening, closing = "[]"
        rows = [("", record) for record in content]
    lines = (key + json.dumps(value, ensure_ascii=False) for key, value in rows)
    text = f"{opening}\n" + ",\n".join(lines) + f"\n{closing}\n"
    path.write_text(text, encoding="utf-8")
