"""The systems that answer questions: one file each, named as in its paper.

A program is registered by the decorator `system`; what tables and figures say of it is
a row of data/systems.csv. To add a system, add a file (docs/systems.md).
"""

import csv
import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from ircotlib.datasets import Dataset
from ircotlib.errors import UserError
from ircotlib.files import SHIPPED, check_name
from ircotlib.plugins import declare, find_records
from ircotlib.program import Program, Prompt

TABLE = SHIPPED / "data" / "systems.csv"
# prompt(question, paragraphs, thoughts=(), **fields)
WritePrompt = Callable[..., Prompt]
Prompts = Mapping[str, WritePrompt]  # by stage
# the papers whose experiments systems are part of; systems of the other two groups run
# only where they are named
IRCOT, SEARCHAIN = "IRCoT", "SearChain"
WILD, NEWER = "in the wild", "newer methods"
ANSWER, RECALL = "answer", "recall"
SETS, EXAMPLES = "sets", "examples"  # what prompts show
# families of systems, by how they look for paragraphs; OWN: of one without a family
CLOSED, ONCE, STEPWISE = "no retrieval", "one round of retrieval", "step by step"
CHAINED, OWN = "SearChain", "other"
# of data sets
FAMILIES = ("hotpotqa", "multihop", "strategyqa", "slotfilling", "fever", "eli5")


@dataclass(frozen=True)
class System:
    """A program under its paper's name. From `study` on: its row of data/systems.csv.
    `program(question, ...)` gets those of these keywords that it has: `prompts`, prompt
    writers by stage; `read(question, paragraphs)`, the reader; its setting; and what a
    setup has for all (`Run.arguments`).
    """

    name: str
    program: Callable[..., Program]
    # what the model does in each
    stages: Mapping[str, str] = field(default_factory=dict)
    # what is tuned, with the paper's values; m: the number of distractors (IRCoT §4.1)
    grid: Mapping[str, Sequence] = field(default_factory=dict)
    # the program to which it passes all keywords that it does not take itself
    inner: Callable[..., Program] | None = None
    tuned_by: str = ANSWER  # or RECALL: it only returns paragraphs
    draws: Sequence[str] = ()  # its keywords: how many texts are sampled at a time
    limits: Sequence[str] = ()  # and tokens of a generation, beside max_tokens

    study: str = IRCOT  # the paper whose experiments it is part of, or a group
    paper: str = ""  # authors or project, year, link
    demonstrated_by: str = EXAMPLES  # or SETS
    # how many examples, by family or data set; {}: all
    examples: Mapping[str, int] = field(default_factory=dict)
    reported_names: tuple[str, ...] = ()  # in data/reported.csv
    family: tuple[str, int] = (OWN, 0)  # and a shade of its colour, 0 (darkest) to 2
    order: int = 1000  # its place in tables and figures

    @property
    def folder(self) -> str:
        """Its name in the folders of its runs."""
        return self.name.replace(" ", "-").replace("/", "")

    @property
    def module(self) -> str:
        """The name of its file and of its parameters."""
        return self.program.__module__.rpartition(".")[2]

    @property
    def templates(self) -> str:
        """The folder of its templates: IRCoT's if its prompts show IRCoT's sets."""
        return "ircot" if self.demonstrated_by == SETS else self.module

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The keywords of its program, and of its inner one, with their defaults."""
        keywords = {}
        for program in filter(None, (self.inner, self.program)):
            for parameter in inspect.signature(program).parameters.values():
                if parameter.kind is not parameter.VAR_KEYWORD:
                    keywords[parameter.name] = parameter.default
        return keywords

    @property
    def tokens(self) -> dict[str, int]:
        """Limits of its generations in tokens; none if prompts show IRCoT's sets."""
        if self.demonstrated_by == SETS:
            return {}
        return self._numbers("max_tokens", *self.limits)

    def draw_at_most(self, most: int | None) -> dict[str, int]:
        """Its keywords that ask for more than `most` texts at a time, set to that."""
        if most is None:
            return {}
        asked = self._numbers(*self.draws)
        return {name: most for name, count in asked.items() if most < count}

    def _numbers(self, *names: str) -> dict[str, int]:
        """Those of its keywords that have a number as default."""
        defaults = {name: self.defaults.get(name) for name in names}
        return {name: n for name, n in defaults.items() if isinstance(n, int)}

    def count_examples(self, dataset: Dataset) -> int | None:
        """How many examples its prompts show (SearChain, Table 11); None: all."""
        of_family = self.examples.get(dataset.example_family)
        return self.examples.get(dataset.name, of_family)

    def measure(self, dataset: Dataset) -> str:
        """The measure of its results: recall if it only retrieves; else the data set's,
        for SearChain's study that of SearChain §4.1.
        """
        if self.tuned_by == RECALL:
            return RECALL
        return dataset.covering if self.study == SEARCHAIN else dataset.measure

    @property
    def reads(self) -> bool:
        """Whether it gets the reader, so that its outcome depends on it."""
        return "read" in self.defaults


