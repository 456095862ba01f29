"""The examples that a stage of a system shows, for systems other than IRCoT: a file for each family
of data sets, prompts/own/<system>/<stage>.<family>.txt, or a user's own (prompts/README.md).
"""

import re
from functools import cache
from pathlib import Path

from ircotlib.datasets import Dataset
from ircotlib.paths import PROMPTS, resolve
from ircotlib.prompts import BETWEEN_DEMONSTRATIONS
from ircotlib.templates import Template

# How many are shown: SearChain, Table 11; by family, or by data set where one differs from the
# others of its family. `FEW`: most systems. Systems that are not in the table show all.
FEW = {"multihop": 4, "strategyqa": 6, "slotfilling": 4, "fever": 2, "eli5": 2}
TWO = dict.fromkeys(FEW, 2)
TABLE_11 = {
    "direct": dict.fromkeys(FEW, 0),
    "auto_cot": FEW,
    "cot": FEW,
    "recite": FEW,
    "self_ask": FEW,
    "least_to_most": FEW,
    "plan_and_solve": FEW,
    "direct_retrieval": dict.fromkeys(FEW, 0),
    "toolformer": FEW,
    "react": FEW | {"hotpotqa": 6},
    "verify_and_edit": TWO,
    "tree_of_thought": FEW,
    "dsp": TWO | {"multihop": 8, "strategyqa": 8, "slotfilling": 8, "hotpotqa": 16},
    "searchain": TWO,
    "searchain/without_ir": TWO | {"strategyqa": 6},
}


def count_examples(system: str, stage: str, dataset: Dataset) -> int | None:
    """How many examples a stage shows on a data set (SearChain, Table 11); None: all there are."""
    row = TABLE_11.get(f"{system}/{stage}", TABLE_11.get(system, {}))
    return row.get(dataset.name, row.get(dataset.family))


def find_examples(
    folder: str, system: str, stage: str, dataset: Dataset, template: Template
) -> list[str]:
    """The examples that a stage shows: those of `folder` if it has such a file, else of
    prompts/own; none where neither has one (SearChain, Table 11).
    """
    name = Path(system) / f"{stage}.{dataset.family}.txt"
    paths = [Path(resolve(folder)) / name, PROMPTS / "own" / name]
    path = next((path for path in paths if path.is_file()), None)
    shown = () if path is None else read_examples(path, template)
    return list(shown[: count_examples(system, stage, dataset)])


@cache
def read_examples(path: Path, template: Template) -> tuple[str, ...]:
    """The examples of a file, in its order. They are separated by two blank lines; a first line
    that begins with "# " is left out.

    Raises ValueError, in one line, for an example without the words that are around the question in
    the template, and for a file that is no text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").strip("\n")
    except UnicodeDecodeError as error:
        found = f"found bytes that are no UTF-8 ({error})"
        raise ValueError(f"{path}: {found}, expected text") from None
    head = text.partition("\n")[0] if text.startswith("# ") else ""
    examples = text.removeprefix(head).strip("\n").split(BETWEEN_DEMONSTRATIONS)
    form = _form(template)
    for number, example in enumerate(examples, start=1):
        if not form.search(example):
            found = f"found {example.strip()[:60]!r}, expected {_words(template)!r} in it"
            raise ValueError(f"{path}, example {number}: {found}, as in the template of its stage")
    return tuple(example.strip("\n") for example in examples)


def _words(template: Template) -> str:
    """The line of a template with the question, and what is below it."""
    label = "Q: " if template.above.endswith("Q: ") else ""
    return label + template.wording + template.below.partition("{so_far}")[0].rstrip()


def _form(template: Template) -> re.Pattern:
    """What an example has: the words of the template, with anything in the place of its fields."""
    words = re.split(r"\{\w+\}", _words(template))
    return re.compile(r"^" + r".+".join(map(re.escape, words)), re.MULTILINE)
