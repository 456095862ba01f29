"""Demonstrations: the authors' prompt files, and three sets of each data set (IRCoT §3.1, §4.1)."""

import json
import os
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ircotlib.data import Demonstration, Paragraph, excerpt, parse_json, read_text
from ircotlib.errors import DataError
from ircotlib.files.kept import kept_until_changed
from ircotlib.files.paths import PROMPTS, resolve
from ircotlib.prompting.prompt import STYLES, TITLE
from ircotlib.text import answer_from_chain

# M of a prompt that does not show gold paragraphs and M distractors (IRCoT §4.1: 1, 2 or 3); a
# system with examples of its own shows them whatever M is
NO_DEMONSTRATIONS = None  # only the question asked
NO_PARAGRAPHS = 0  # demonstrations of questions and answers alone, as NoR QA's reader sees them
ONE_FILE = "demonstrations.txt"  # chains with gold paragraphs; every stage uses them
METADATA = re.compile(r"# METADATA:(.*)\n?")


def find_demonstrations(
    folder: Path | str,
    dataset: str,
    stage: str,
    style: str,
    m: int,
    demonstration_set: int,
    family: str = "",
) -> list[Demonstration]:
    """The demonstrations of one of a data set's three sets, with M distractors (IRCoT §4.1).

    `m`: NO_PARAGRAPHS, or more. `demonstration_set`: 0 to 2. `folder`, `family`: see `prompt_path`.
    Raises FileNotFoundError if there is no such file.
    """
    path = prompt_path(folder, dataset, stage, style, m, family)
    demonstrations = read_demonstrations(path)
    if path.name == ONE_FILE and stage == "titles":
        demonstrations = [_ask_for_titles(shown, style) for shown in demonstrations]
    elif path.name == ONE_FILE:
        known = [paragraph for shown in demonstrations for paragraph in shown.paragraphs]
        demonstrations = [_vary(shown, known, stage, m) for shown in demonstrations]
    sets = demonstration_sets(demonstrations, path.parent.name, folder=path.parents[1])
    return sets[demonstration_set]


def _ask_for_titles(demonstration: Demonstration, style: str) -> Demonstration:
    """A demonstration of naming pages: its first paragraph is the main passage, and the titles of
    the others are the answer (IRCoT App. B).
    """
    main, *others = demonstration.paragraphs
    asked = STYLES[style].template("titles").ask(demonstration.question, n=len(others))
    titles = ", ".join(paragraph.title for paragraph in others)
    return replace(demonstration, paragraphs=(main,), question=asked, answer=titles)


def exchange_answers(demonstrations: Sequence[Demonstration]) -> list[Demonstration]:
    """The demonstrations, each with the chain or the answer of the one after it, the last with that
    of the first: what is left is the form of the answers, not that they are right (ours).
    """
    following = [*demonstrations[1:], *demonstrations[:1]]
    pairs = zip(demonstrations, following, strict=True)
    return [replace(shown, answer=other.answer) for shown, other in pairs]


def _vary(
    demonstration: Demonstration, known: Sequence[Paragraph], stage: str, m: int
) -> Demonstration:
    """A demonstration with its own paragraphs and M of the others', shuffled (IRCoT §4.1), and with
    the form of answer that the stage needs. The draw depends only on the question.
    """
    draw = random.Random(demonstration.question)
    own = demonstration.paragraphs
    titles = {paragraph.title for paragraph in own}
    distractors = {p.title: p for p in known if p.title not in titles}
    # IRCoT §4.1: the gold paragraphs and M others; without M, nothing is shown to read
    paragraphs = [*own, *draw.sample(list(distractors.values()), m)] if m != NO_PARAGRAPHS else []
    draw.shuffle(paragraphs)
    # IRCoT §3.2: a direct reader is shown the answers that end the same chains
    chain = demonstration.answer
    answer = chain if stage == "cot" else answer_from_chain(chain)
    return replace(demonstration, paragraphs=tuple(paragraphs), answer=answer)


def prompt_path(
    folder: Path | str, dataset: str, stage: str, style: str, m: int, family: str = ""
) -> Path:
    """The prompt file of a stage ("cot", "direct" or "titles"), named as in IRCoT's release, or
    demonstrations.txt, which serves all stages.

    `folder`: absolute, or relative to the repository. `m`: the number of distractors, or
    NO_PARAGRAPHS; ignored for "titles". `family`: of the data set, whose examples other systems
    show; the files of its folder come before those of the data set's, and where `folder` has
    neither, those in prompts/own are taken. "": only the data set's own (IRCoT §5, OOD). Raises
    FileNotFoundError if there is no such file.
    """
    context = "no_context" if m == NO_PARAGRAPHS else f"gold_with_{m}_distractors_context"
    titles = f"no_context_open_llm_retrieval_{style}.txt"
    name = titles if stage == "titles" else f"{context}_{stage}_qa_{style}.txt"
    path = demonstration_folder(folder, dataset, family) / name
    if (one_file := path.with_name(ONE_FILE)).is_file():
        return one_file
    if not path.is_file():
        remedy = f"put it, or {one_file}, there (prompts/README.md), or set `demonstrations`"
        raise FileNotFoundError(f"no prompt file {path}: {remedy} to a folder that has it")
    return path


def demonstration_folder(folder: Path | str, dataset: str, family: str = "") -> Path:
    """The folder with the prompt files of a data set; see `prompt_path`."""
    of_user = Path(resolve(str(folder)))
    places = [of_user / family, of_user / dataset, PROMPTS / "own" / family] if family else []
    # an empty folder is the wrong one: nothing takes its place
    there = [place for place in places if place.is_dir()] if any(of_user.glob("*")) else []
    return there[0] if there else of_user / dataset


