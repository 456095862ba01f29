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
from ircotlib.datasets import Dataset
from ircotlib.errors import DataError
from ircotlib.files import PROMPTS, resolve
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS, STYLES, TITLE
from ircotlib.prompting.templates import FIELD, WORDING, Template
from ircotlib.text import answer_from_chain

# M of a prompt that does not show gold paragraphs and M distractors (IRCoT §4.1: 1, 2
# or 3)
NO_DEMONSTRATIONS = None  # only the question asked
# demonstrations of questions and answers alone, as NoR QA's reader sees them
NO_PARAGRAPHS = 0
ONE_FILE = "demonstrations.txt"  # chains with gold paragraphs; every stage uses them
METADATA = re.compile(r"# METADATA:(.*)\n?")
FORM = f"""# METADATA: {{"qid": ...}}, paragraphs that begin with {TITLE!r}, one Q: and one A:"""


def find_demonstrations(
    folder: str,
    dataset: str,
    stage: str,
    style: str,
    m: int,
    number: int,
    family: str = "",
) -> list[Demonstration]:
    """The demonstrations of one of a data set's three sets, with M distractors (IRCoT
    §4.1).

    `number`: of the set, 0 to 2. The others: see `prompt_path`.
    """
    path = prompt_path(folder, dataset, stage, style, m, family)
    demonstrations = read_demonstrations(path)
    if path.name == ONE_FILE and stage == "titles":
        template = STYLES[style].template(stage)
        demonstrations = [_ask_for_titles(shown, template) for shown in demonstrations]
    elif path.name == ONE_FILE:
        known = [
            paragraph for shown in demonstrations for paragraph in shown.paragraphs
        ]
        demonstrations = [
            _vary(path, shown, known, stage, m) for shown in demonstrations
        ]
    return demonstration_sets(demonstrations, path.parent.name, path.parents[1])[number]


def _ask_for_titles(shown: Demonstration, template: Template) -> Demonstration:
    """Naming pages: all paragraphs but the first, the main passage (IRCoT App. B)."""
    main, *others = shown.paragraphs
    asked = template.ask(shown.question, n=len(others))
    titles = ", ".join(paragraph.title for paragraph in others)
    return replace(shown, paragraphs=(main,), question=asked, answer=titles)


def _vary(
    path: Path, shown: Demonstration, known: Sequence[Paragraph], stage: str, m: int
) -> Demonstration:
    """A demonstration with its own paragraphs and M of the others', shuffled (IRCoT
    §4.1), and with the form of answer that the stage needs. The draw depends only on
    the question. Raises DataError if there are fewer others, or no answer for a stage
    that needs it alone.
    """
    draw = random.Random(shown.question)
    titles = {paragraph.title for paragraph in shown.paragraphs}
    distractors = {p.title: p for p in known if p.title not in titles}
    if len(distractors) < m:
        found = f"{path}, {shown.id!r}: found {len(distractors)} paragraphs of other questions"
        raise DataError(f"{found}, expected {m}: set fewer `distractors`")
    drawn = draw.sample(list(distractors.values()), m)
    paragraphs = [*shown.paragraphs, *drawn] if m != NO_PARAGRAPHS else []
    draw.shuffle(paragraphs)
    # IRCoT §3.2: a direct reader is shown the answers that end the same chains
    answer = shown.answer if stage == "cot" else answer_from_chain(shown.answer)
    if answer is None:
        found = f"{path}, {shown.id!r}: found the chain {shown.answer[-50:]!r}"
        raise DataError(
            f"{found}, expected it to end with the words 'answer is: ' and the answer"
        )
    return replace(shown, paragraphs=tuple(paragraphs), answer=answer)


def prompt_path(
    folder: Path | str, dataset: str, stage: str, style: str, m: int, family: str = ""
) -> Path:
    """The prompt file of a stage ("cot", "direct" or "titles"), named as in IRCoT's
    release, or demonstrations.txt, which serves all stages. Raises FileNotFoundError if
    there is none.

    `family`: of data sets, whose folder is tried before the data set's; if `folder` has
    neither, that in prompts/own is used. "": only the data set's (IRCoT §5, OOD).
    """
    context = (
        "no_context" if m == NO_PARAGRAPHS else f"gold_with_{m}_distractors_context"
    )
    titles = f"no_context_open_llm_retrieval_{style}.txt"
    name = titles if stage == "titles" else f"{context}_{stage}_qa_{style}.txt"
    of_user = Path(resolve(str(folder)))
    places = (
        [of_user / family, of_user / dataset, PROMPTS / "own" / family]
        if family
        else []
    )
    # an empty folder is a mistake: prompts/own does not replace it
    there = (
        [place for place in places if place.is_dir()] if any(of_user.glob("*")) else []
    )
    path = (there[0] if there else of_user / dataset) / name
    if (one_file := path.with_name(ONE_FILE)).is_file():
        return one_file
    if not path.is_file():
        raise FileNotFoundError(
            f"no prompt file {path}, nor {one_file}: set `demonstrations`"
        )
    return path


