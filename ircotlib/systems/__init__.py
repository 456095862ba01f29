"""The systems that answer questions: one file each, named as in its paper.

A program is registered by the decorator `system`; what tables and figures say of it is
a row of data/systems.csv. To add a system, add a file (docs/systems.md).
"""

import csv
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from ircotlib.datasets import Dataset
from ircotlib.errors import UserError
from ircotlib.files import SHIPPED, check_name
from ircotlib.plugins import import_plugins
from ircotlib.program import Program

TABLE = SHIPPED / "data" / "systems.csv"
# prompt(question, paragraphs, thoughts=(), **fields) -> text
WritePrompt = Callable[..., str]
Prompts = Mapping[str, WritePrompt]  # by stage
# the papers whose experiments systems are part of
IRCOT, SEARCHAIN = "IRCoT", "SearChain"
ANSWER, RECALL = "answer", "recall"
SETS, EXAMPLES = "sets", "examples"  # what prompts show
# families of systems, by how they look for paragraphs; plug-ins that name none are in
# OWN
CLOSED, ONCE, STEPWISE = "no retrieval", "one retrieval", "step by step"
CHAINED, OWN = "SearChain", "other"
# of data sets
FAMILIES = ("hotpotqa", "multihop", "strategyqa", "slotfilling", "fever", "eli5")
# keywords of programs: how many texts are sampled at a time
DRAWN = ("n", "votes", "queries")


@dataclass(frozen=True)
class System:
    """A program under its paper's name. From `study` on: its row of data/systems.csv,
    if any. `program(question, ...)` gets those of these keywords that it has:
    `prompts`, prompt writers by stage; `read(question, paragraphs)`, the reader; its
    setting; and what a setup offers to all.
    """

    name: str
    program: Callable[..., Program]
    # what the model does in each
    stages: Mapping[str, str] = field(default_factory=dict)
    # the parameters to tune, with the paper's values; m: the number of distractors
    # (IRCoT §4.1)
    grid: Mapping[str, Sequence] = field(default_factory=dict)
    # the program to which it passes all keywords that it does not take itself
    inner: Callable[..., Program] | None = None
    # by which score; RECALL of a system that only returns paragraphs
    tuned_by: str = ANSWER

    study: str = IRCOT  # the paper whose experiments it is part of
    # or SETS; `examples`: how many, by family, or by data
    demonstrated_by: str = EXAMPLES
    # set where it differs; {}: all
    examples: Mapping[str, int] = field(default_factory=dict)
    reported_names: tuple[str, ...] = ()  # in data/reported.csv
    # and which shade of its colour, 0 (darkest) to 2
    family: tuple[str, int] = (OWN, 0)
    order: int = 1000  # its place in tables and figures

    @property
    def module(self) -> str:
        """The name of its file, of its folder in prompts/, and before its parameters."""
        return self.program.__module__.rpartition(".")[2]

    @cached_property
    def defaults(self) -> dict[str, object]:
        """The keywords of its program, and of its inner one, with their defaults."""
        programs = [program for program in (self.inner, self.program) if program]
        named = [
            p for each in programs for p in inspect.signature(each).parameters.values()
        ]
        return {p.name: p.default for p in named if p.kind is not p.VAR_KEYWORD}

    @property
    def tokens(self) -> dict[str, int]:
        """Limits of its generations in tokens; none if its prompts show IRCoT's sets."""
        limits = {} if self.demonstrated_by == SETS else self.defaults
        limits = {
            name: most for name, most in limits.items() if name.endswith("tokens")
        }
        return {name: most for name, most in limits.items() if isinstance(most, int)}

    def draw_at_most(self, most: int | None) -> dict[str, int]:
        """Its keywords that ask for more than `most` texts at a time, set to `most`;
        None: none.
        """
        return {
            name: most for name in DRAWN if most and most < self.defaults.get(name, 0)
        }

    def count_examples(self, dataset: Dataset) -> int | None:
        """How many examples its prompts show on a data set (SearChain, Table 11); None:
        all.
        """
        return self.examples.get(
            dataset.name, self.examples.get(dataset.example_family)
        )

    def measure(self, dataset: Dataset) -> str:
        """The measure of its results: recall if it only retrieves; that of SearChain's
        study, if the data set has it (SearChain §4.1); else the data set's first score.
        """
        if self.tuned_by == RECALL:
            return RECALL
        return dataset.covering if self.study == SEARCHAIN else dataset.measure

    @property
    def reads(self) -> bool:
        """Whether it gets the reader, so that its outcome depends on it."""
        return "read" in self.defaults


@cache
def shipped() -> dict[str, dict]:
    """The rows of data/systems.csv, as fields of records, by name."""
    return {
        row["name"]: {
            "study": row["study"],
            "demonstrated_by": row["demonstrated_by"] or EXAMPLES,
            "examples": {
                family: int(row[family]) for family in FAMILIES if row[family]
            },
            "reported_names": tuple(row["reported_names"].split("; ")),
            "family": (row["family"], int(row["shade"])),
            "order": order,
        }
        for order, row in enumerate(
            csv.DictReader(TABLE.open(encoding="utf-8", newline=""))
        )
    }


def system(
    name: str, *, inner: Callable | None = None, tuned_by: str = ANSWER, **said: object
) -> Callable:
    """Register the program below. Each keyword is a stage that has prompts, with what
    the model does there ("asks itself the next question"), or a parameter that is
    tuned, with its values.
    """
    stages = {key: words for key, words in said.items() if isinstance(words, str)}
    grid = {key: values for key, values in said.items() if key not in stages}

    def register(program: Callable[..., Program]) -> Callable[..., Program]:
        record = System(
            name, program, stages, grid, inner, tuned_by, **shipped().get(name, {})
        )
        vars(sys.modules[program.__module__]).setdefault("SYSTEMS", []).append(record)
        return program

    return register


def all_systems() -> dict[str, System]:
    """The systems of this folder and of plug-ins by name, in the order of tables and
    figures.
    """
    systems = [
        s
        for module in import_plugins("systems")
        for s in getattr(module, "SYSTEMS", ())
    ]
    systems.sort(key=lambda each: (each.order, each.name))
    names = [each.name for each in systems]
    for name in names:
        check_name("system", name.replace("/", ""))  # as in Run.folder
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"found two systems named {twice[0]!r}: rename one")
    return dict(zip(names, systems, strict=True))


def choose_systems(names: Sequence[str] = (), study: str = IRCOT) -> list[System]:
    """The systems of these names, or all of a study. Raises UserError for an unknown
    name.
    """
    systems = all_systems()
    if unknown := [name for name in names if name not in systems]:
        raise UserError(
            f"unknown system {unknown[0]!r}, expected some of {', '.join(systems)}"
        )
    return [
        s for s in systems.values() if (s.name in names if names else s.study == study)
    ]
