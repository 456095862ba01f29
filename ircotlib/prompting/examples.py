"""The examples shown by a stage of a system, for all systems but IRCoT's: one file for each family
of data sets, prompts/own/<system>/<stage>.<family>.txt, or the user's own (prompts/README.md).
"""

import re
from pathlib import Path

from ircotlib.data import read_text
from ircotlib.datasets import Dataset
from ircotlib.errors import DataError
from ircotlib.files.kept import kept_until_changed
from ircotlib.files.paths import PROMPTS, resolve
from ircotlib.prompting.prompt import BETWEEN_DEMONSTRATIONS
from ircotlib.prompting.templates import FIELD, WORDING, Template


def find_examples(
    folder: str, system: str, stage: str, dataset: Dataset, template: Template
) -> tuple[str, ...]:
    """The examples of a stage for a data set's family: from `folder`, else from prompts/own; none
    if the stage has none for any family. Raises FileNotFoundError if only this family lacks them.
    """
    name = Path(system) / f"{stage}.{dataset.example_family}.txt"
    paths = [Path(place) / name for place in (resolve(folder), PROMPTS / "own") if place]
    if path := next((path for path in paths if path.is_file()), None):
        return read_examples(path, template)
    if others := sorted(PROMPTS.glob(f"own/{system}/{stage}.*.txt")):
        families = ", ".join(other.name.split(".")[1] for other in others)
        remedy = f"put it there (prompts/README.md), or give {dataset.name} an example_family"
        raise FileNotFoundError(f"no examples {paths[0]}: {remedy} of {families}")
    return ()


@kept_until_changed(lambda path, template: [path])
def read_examples(path: Path, template: Template) -> tuple[str, ...]:
    """The examples of a file, separated by two blank lines; a first line that begins with "# " is a
    comment. Raises DataError, in one line, for an example that lacks the template's words around
    the question, and for a file that is not text.
    """
    head, _, below = read_text(path).strip("\n").partition("\n")
    text = below if head.startswith("# ") else f"{head}\n{below}"
    examples = text.strip("\n").split(BETWEEN_DEMONSTRATIONS)
    words = template.text[WORDING.search(template.text).start() :].partition("{so_far}")[0].rstrip()
    form = re.compile("^" + ".+".join(map(re.escape, FIELD.split(words)[::2])), re.MULTILINE)
    for number, example in enumerate(examples, start=1):
        if not form.search(example):
            found = f"found {example.strip()[:60]!r}, expected {words!r} in it, as in its template"
            raise DataError(f"{path}, example {number}: {found}")
    return tuple(example.strip("\n") for example in examples)
