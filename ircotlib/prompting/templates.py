"""Templates: what a stage of a system shows the model (IRCoT §3.1, App. G).

A template is a file, prompts/<system>/<stage>.txt, with the fields {demonstrations},
{paragraphs}, {question} and {so_far}. For a style of prompting, <stage>.<style>.txt is
used instead if it exists. The text below {demonstrations} is filled for each
demonstration and, last, for the test question:

Wikipedia Title: <title>        paragraphs are joined by one blank line,
<text>                          demonstrations by two

Q: <question>
A: <chain of thought or answer>
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ircotlib.errors import DataError
from ircotlib.files import PROMPTS, plugin_folder
from ircotlib.prompting.packing import ABOVE, BELOW, WRITTEN, Segment

BETWEEN_PARAGRAPHS = "\n\n"
FIELD = re.compile(r"\{(\w+)\}")
WORDING = re.compile(r"^(?:Q: )?(.*\{question\}.*)$", re.MULTILINE)
INSTRUCTION = re.compile(r"^Q: (.+)\n.*\{question\}", re.MULTILINE)


@dataclass(frozen=True)
class Template:
    """A template's file below {demonstrations}, with one line with {question}."""

    text: str

    @cached_property
    def wording(self) -> str:
        """The line that asks the question, without "Q: "."""
        return WORDING.findall(self.text)[0]

    @property
    def instruction(self) -> str | None:
        """The instruction above each question (IRCoT App. G); None if there is none."""
        return next(iter(INSTRUCTION.findall(self.text)), None)

    def ask(self, question: str, /, **fields: object) -> str:
        """The question in the stage's wording, which may have other fields."""
        values = {"question": question, **fields}
        return FIELD.sub(lambda field: str(values[field[1]]), self.wording)

    def fill(
        self,
        paragraphs: Sequence[Segment],
        wording: str,
        so_far: str = "",
        /,
        **fields: object,
    ) -> list[Segment]:
        """The segments of one example of a prompt; other fields may be cut."""
        # the blank line below {paragraphs} belongs to the paragraphs
        text = self.text.replace("{paragraphs}" + BETWEEN_PARAGRAPHS, "{paragraphs}")
        above, _, below = text.partition(self.wording)
        segments = []
        for kind, part in ((ABOVE, above), (BELOW, below)):
            for position, piece in enumerate(FIELD.split(part)):
                if position % 2 == 0:  # between fields
                    segments.append(Segment(piece))
                elif piece == "paragraphs":
                    segments += paragraphs
                elif piece == "so_far":
                    segments.append(Segment(so_far, WRITTEN))
                else:
                    segments.append(Segment(str(fields[piece]), kind))
            if kind == ABOVE:
                segments.append(Segment(wording))
        return segments


def read_template(system: str, stage: str, style: str = "") -> Template:
    """The template of a stage of a system, for the style if there is one (prompts/)."""
    folder = PROMPTS / system
    beside_plugin = plugin_folder() / "prompts" / system
    if not folder.is_dir() and beside_plugin.is_dir():
        folder = beside_plugin
    path = folder / f"{stage}.{style}.txt"
    if not path.is_file():
        path = folder / f"{stage}.txt"
    text = path.read_text(encoding="utf-8").strip("\n").removeprefix("{demonstrations}")
    if not WORDING.search(text):
        raise DataError(f"{path}: found no line with {{question}}, expected one")
    return Template(text.lstrip("\n"))
