"""Demonstrations: the authors' prompt files, in three sets of each data set (IRCoT
§3.1, §4.1), and the examples of all other systems (prompts/README.md).
"""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ircotlib.data import Demonstration, Paragraph, parse_json, read_text
from ircotlib.errors import DataError
from ircotlib.files import PROMPTS, resolve
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, STYLES, TITLE
from ircotlib.text import answer_from_chain

# M, the number of distractors (IRCoT §4.1: 1, 2 or 3), of other prompts:
NO_DEMONSTRATIONS = None  # only the question asked
NO_PARAGRAPHS = 0  # questions and answers alone, as NoR QA's reader sees them
ONE_FILE = "demonstrations.txt"  # chains with gold paragraphs; every stage uses them
SETS_FILE = "demonstration_sets.json"
METADATA = re.compile(r"# METADATA:(.*)\n?")
FORM = '# METADATA: {"qid": ...} with another id, '
FORM += f"paragraphs that begin with {TITLE!r}, one Q: and one A:"
# above the question in the authors' files for Flan-T5 (App. G)
INSTRUCTIONS = {
    style.template(stage).instruction
    for style in STYLES.values()
    for stage in ("cot", "direct")
}


def find_demonstrations(
    folder: str,
    dataset: str,
    stage: str,
    style: str,
    m: int,
    number: int,
    family: str = "",
) -> list[Demonstration]:
    """The demonstrations of set `number`, 0 to 2, of a data set, with M distractors
    (IRCoT §4.1). The others: see `prompt_path`.
    """
    path = prompt_path(folder, dataset, stage, style, m, family)
    demonstrations = read_demonstrations(path)
    if path.name == ONE_FILE and stage == "titles":
        template = STYLES[style].template(stage)
        for number_of, shown in enumerate(demonstrations):
            # all paragraphs but the first, the main passage, are named (IRCoT App. B)
            main, *others = shown.paragraphs
            asked = template.ask(shown.question, n=len(others))
            titles = ", ".join(paragraph.title for paragraph in others)
            demonstrations[number_of] = replace(
                shown, paragraphs=(main,), question=asked, answer=titles
            )
    elif path.name == ONE_FILE:
        pool = [p for shown in demonstrations for p in shown.paragraphs]
        demonstrations = [_vary(path, d, pool, stage, m) for d in demonstrations]
    return demonstration_sets(demonstrations, path.parent.name, path.parents[1])[number]


def _vary(
    path: Path, shown: Demonstration, pool: Sequence[Paragraph], stage: str, m: int
) -> Demonstration:
    """A demonstration with its own paragraphs and M of the others' in the pool,
    shuffled (IRCoT §4.1), and with the form of answer that the stage needs. The draw
    depends only on the question. Raises DataError if one of them is not there.
    """
    draw = random.Random(shown.question)
    titles = {paragraph.title for paragraph in shown.paragraphs}
    others = {p.title: p for p in pool if p.title not in titles}
    if len(others) < m:
        raise DataError(
            f"{path}, {shown.id!r}: found {len(others)} paragraphs of other questions, "
            f"expected {m}: set fewer `distractors`"
        )
    paragraphs = []
    if m != NO_PARAGRAPHS:
        paragraphs = [*shown.paragraphs, *draw.sample(list(others.values()), m)]
        draw.shuffle(paragraphs)
    # IRCoT §3.2: a direct reader is shown the answers that end the same chains
    answer = shown.answer if stage == "cot" else answer_from_chain(shown.answer)
    if answer is None:
        raise DataError(
            f"{path}, {shown.id!r}: found the chain {shown.answer[-50:]!r}, expected "
            "it to end with the words 'answer is: ' and the answer"
        )
    return replace(shown, paragraphs=tuple(paragraphs), answer=answer)


def prompt_path(
    folder: Path | str, dataset: str, stage: str, style: str, m: int, family: str = ""
) -> Path:
    """The prompt file of a stage ("cot", "direct" or "titles"), named as in IRCoT's
    release, or demonstrations.txt, which serves all stages. Raises FileNotFoundError.

    `family`: of data sets, whose folder is tried before the data set's; if `folder` has
    neither, that in prompts/own is used. "": only the data set's (IRCoT §5, OOD).
    """
    name = f"gold_with_{m}_distractors_context_{stage}_qa_{style}.txt"
    if m == NO_PARAGRAPHS:
        name = f"no_context_{stage}_qa_{style}.txt"
    if stage == "titles":
        name = f"no_context_open_llm_retrieval_{style}.txt"
    of_user = Path(resolve(str(folder)))
    parent = of_user / dataset
    # an empty folder is a mistake: prompts/own does not replace it
    if family and any(of_user.glob("*")):
        folders = (of_user / family, parent, PROMPTS / "own" / family)
        parent = next((folder for folder in folders if folder.is_dir()), parent)
    for path in (parent / ONE_FILE, parent / name):
        if path.is_file():
            return path
    raise FileNotFoundError(
        f"no prompt file {parent / name}, nor {parent / ONE_FILE}: set `demonstrations`"
    )


