"""The systems that answer questions: one file each, named as in its paper.

Each file holds a program and ends with `SYSTEMS`, a tuple of records with all that tuning, tables,
figures and notebooks need to know. To add a system, add a file (docs/systems.md).
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ircotlib.errors import UserError
from ircotlib.files.modules import import_modules
from ircotlib.program import Program

ANSWER, RECALL = "answer", "recall"
IRCOT, SEARCHAIN = "IRCoT", "SearChain"
TEMPLATES = "ircot"  # its templates are also the readers'; its demonstrations come in sets
DRAWN = ("n", "queries", "votes")  # keywords of programs: how many texts they sample at a time
PASSED_ON = ("prompts", "max_tokens", "max_steps", "sentence", "released")


@dataclass(frozen=True)
class System:
    """The record of a system, under its paper's name.

    `program(question, ...)` gets, by keyword, what it takes of: `prompts`, its prompt writers by
    stage; `read(question, paragraphs)`, the reader; its setting; and what a bench offers to all
    (`Bench.ambient`). `stages`: its templates, prompts/<module>/<stage>.txt. `grid`: the parameters
    to tune, with the paper's values; "m" is the number of distractors in demonstrations.
    `tuned_by`: RECALL for a system that only returns paragraphs. `better_than`: the systems that
    its paper says it outperforms by the same measure. `reported`: its names in data/reported.csv.
    `study`: the paper whose experiments it is part of, IRCOT or SEARCHAIN. `generations`: the most
    texts that the model writes for one question, with the program's own constants; 0: `max_steps`,
    or one per stage. Figures draw systems by `order`, in `color`.
    """

    name: str
    program: Callable[..., Program]
    stages: tuple[str, ...] = ()
    grid: Mapping[str, Sequence] = field(default_factory=dict)
    tuned_by: str = ANSWER
    better_than: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    study: str = IRCOT
    generations: int = 0
    color: str = "#7d6bb0"
    order: int = 1000

    @property
    def module(self) -> str:
        """The name of its file, which is also that of its prompts and of its grid's parameters."""
        return self.program.__module__.rpartition(".")[2]

    @property
    def keywords(self) -> Mapping[str, inspect.Parameter]:
        """The arguments of its program, by name."""
        return inspect.signature(self.program).parameters

    def takes(self, name: str) -> bool:
        """Whether its program gets a keyword: one that it names, or, if it passes keywords on to
        another program, one of PASSED_ON.
        """
        passes_on = any(one.kind is one.VAR_KEYWORD for one in self.keywords.values())
        return name in self.keywords or (passes_on and name in PASSED_ON)

    @property
    def tokens(self) -> dict[str, int]:
        """The limits of its generations: its program's keywords that end in "tokens", with their
        defaults.
        """
        limits = [one for name, one in self.keywords.items() if name.endswith("tokens")]
        return {one.name: one.default for one in limits if one.default is not one.empty}

    def draw_at_most(self, most: int | None) -> dict[str, int]:
        """The keywords that limit how many texts it samples at a time to `most`, if its paper
        samples more; None: no limit.
        """
        drawn = [one for name, one in self.keywords.items() if name in DRAWN]
        return {one.name: most for one in drawn if most and most < one.default}

    @property
    def reads(self) -> bool:
        """Whether it gets the reader, so that its outcome depends on it."""
        return self.takes("read")

    @property
    def shows_sets(self) -> bool:
        """Whether its outcome depends on which of IRCoT's three demonstration sets is shown."""
        return self.reads or bool(self.stages and self.module == TEMPLATES)


def all_systems() -> dict[str, System]:
    """The systems of this folder by name, in the order of tables and figures."""
    modules = import_modules(__name__, tuple(__path__))
    systems = [system for module in modules for system in getattr(module, "SYSTEMS", ())]
    ordered = {system.name: system for system in sorted(systems, key=lambda s: (s.order, s.name))}
    if len(ordered) < len(systems):
        names = sorted(system.name for system in systems)
        raise ValueError(f"found two systems of one name among {', '.join(names)}: rename one")
    return ordered


def choose_systems(names: Sequence[str] = (), study: str = IRCOT) -> list[System]:
    """The systems of these names, or all of a study if none is given. Raises UserError for an
    unknown name.
    """
    systems = all_systems()
    if unknown := [name for name in names if name not in systems]:
        raise UserError(f"found the system {unknown[0]!r}, expected some of {', '.join(systems)}")
    if names:
        return [system for name, system in systems.items() if name in names]
    return [system for system in systems.values() if system.study == study]
