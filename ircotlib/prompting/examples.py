"""The examples shown by a stage of a system, for all systems but IRCoT's: one file for each family
of data sets, prompts/own/<system>/<stage>.<family>.txt, or the user's own (prompts/README.md).
"""

import re
from functools import cache
from pathlib import Path

from ircotlib.datasets import Dataset
from ircotlib.files.paths import PROMPTS, resolve
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS
from ircotlib.prompting.templates import Template

# The number of examples (SearChain, Table 11), by family, or by data set where one differs from its
# family. `FEW`: most systems. Systems that are not in the table show all examples.
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
    """How many examples a stage shows on a data set (SearChain, Table 11); None: all."""
    row = TABLE_11.get(f"{system}/{stage}", TABLE_11.get(system, {}))
    return row.get(dataset.name, row.get(dataset.example_family))


def find_examples(
    folder: str, system: str, stage: str, dataset: Dataset, template: Template
) -> list[str]:
    """The examples that a stage shows, as many as Table 11 of SearChain says: from `folder` if it
    has the file, else from prompts/own; none if neither has it.
    """
    name = Path(system) / f"{stage}.{dataset.example_family}.txt"
    paths = [Path(resolve(folder)) / name, PROMPTS / "own" / name]
    path = next((path for path in paths if path.is_file()), None)
    shown = () if path is None else read_examples(path, template)
    return list(shown[: count_examples(system, stage, dataset)])


@cache
def read_examples(path: Path, template: Template) -> tuple[str, ...]:
    """The examples of a file, in its order. They are separated by two blank lines; a first line
    that begins with "# " is a comment.

    Raises ValueError, in one line, for an example that lacks the template's words around the
    question, and for a file that is not text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").strip("\n")
    except UnicodeDecodeError as error:
        found = f"found bytes that are not UTF-8 ({error})"
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
    """The line of a template with the question, and the text below it."""
    label = "Q: " if template.above.endswith("Q: ") else ""
    return label + template.wording + template.below.partition("{so_far}")[0].rstrip()


def _form(template: Template) -> re.Pattern:
    """A pattern for examples: the words of the template, with any text in place of its fields."""
    words = re.split(r"\{\w+\}", _words(template))
    return re.compile(r"^" + r".+".join(map(re.escape, words)), re.MULTILINE)