@kept_until_changed(lambda path: [path])
def read_demonstrations(path: Path) -> list[Demonstration]:
    """Read the demonstrations of a prompt file in the format of IRCoT's release
    (prompts/README.md), in its order and without the instructions. Raises DataError with the file,
    and the line where the demonstration starts.
    """
    text = read_text(path)
    heads = list(METADATA.finditer(text))
    top = text[: heads[0].start()].strip() if heads else text.strip()
    if top or not heads:
        expected = """expected a line '# METADATA: {"qid": ...}' first"""
        raise DataError(f"{path}, line 1: found {top[:60]!r}, {expected}")
    demonstrations: dict[str, Demonstration] = {}
    instructions = [i for style in STYLES.values() for i in (style.chain_of_thought, style.direct)]
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        try:
            example = _read_one(head[1].strip(), text[head.end() : end].strip(), instructions)
            if example.id in demonstrations:
                raise DataError(f"found the id {example.id!r} a second time, expected it once")
        except ValueError as error:
            line = text.count("\n", 0, head.start()) + 1
            raise DataError(f"{path}, line {line}: {error}") from None
        demonstrations[example.id] = example
    return list(demonstrations.values())


def _read_one(metadata: str, body: str, instructions: Sequence[str | None]) -> Demonstration:
    try:
        id = str(json.loads(metadata)["qid"])
        id.encode()  # no half of a surrogate pair
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        found = f"found {excerpt(metadata)} after '# METADATA:'"
        raise DataError(f'{found}, expected a JSON object with "qid" ({error})') from None
    if (marks := re.findall(r"^[QA]: ", body, re.MULTILINE)) != ["Q: ", "A: "]:
        found = f"found {marks or 'neither'} in demonstration {id!r}"
        raise DataError(f"{found}, expected one line 'Q: ...' and below it one line 'A: ...'")
    context, question, answer = re.split(r"^Q: |\nA: ", body, flags=re.MULTILINE)
    first, _, rest = question.partition("\n")
    # IRCoT App. G: the authors' files for Flan-T5 have the instruction between "Q: " and question
    if rest and first in instructions:
        question = rest
    if not question.strip() or not answer.strip():
        blank = "question" if answer.strip() else "answer"
        raise DataError(f"found no {blank} in demonstration {id!r}, expected a text")
    if (context := context.strip()) and not context.startswith(TITLE):
        found = f"found {context[:60]!r} at the top of demonstration {id!r}"
        raise DataError(f"{found}, expected {TITLE!r} or the question")
    paragraphs = []
    for n, text in enumerate(re.split(rf"(?:^|\n\n){TITLE}", context)[1:], start=1):
        title, _, below = text.partition("\n")
        paragraphs.append(Paragraph(f"{id}/{n}", title, below))
    return Demonstration(id, tuple(paragraphs), question, answer)


def choose_demonstrations(
    demonstrations: Sequence[Demonstration], ids: Sequence[str]
) -> list[Demonstration]:
    """The demonstrations with these ids, in their order. Raises DataError if one is missing."""
    by_id = {demonstration.id: demonstration for demonstration in demonstrations}
    if missing := [id for id in ids if id not in by_id]:
        expected = f"expected ids among these {len(by_id)}: {', '.join(by_id)}"
        raise DataError(f"found no demonstration with id {', '.join(missing)}, {expected}")
    return [by_id[id] for id in ids]


def demonstration_sets(
    demonstrations: Sequence[Demonstration], dataset: str = "", folder: Path | None = None, seed=0
) -> list[list[Demonstration]]:
    """Choose the three demonstration sets of a data set, in a fixed order each (IRCoT §4.1: 15 of
    20 annotated questions).

    The paper's data sets have the authors' own sets (prompts/demonstration_sets.json; of HotpotQA's
    29 released demonstrations they use 20), unless `folder`, the folder of all prompt files, has
    its own demonstration_sets.json. For other data sets 15 demonstrations are drawn three times, or
    three quarters if there are fewer than 20. The draw depends on the seed and on the ids, not on
    their order. Raises DataError if there are no demonstrations, or if one of a fixed set is
    missing.
    """
    paths = [Path(parent) / "demonstration_sets.json" for parent in (folder, PROMPTS) if parent]
    if fixed := _read_sets(next(filter(os.path.lexists, paths)), dataset):
        return [choose_demonstrations(demonstrations, ids) for ids in fixed]
    ids = sorted(demonstration.id for demonstration in demonstrations)
    if not ids:
        raise DataError("found no demonstrations, expected at least one to draw from")
    draw = random.Random(seed)
    size = min(15, max(1, len(ids) * 3 // 4))  # IRCoT §4.1: 15 of 20
    return [choose_demonstrations(demonstrations, draw.sample(ids, size)) for _ in range(3)]


def _read_sets(path: Path, dataset: str) -> list[list[str]] | None:
    """The ids of a data set's fixed sets; None if the file does not name it. Raises DataError for a
    damaged file.
    """
    expected = "one JSON object with three lists of different ids for each data set"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: found {error.strerror}, expected {expected}") from None
    fixed = parse_json(content, str(path), expected)
    if isinstance(fixed, dict) and dataset not in fixed:
        return None
    match sets := fixed[dataset] if isinstance(fixed, dict) else fixed:
        case [[_, *_], [_, *_], [_, *_]] if all(isinstance(id, str) for ids in sets for id in ids):
            if all(len(set(ids)) == len(ids) for ids in sets):
                return sets
    found = f"found {excerpt(sets)}: get the file again, or mend it"
    raise DataError(f"{path}, {dataset!r}: expected {expected}, {found}")
