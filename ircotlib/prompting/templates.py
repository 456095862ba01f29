"""Templates: what a stage of a system shows the model (IRCoT §3.1, App. G).

A template is a file, prompts/<system>/<stage>.txt, with the fields {demonstrations}, {paragraphs},
{question} and {so_far}. For a style of prompting, <stage>.<style>.txt is used instead if it exists.
The text below {demonstrations} is filled for each demonstration and, last, for the test question:

Wikipedia Title: <title>        paragraphs are joined by one blank line,
<text>                          demonstrations by two

Q: <question>
A: <chain of thought or answer>
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ircotlib.files.paths import PROMPTS
from ircotlib.prompting.packing import Part

BETWEEN_PARAGRAPHS = "\n\n"
FIELDS = re.compile(r"(\{\w+\})")
WORDING = re.compile(r"^(?:Q: )?(.*\{question\}.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Template:
    """What a stage of a system shows the model.

    `above`: the text from {paragraphs} to "Q: " and the instruction, if there is one. `wording`:
    how the question is asked, usually "{question}". `below`: the text from there to {so_far}.
    """

    above: str
    wording: str
    below: str

    @property
    def instruction(self) -> str | None:
        """The instruction above each question (IRCoT App. G); None if there is none."""
        return self.above.partition("Q: ")[2].rstrip("\n") or None

    def ask(self, question: str, /, **fields: object) -> str:
        """The question in the stage's wording; `fields`: values of the wording's other fields."""
        return self.wording.format_map(_Braces(fields, question=question))

    def render(
        self, paragraphs: Sequence[str], asked: str, so_far: str = "", /, **fields: object
    ) -> str:
        """Render one example of a prompt, right-stripped: paragraphs, question and the answer so
        far. `fields`: values of the template's other fields.
        """
        shown = "".join(paragraph + BETWEEN_PARAGRAPHS for paragraph in paragraphs)
        values = fields | {"paragraphs" + BETWEEN_PARAGRAPHS: shown, "so_far": so_far}
        above, below = (_fill(text, values) for text in (self.above, self.below))
        return (above + asked + below).rstrip()

    def above_parts(self, paragraphs: Sequence[Part], /, **fields: object) -> list[Part]:
        """The parts above the question, in order. If a prompt is too long, the template's own words
        stay and the values of its fields may be dropped; each paragraph says whether it stays.
        """
        parts = []
        for text in FIELDS.split(self.above.replace("{paragraphs}\n\n", "{paragraphs}")):
            parts += paragraphs if text == "{paragraphs}" else [_part(text, fields)]
        return parts

    def below_parts(self, asked: str, /, **fields: object) -> list[Part]:
        """The question and the parts between it and the answer so far; see `above_parts`."""
        texts = FIELDS.split(self.below.partition("{so_far}")[0])
        return [Part(asked), *(_part(text, fields) for text in texts)]


def _part(text: str, fields: Mapping[str, object]) -> Part:
    filled = _fill(text, fields)
    return Part(filled, filled == text)


def _fill(text: str, values: Mapping[str, object]) -> str:
    """Replace {name} in a text by its value; fields inside a value are not replaced. The value of
    {paragraphs} also replaces the blank line below it.
    """

    def value(found: re.Match) -> str:
        name = found[1] + (found[2] if found[1] == "paragraphs" else "")
        rest = "" if found[1] == "paragraphs" else found[2]
        return str(values[name]) + rest if name in values else found[0]

    return re.sub(r"\{(\w+)\}((?:\n\n)?)", value, text)


@cache
def read_template(system: str, stage: str, style: str = "") -> Template:
    """Read the template of a stage of a system, that of the style if there is one (prompts/).
    Raises FileNotFoundError if there is no template, ValueError if it has no question.
    """
    names = [f"{stage}.{style}.txt", f"{stage}.txt"]
    paths = [PROMPTS / system / name for name in names]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"no template {paths[-1]}: expected the text of stage {stage!r}")
    text = path.read_text(encoding="utf-8").strip("\n")
    example = text.removeprefix("{demonstrations}").lstrip("\n")
    wording = WORDING.search(example)
    if wording is None:
        raise ValueError(f"{path}: found no line with {{question}}, expected one")
    return Template(example[: wording.start(1)], wording[1], example[wording.end(1) :])


class _Braces(dict):
    """Leaves fields without a value as they are."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"
