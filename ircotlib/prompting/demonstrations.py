"""Demonstrations: prompt files in the format of IRCoT's release, and the three sets of each data
set (IRCoT §3.1, §4.1; prompts/README.md).
"""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from ircotlib.data import Demonstration, Paragraph, excerpt, parse_json, read_text
from ircotlib.files.paths import PROMPTS, resolve
from ircotlib.prompting.prompt import STYLES, TITLE
from ircotlib.text import answer_from_chain

ONE_FILE = "demonstrations.txt"  # chains with gold paragraphs; every stage uses them
METADATA = re.compile(r"# METADATA:(.*)\n?")


def find_demonstrations(
    folder: Path | str, dataset: str, stage: str, style: str, m: int, demonstration_set: int
) -> list[Demonstration]:
    """The demonstrations of one of a data set's three sets, with M distractors (IRCoT §4.1).

    `m` 0: without paragraphs. `demonstration_set`: 0 to 2. `folder`: see `prompt_path`. Raises
    FileNotFoundError if there is no such file.
    """
    path = prompt_path(folder, dataset, stage, style, m)
    found = read_demonstrations(path)
    if path.name == ONE_FILE:
        found = [_vary(one, found, stage, m) for one in found]
    return demonstration_sets(found, dataset, folder=path.parents[1])[demonstration_set]


def _vary(one: Demonstration, of: Sequence[Demonstration], stage: str, m: int) -> Demonstration:
    """A demonstration with its own paragraphs and M of the others', shuffled (IRCoT §4.1), and with
    the form of answer that the stage needs. The draw depends only on the question.
    """
    draw, others = random.Random(one.question), [p for other in of for p in other.paragraphs]
    own = {paragraph.title for paragraph in one.paragraphs}
    others = {p.title: p for p in others if p.title not in own}
    shown = [*one.paragraphs, *draw.sample(list(others.values()), m)] if m else []
    draw.shuffle(shown)
    answer = one.answer if stage == "cot" else answer_from_chain(one.answer)
    return replace(one, paragraphs=tuple(shown), answer=answer)


def prompt_path(folder: Path | str, dataset: str, stage: str, style: str, m: int) -> Path:
    """The prompt file of a stage ("cot", "direct" or "titles"), named as in IRCoT's release.

    `folder`: absolute, or relative to the repository. `m`: the number of distractors; 0: no
    paragraphs at all; ignored for the stage "titles" of IIRC. If the data set's folder has
    demonstrations.txt, that file serves all stages except "titles". Raises FileNotFoundError if
    there is no such file.
    """
    context = f"gold_with_{m}_distractors_context" if m else "no_context"
    names = {"titles": f"no_context_open_llm_retrieval_{style}.txt"}
    path = (
        Path(resolve(str(folder))) / dataset / names.get(stage, f"{context}_{stage}_qa_{style}.txt")
    )
    if (one_file := path.with_name(ONE_FILE)).is_file() and stage != "titles":
        return one_file
    if not path.is_file():
        raise FileNotFoundError(
            f"no prompt file {path}: set `demonstrations` to the folder that holds "
            f"{dataset}/{path.name}, or `distractors` to an empty list for no demonstrations"
        )
    return path


@cache
def _instructions() -> frozenset[str | None]:
    """The lines above each question in the authors' files (IRCoT App. G)."""
    return frozenset(i for style in STYLES.values() for i in (style.chain_of_thought, style.direct))


def read_demonstrations(path: Path) -> list[Demonstration]:
    """Read the demonstrations of a prompt file in the format of IRCoT's release
    (prompts/README.md), in its order and without the instructions.

    Raises ValueError with the file, the line where the demonstration starts, what was found and
    what was expected.
    """
    text = read_text(path)
    heads = list(METADATA.finditer(text))
    first = heads[0].start() if heads else len(text)
    if not heads or text[:first].strip():
        expected = """expected a line '# METADATA: {"qid": ...}' first"""
        raise ValueError(f"{path}, line 1: found {text[:first].strip()[:60]!r}, {expected}")
    demonstrations: dict[str, Demonstration] = {}
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        line = text.count("\n", 0, head.start()) + 1
        where = f"{path}, line {line}"
        found = _read_one(where, head[1], text[head.end() : end].strip())
        if found.id in demonstrations:
            raise ValueError(
                f"{where}: found the id {found.id!r} a second time, expected each id once in a file"
            )
        demonstrations[found.id] = found
    return list(demonstrations.values())


