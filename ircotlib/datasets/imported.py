"""The questions that imported runs answered (docs/real_outputs.md), in the form of a user's own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import QuestionContext
from ircotlib.datasets.own import read_own, write_lines

FILE = "imported.jsonl"  # in data_dir/<data set>/


@dataclass(frozen=True)
class Collected:
    """The paragraphs of these questions, by id, in place of an index: nothing is searched in it."""

    paragraphs: Mapping[str, Paragraph]

    @property
    def corpus(self) -> "Collected":
        return self

    def find(self, id: str) -> Paragraph:
        """The paragraph with this id; KeyError if there is none."""
        return self.paragraphs[id]


def read_imported(path: Path, dataset: str) -> tuple[list[Question], Collected]:
    """The questions of a file that `write_imported` wrote, and their paragraphs."""
    examples = list(read_own(path))
    paragraphs = {page.id: page for _, context in examples for page in context}
    return [replace(asked, dataset=dataset) for asked, _ in examples], Collected(paragraphs)


def write_imported(folder: Path, dataset: str, asked: Iterable[QuestionContext]) -> None:
    """Write the questions of a data set, each with the paragraphs that it needs and those that were
    collected for it. A gold paragraph that is not among these is lost.
    """
    write_lines(Path(folder) / dataset / FILE, asked)
