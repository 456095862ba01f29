"""Templates: what a stage of a system shows the model (IRCoT §3.1, App. G).

A template is a file, prompts/<system>/<stage>.txt, with the fields {demonstrations}, {paragraphs},
{question} and {so_far}; <stage>.<style>.txt takes its place for a style of prompting that has one.
Each demonstration, and last the question asked, is written as what follows {demonstrations}:

Wikipedia Title: <title>        paragraphs are joined by one blank line,
<text>                          demonstrations by two

Q: <question>
A: <chain of thought or answer>
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ircotlib.packing import Part
from ircotlib.paths import PROMPTS

BETWEEN_PARAGRAPHS = "\n\n"
FIELDS = re.compile(r"(\{\w+\})")
WORDING = re.compile(r"^(?:Q: )?(.*\{question\}.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Template:
    """What a stage of a system shows the model.

    `above`: from {paragraphs} to "Q: ", and an instruction if there is one; `wording`: how the
    question is asked, usually "{question}"; `below`: from there to {so_far}.
    """

    above: str
    wording: str
    below: str

    @property
    def instruction(self) -> str | None:
        """The line above each question (IRCoT App. G); None: there is none."""
        return self.above.partition("Q: ")[2].rstrip("\n") or None

    def ask(self, question: str, /, **fields: object) -> str:
        """The question as this stage puts it; `fields`: others that the wording has."""
        return self.wording.format_map(_Braces(fields, question=question))

    def render(
        self, paragraphs: Sequence[str], asked: str, so_far: str = "", /, **fields: object
    ) -> str:
        """One example of a prompt, right-stripped: paragraphs, question and the answer so far;
        `fields`: what else the template has.
        """
        shown = "".join(paragraph + BETWEEN_PARAGRAPHS for paragraph in paragraphs)
        values = fields | {"paragraphs" + BETWEEN_PARAGRAPHS: shown, "so_far": so_far}
        above, below = (_fill(text, values) for text in (self.above, self.below))
        return (above + asked + below).rstrip()

    def above_parts(self, paragraphs: Sequence[Part], /, **fields: object) -> list[Part]:
        """What is above the question, in order; the template's own words stay where a prompt is too
        long, what fills its fields does not; of paragraphs each says it itself.
        """
        parts = []
        for text in FIELDS.split(self.above.replace("{paragraphs}\n\n", "{paragraphs}")):
            parts += paragraphs if text == "{paragraphs}" else [_part(text, fields)]
        return parts

    def below_parts(self, asked: str, /, **fields: object) -> list[Part]:
        """The question, and what is between it and the answer so far, like `above_parts`."""
        texts = FIELDS.split(self.below.partition("{so_far}")[0])
        return [Part(asked), *(_part(text, fields) for text in texts)]


def _part(text: str, fields: Mapping[str, object]) -> Part:
    filled = _fill(text, fields)
    return Part(filled, filled == text)


def _fill(text: str, values: Mapping[str, object]) -> str:
    """A text with {name} replaced by its value, once: what a value holds is left as it is. The
    field {paragraphs} takes the blank line below it along.
    """

    def value(found: re.Match) -> str:
        name = found[1] + (found[2] if found[1] == "paragraphs" else "")
        rest = "" if found[1] == "paragraphs" else found[2]
        return str(values[name]) + rest if name in values else found[0]

    return re.sub(r"\{(\w+)\}((?:\n\n)?)", value, text)


@cache
def read_template(system: str, stage: str, style: str = "") -> Template:
    """The template of a stage of a system, for a style where there is one for it (prompts/)."""
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
    """Leaves fields that are not given as they are written."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"