def _read_one(where: str, metadata: str, body: str) -> Demonstration:
    id = _read_id(where, metadata)
    if (marks := re.findall(r"^[QA]: ", body, re.MULTILINE)) != ["Q: ", "A: "]:
        expected = "one line that starts with 'Q: ' and below it one that starts with 'A: '"
        raise ValueError(
            f"{where}: found {marks or 'neither'} in demonstration {id!r}, expected {expected}"
        )
    context, question, answer = re.split(r"^Q: |\nA: ", body, flags=re.MULTILINE)
    instruction, _, rest = question.partition("\n")
    if rest and instruction in _instructions():
        question = rest
    if not question.strip() or not answer.strip():
        blank = "question" if answer.strip() else "answer"
        raise ValueError(f"{where}: found no {blank} in demonstration {id!r}, expected a text")
    return Demonstration(id, _read_paragraphs(where, id, context.strip()), question, answer)


def _read_id(where: str, metadata: str) -> str:
    try:
        id = str(json.loads(metadata)["qid"])
        id.encode()  # no half of a surrogate pair
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        found = f"found {excerpt(metadata.strip())} after '# METADATA:'"
        raise ValueError(
            f'{where}: {found}, expected a JSON object with "qid" ({error})'
        ) from error
    return id


def _read_paragraphs(where: str, id: str, context: str) -> tuple[Paragraph, ...]:
    if context and not context.startswith(TITLE):
        found = f"found {context[:60]!r} at the top of demonstration {id!r}"
        raise ValueError(f"{where}: {found}, expected {TITLE!r} or the question")
    pieces = re.split(rf"\n\n(?={TITLE})", context) if context else []
    split = [piece.removeprefix(TITLE).partition("\n") for piece in pieces]
    return tuple(
        Paragraph(f"{id}/{number}", title, text)
        for number, (title, _, text) in enumerate(split, start=1)
    )


def choose_demonstrations(
    demonstrations: Sequence[Demonstration], ids: Sequence[str]
) -> list[Demonstration]:
    """The demonstrations with these ids, in the order of `ids`. Raises ValueError if one is
    missing.
    """
    by_id = {demonstration.id: demonstration for demonstration in demonstrations}
    if missing := [id for id in ids if id not in by_id]:
        expected = f"expected ids among these {len(by_id)}: {', '.join(by_id)}"
        raise ValueError(f"found no demonstration with id {', '.join(missing)}, {expected}")
    return [by_id[id] for id in ids]


def demonstration_sets(
    demonstrations: Sequence[Demonstration],
    dataset: str = "",
    *,
    folder: Path | None = None,
    seed: int = 0,
) -> list[list[Demonstration]]:
    """Choose the three demonstration sets of a data set, in a fixed order each (IRCoT §4.1: 15 of
    20 annotated questions).

    The paper's data sets have the authors' own sets (prompts/demonstration_sets.json; of HotpotQA's
    29 released demonstrations they use 20), unless `folder`, the folder of all prompt files, has
    its own demonstration_sets.json. For other data sets 15 demonstrations are drawn three times, or
    three quarters if there are fewer than 20. The draw depends on the seed and on the ids, not on
    their order. Raises ValueError if there are no demonstrations, or if one of a fixed set is
    missing.
    """
    paths = [Path(place) / "demonstration_sets.json" for place in (folder, PROMPTS) if place]
    if fixed := _read_sets(next(path for path in paths if path.is_file()), dataset):
        return [choose_demonstrations(demonstrations, ids) for ids in fixed]
    ids = sorted(demonstration.id for demonstration in demonstrations)
    if not ids:
        raise ValueError("found no demonstrations, expected at least one to draw from")
    draw, size = random.Random(seed), min(15, max(1, len(ids) * 3 // 4))
    return [choose_demonstrations(demonstrations, draw.sample(ids, size)) for _ in range(3)]


def _read_sets(path: Path, dataset: str) -> list[list[str]] | None:
    """The ids of a data set's fixed sets, None if it has none. Raises ValueError for a damaged
    file.
    """
    expected = "one JSON object with three lists of ids for each data set"
    fixed = parse_json(path.read_bytes(), str(path), expected)
    match found := fixed.get(dataset) if isinstance(fixed, dict) else fixed:
        case None:
            return None
        case [[*first], [*second], [*third]] if first and second and third:
            if all(isinstance(id, str) for id in first + second + third):
                return found
    raise ValueError(
        f"{path}, {dataset!r}: expected {expected}, found {excerpt(found)}: get the file again, or"
        " mend it"
    )