@cache
def shipped() -> dict[str, dict[str, Any]]:
    """The rows of data/systems.csv, as fields of records, by name."""
    records = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for order, row in enumerate(csv.DictReader(file)):
            counts = {name: int(row[name]) for name in FAMILIES if row[name]}
            records[row["name"]] = {
                "study": row["study"],
                "paper": row["paper"],
                "demonstrated_by": row["demonstrated_by"] or EXAMPLES,
                "examples": counts,
                "reported_names": tuple(
                    filter(None, row["reported_names"].split("; "))
                ),
                "family": (row["family"], int(row["shade"])),
                "order": order,
            }
    return records


def system(
    name: str,
    *,
    inner: Callable[..., Program] | None = None,
    tuned_by: str = ANSWER,
    draws: Sequence[str] = (),
    limits: Sequence[str] = (),
    **stages_and_grid: str | Sequence,
) -> Callable:
    """Register the program below. Each further keyword is a stage that has prompts,
    with what the model does there ("asks itself the next question"), or a parameter
    that is tuned, with its values. `draws`, `limits`: see `System`; a profile's
    `samples` and the model's window lower the program's defaults.
    """
    if not isinstance(name, str):
        raise UserError(f"@system: found {name!r:.60}, expected @system(name)")
    given = stages_and_grid.items()
    stages = {name: does for name, does in given if isinstance(does, str)}
    grid = {name: values for name, values in given if not isinstance(values, str)}

    def register(program: Callable[..., Program]) -> Callable[..., Program]:
        row = shipped().get(name, {})
        record = System(
            name, program, stages, grid, inner, tuned_by, draws, limits, **row
        )
        declare("SYSTEMS", record, program.__module__)
        return program

    return register


def all_systems() -> dict[str, System]:
    """The systems by name, in the order of tables and figures: of this folder, of
    plug-ins, and of a notebook's cells.
    """
    records = find_records("systems", "SYSTEMS", System)
    records.sort(key=lambda record: (record.order, record.name))
    folders: dict[str, str] = {}  # the names of systems by folder, in whatever case
    for record in records:
        check_name("system", record.folder)
        other = folders.setdefault(record.folder.casefold(), record.name)
        if other != record.name:
            raise UserError(
                f"found two systems named {other!r} and {record.name!r}, whose runs "
                "would be in one folder: rename one"
            )
    return {record.name: record for record in records}


def find_system(name: str | System) -> System:
    """The system of a name, in whatever case. Raises UserError for an unknown one."""
    if isinstance(name, System):
        return name
    systems = {known.casefold(): system for known, system in all_systems().items()}
    if name.casefold() in systems:
        return systems[name.casefold()]
    near = difflib.get_close_matches(name.casefold(), systems, n=3) or [*systems]
    names = ", ".join(systems[each].name for each in near)
    raise UserError(f"unknown system {name!r}, expected {names}")


def choose_systems(
    names: str | Sequence[str | System] = (), study: str = IRCOT
) -> list[System]:
    """The systems of these names, or of one, in the order of tables; without names all
    of a study. Raises UserError for an unknown name.
    """
    named = [names] if isinstance(names, str) and names else names
    if not named:
        return [each for each in all_systems().values() if each.study == study]
    chosen = {each.name: each for each in map(find_system, named)}
    return sorted(chosen.values(), key=lambda each: (each.order, each.name))