def read_demonstrations(path: Path) -> list[Demonstration]:
    """The demonstrations of a prompt file in the format of IRCoT's release
    (prompts/README.md), without the instructions. Raises DataError with the line where
    one starts.
    """
    text = read_text(path)
    heads = list(METADATA.finditer(text))
    if not heads or text[: heads[0].start()].strip():
        raise DataError(f"{path}, line 1: found {text.strip()[:60]!r}, expected {FORM}")
    # IRCoT App. G: the authors' files for Flan-T5 have the instruction between "Q: "
    # and question
    templates = [
        style.template(stage)
        for style in STYLES.values()
        for stage in ("cot", "direct")
    ]
    instructions = [template.instruction for template in templates]
    demonstrations: dict[str, Demonstration] = {}
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        body = text[head.end() : end].strip()
        where = f"{path}, line {text.count(chr(10), 0, head.start()) + 1}"
        try:
            example = _read_one(str(json.loads(head[1])["qid"]), body, instructions)
        except (ValueError, KeyError, TypeError):
            found = f"found {f'{head[0]}{body}'[:90]!r}"
            raise DataError(f"{where}: {found}, expected {FORM}") from None
        if example.id in demonstrations:
            raise DataError(
                f"{where}: found the id {example.id!r} again, expected it once"
            )
        demonstrations[example.id] = example
    return list(demonstrations.values())


def _read_one(id: str, body: str, instructions: Sequence) -> Demonstration:
    """The demonstration below a line of metadata. Raises ValueError if it has another
    form.
    """
    if re.findall(r"^[QA]: ", body, re.MULTILINE) != ["Q: ", "A: "]:
        raise ValueError
    context, question, answer = re.split(r"^Q: |\nA: ", body, flags=re.MULTILINE)
    first, _, rest = question.partition("\n")
    question = rest if rest and first in instructions else question
    paragraphs = re.split(rf"(?:^|\n\n){TITLE}", context.strip())
    if paragraphs[0] or not question.strip() or not answer.strip():
        raise ValueError
    titled = [paragraph.partition("\n")[::2] for paragraph in paragraphs[1:]]
    shown = tuple(
        Paragraph(f"{id}/{number}", *each) for number, each in enumerate(titled, 1)
    )
    return Demonstration(id, shown, question, answer)


def demonstration_sets(
    demonstrations: Sequence[Demonstration],
    dataset: str = "",
    folder: Path | None = None,
) -> list[list[Demonstration]]:
    """The three demonstration sets of a data set (IRCoT §4.1: 15 of 20 annotated
    questions): of `folder`/demonstration_sets.json, or the authors' in prompts/, or
    drawn.
    """
    by_id = {demonstration.id: demonstration for demonstration in demonstrations}
    paths = [
        Path(parent) / "demonstration_sets.json"
        for parent in (folder, PROMPTS)
        if parent
    ]
    path = next((path for path in paths if path.exists()), paths[-1])
    fixed = parse_json(path.read_bytes(), str(path))
    sets = fixed.get(dataset) if isinstance(fixed, dict) else []
    if sets is None:
        draw, ids = random.Random(0), sorted(by_id)
        # of fewer than 20 three quarters (ours)
        size = min(15, max(1, len(ids) * 3 // 4))
        sets = [draw.sample(ids, size) for _ in range(3)]
    if [0 < len(ids) == len({*ids} & {*by_id}) for ids in sets] != [True] * 3:
        lacking = [str(id) for ids in sets for id in ids if id not in by_id]
        expected = (
            f"three lists of different ids of these {len(by_id)}: {', '.join(by_id)}"
        )
        raise DataError(
            f"{path}, {dataset!r}: found {lacking or sets!r:.60}, expected {expected}"
        )
    return [[by_id[id] for id in ids] for ids in sets]


def find_examples(
    folder: str, system: str, stage: str, dataset: Dataset, template: Template
) -> tuple[str, ...]:
    """The examples of a system's stage for a family of data sets: in `folder`, or
    prompts/own.
    """
    name = Path(system) / f"{stage}.{dataset.example_family}.txt"
    paths = [
        Path(place) / name for place in (resolve(folder), PROMPTS / "own") if place
    ]
    if path := next((path for path in paths if path.is_file()), None):
        return read_examples(path, template)
    if others := [other.name for other in PROMPTS.glob(f"own/{system}/{stage}.*.txt")]:
        raise FileNotFoundError(
            f"{paths[0]}: no such file, only {', '.join(sorted(others))}"
        )
    return ()


def read_examples(path: Path, template: Template) -> tuple[str, ...]:
    """The examples of a file, separated by two blank lines; a first line that begins
    with "# " is a comment. Raises DataError for one that lacks the template's words
    around the question.
    """
    head, _, below = read_text(path).strip("\n").partition("\n")
    text = below if head.startswith("# ") else f"{head}\n{below}"
    examples = text.strip("\n").split(BETWEEN_DEMONSTRATIONS)
    words = (
        template.text[WORDING.search(template.text).start() :]
        .partition("{so_far}")[0]
        .rstrip()
    )
    form = re.compile(
        "^" + ".+".join(map(re.escape, FIELD.split(words)[::2])), re.MULTILINE
    )
    for number, example in enumerate(examples, start=1):
        if not form.search(example):
            found = f"found {example.strip()[:60]!r}, expected {words!r} in it, as in its template"
            raise DataError(f"{path}, example {number}: {found}")
    return tuple(example.strip("\n") for example in examples)
