"""The systems that answer questions: one file each, named as in its paper.

Each file holds a program and ends with `SYSTEMS`, a tuple of records with all that tuning, tables,
figures and notebooks need to know. To add a system, add a file (docs/systems.md).

Imports: data, datasets, errors, files, metrics, program, prompting, retrieval, text.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ircotlib.data import Hop
from ircotlib.datasets import COVER_EM, Dataset
from ircotlib.errors import UserError
from ircotlib.files.plugins import import_plugins
from ircotlib.program import Program
from ircotlib.text import list_items, sentences

WritePrompt = Callable[..., str]  # prompt(question, paragraphs, thoughts=(), **fields) -> text
Prompts = Mapping[str, WritePrompt]  # by stage
ANSWER, RECALL = "answer", "recall"
SETS, EXAMPLES = "sets", "examples"  # what prompts show
# how many examples prompts show, by family of data sets (SearChain, Table 11)
FOUR_EXAMPLES = {"multihop": 4, "strategyqa": 6, "slotfilling": 4, "fever": 2, "eli5": 2}
TWO_EXAMPLES = dict.fromkeys(FOUR_EXAMPLES, 2)  # SearChain, Table 11
NO_EXAMPLES = dict.fromkeys(FOUR_EXAMPLES, 0)  # SearChain, Table 11
# families of systems: how they look for paragraphs; those of plug-ins, which say nothing, are OWN
CLOSED, ONCE, STEPWISE = "no retrieval", "one retrieval", "step by step"
CHAINED, OWN = "SearChain", "own"


@dataclass(frozen=True)
class Study:
    """A paper whose experiments systems are part of. `measure`: its measure of answers, where a
    data set has it; "": the data set's first. `by_agent`: whether the small agent, if there is one,
    plays its systems. `whole_texts`: whether an answer may be the whole text that was written, if
    no fault says otherwise; else such a text was not parsed, though it is scored.
    """

    name: str
    measure: str = ""
    by_agent: bool = False
    whole_texts: bool = False


IRCOT = Study("IRCoT")
SEARCHAIN = Study("SearChain", measure=COVER_EM, by_agent=True, whole_texts=True)  # its §4.1


@dataclass(frozen=True)
class System:
    """The record of a system, under its paper's name: what its program needs, then what its study
    says of it.

    `program(question, ...)` gets, by keyword, what it takes of: `prompts`, its prompt writers by
    stage; `read(question, paragraphs)`, the reader; its setting; and what a bench offers to all
    (`Setup.ambient`).
    """

    name: str
    program: Callable[..., Program]
    # the program to which it passes all keywords that it does not take itself
    inner: Callable[..., Program] | None = None
    # its templates, and what traces say that it does at each stage ("writes the next sentence"), if
    # more than the stage: prompts/<templates>/<stage>.txt, by default in a folder named as its file
    stages: Mapping[str, str] | tuple[str, ...] = ()
    templates: str = ""
    # whether its own prompts show IRCoT's SETS of demonstrations or EXAMPLES
    demonstrated_by: str = EXAMPLES
    # how many examples, by family of data sets, or by data set where one differs; {}: all
    examples: Mapping[str, int] = field(default_factory=dict)
    # the parameters to tune, with the paper's values; m: the number of distractors (IRCoT §4.1)
    grid: Mapping[str, Sequence] = field(default_factory=dict)
    # what it has besides its grid where all systems have equal tools (ours): "k" is tuned, as that
    # of all others is; "extract": the extractive reader answers its sub-questions
    equal: tuple[str, ...] = ()
    # by which score: that of ANSWERs, or RECALL for a system that only returns paragraphs
    tuned_by: str = ANSWER
    # the most texts that the model writes for one question, with the program's own constants;
    # 0: `max_steps`, or one per stage
    generations: int = 0
    # its keywords for the most tokens of a generation; (): the style's (IRCoT's released program)
    limits: tuple[str, ...] = ("max_tokens",)
    # its keywords for the number of texts that it samples at a time
    draws: tuple[str, ...] = ()

    # whose experiments it is part of
    study: Study = IRCOT
    # its names in data/reported.csv; (): its own
    reported: tuple[str, ...] = ()
    # the systems that its paper says it outperforms by the same measure
    better_than: tuple[str, ...] = ()
    # how and where figures draw it: its family, and which shade of its colour, 0 (darkest) to 2; or
    # a colour of its own
    family: tuple[str, int] = (OWN, 0)
    color: str = ""
    order: int = 1000

    @property
    def module(self) -> str:
        """The name of its file, which its grid's parameters begin with."""
        return self.program.__module__.rpartition(".")[2]

    def purpose(self, stage: str) -> str:
        """What the model does at one of its stages, in words ("SearChain writes its answer")."""
        words = self.stages[stage] if isinstance(self.stages, Mapping) else f"writes: {stage}"
        return f"{self.name} {words}"

    @property
    def folder(self) -> str:
        """The folder of its templates, in prompts/."""
        return self.templates or self.module

    @cached_property
    def defaults(self) -> dict[str, object]:
        """The keywords of its program, and of its inner one, with their defaults."""
        programs = [program for program in (self.inner, self.program) if program]
        signatures = [inspect.signature(program).parameters for program in programs]
        named = [item for parameters in signatures for item in parameters.items()]
        return {name: p.default for name, p in named if p.kind is not p.VAR_KEYWORD}

    def takes(self, name: str) -> bool:
        """Whether its program gets a keyword."""
        return name in self.defaults

    @property
    def tokens(self) -> dict[str, int]:
        """The limits of its generations in tokens that its program states, by keyword."""
        stated = {name: self.defaults[name] for name in self.limits if self.takes(name)}
        return {name: most for name, most in stated.items() if isinstance(most, int)}

    def draw_at_most(self, most: int | None) -> dict[str, int]:
        """Its `draws` that ask for more than `most` texts at a time, set to `most`; None: none."""
        return {name: most for name in self.draws if most and most < self.defaults[name]}

    def count_examples(self, dataset: Dataset) -> int | None:
        """How many examples its prompts show on a data set; None: all."""
        return self.examples.get(dataset.name, self.examples.get(dataset.example_family))

    def measure(self, dataset: Dataset) -> str:
        """The measure of its results: recall if it only retrieves, else that of its study, if the
        data set has it, else the data set's first score.
        """
        if self.tuned_by == RECALL:
            return RECALL
        own = self.study.measure
        return own if own in dataset.scores else next(iter(dataset.scores))

    @property
    def reported_names(self) -> tuple[str, ...]:
        """Its names in data/reported.csv."""
        return self.reported or (self.name,)

    @property
    def reads(self) -> bool:
        """Whether it gets the reader, so that its outcome depends on it."""
        return self.takes("read")

    @property
    def shows_sets(self) -> bool:
        """Whether its outcome depends on which of IRCoT's three demonstration sets is shown."""
        return self.reads or self.demonstrated_by == SETS