def read_demonstrations(path: Path) -> list[Demonstration]:
    """The demonstrations of a prompt file in the format of IRCoT's release
    (prompts/README.md), without the instructions. Raises DataError with the beginning
    of what is none.
    """
    before, *parts = METADATA.split(read_text(path))
    if before.strip() or not parts:
        raise DataError(f"{path}: found {before.strip()[:60]!r}, expected {FORM}")
    demonstrations: dict[str, Demonstration] = {}
    for metadata, body in zip(parts[::2], parts[1::2], strict=True):
        try:
            id = str(json.loads(metadata)["qid"])
            if id in demonstrations:
                raise ValueError
            demonstrations[id] = _read_one(id, body.strip())
        except (ValueError, KeyError, TypeError):
            found = f"{metadata.strip()}\n{body}"[:90]
            raise DataError(f"{path}: found {found!r}, expected {FORM}") from None
    return list(demonstrations.values())


def _read_one(id: str, body: str) -> Demonstration:
    """The demonstration below a line of metadata. Raises ValueError if it is none."""
    if re.findall(r"^[QA]: ", body, re.MULTILINE) != ["Q: ", "A: "]:
        raise ValueError
    context, question, answer = re.split(r"^Q: |\nA: ", body, flags=re.MULTILINE)
    first, _, rest = question.partition("\n")
    if rest and first in INSTRUCTIONS:
        question = rest
    paragraphs = re.split(rf"(?:^|\n\n){TITLE}", context.strip())
    if paragraphs[0] or not question.strip() or not answer.strip():
        raise ValueError
    shown = []
    for number, paragraph in enumerate(paragraphs[1:], start=1):
        title, _, text = paragraph.partition("\n")
        shown.append(Paragraph(f"{id}/{number}", title, text))
    return Demonstration(id, tuple(shown), question, answer)


def demonstration_sets(
    demonstrations: Sequence[Demonstration], dataset: str = "", folder: Path = PROMPTS
) -> list[list[Demonstration]]:
    """The three sets of a data set (IRCoT §4.1: 15 of 20 annotated questions): of
    `folder`/demonstration_sets.json, or the authors' in prompts/, or drawn.
    """
    by_id = {demonstration.id: demonstration for demonstration in demonstrations}
    path = folder / SETS_FILE
    if not path.exists():
        path = PROMPTS / SETS_FILE
    fixed = parse_json(path.read_bytes(), str(path))
    sets = fixed.get(dataset) if isinstance(fixed, dict) else []
    if sets is None:
        draw = random.Random(0)
        ids = sorted(by_id)
        size = min(15, max(1, len(ids) * 3 // 4))  # of fewer than 20 three quarters
        sets = [draw.sample(ids, size) for _ in range(3)]
    if [0 < len(ids) == len({*ids} & {*by_id}) for ids in sets] != [True] * 3:
        unknown = [str(id) for ids in sets for id in ids if id not in by_id]
        raise DataError(
            f"{path}, {dataset!r}: found {unknown or sets!r:.60}, expected three lists "
            f"of different ids of these {len(by_id)}: {', '.join(by_id)}"
        )
    return [[by_id[id] for id in ids] for ids in sets]


def find_examples(folder: str, system: str, stage: str, family: str) -> list[str]:
    """The examples of a system's stage for a family: in `folder`, or prompts/own."""
    name = Path(system) / f"{stage}.{family}.txt"
    folders = (resolve(folder), PROMPTS / "own")
    paths = [Path(parent) / name for parent in folders if parent]
    for path in paths:
        if path.is_file():
            return read_examples(path)
    others = sorted(path.name for path in PROMPTS.glob(f"own/{system}/{stage}.*.txt"))
    if others:
        raise FileNotFoundError(f"{paths[0]}: no such file, only {', '.join(others)}")
    return []


def read_examples(path: Path) -> list[str]:
    """The examples of a file, separated by two blank lines; a first line that begins
    with "# " is a comment.
    """
    text = read_text(path).strip("\n")
    head, _, below = text.partition("\n")
    if head.startswith("# "):
        text = below.strip("\n")
    return [part.strip("\n") for part in text.split(BETWEEN_DEMONSTRATIONS)]