def read_hops(*texts: str) -> tuple[Hop, ...]:
    """The hops of what was written as prose: its sentences, and the items of its lists."""
    lines = [line for text in texts for line in text.splitlines()]
    return tuple(Hop(text) for line in lines for text in (list_items(line) or sentences(line)))


def all_systems() -> dict[str, System]:
    """The systems of this folder and of plug-ins by name, in the order of tables and figures."""
    modules = import_plugins("systems")
    systems = [system for module in modules for system in getattr(module, "SYSTEMS", ())]
    systems.sort(key=lambda system: (system.order, system.name))
    names = [system.name for system in systems]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"found two systems named {twice[0]!r}: rename one")
    for system in systems:
        if unknown := [worse for worse in system.better_than if worse not in names]:
            claimed = f"found that {system.name!r} is better than {unknown[0]!r}"
            raise UserError(f"{claimed}, which is no system; expected some of {', '.join(names)}")
    return dict(zip(names, systems, strict=True))


def choose_systems(names: Sequence[str] = (), study: Study = IRCOT) -> list[System]:
    """The systems of these names, or all of a study. Raises UserError for an unknown name."""
    systems = all_systems()
    if unknown := [name for name in names if name not in systems]:
        raise UserError(f"found the system {unknown[0]!r}, expected some of {', '.join(systems)}")
    if names:
        return [system for name, system in systems.items() if name in names]
    return [system for system in systems.values() if system.study == study]
