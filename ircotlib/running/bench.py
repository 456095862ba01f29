"""A bench is all that a run needs: a data set, a retriever, a model, prompts and the call cache."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from ircotlib.data import Question
from ircotlib.datasets import Dataset, find_dataset
from ircotlib.datasets.pooled import digest
from ircotlib.errors import UserError
from ircotlib.files.paths import DATA
from ircotlib.generation.budget import Price, find_price
from ircotlib.parameters import MAIN, Parameters
from ircotlib.playing.cache import Calls
from ircotlib.playing.exported import Replaying, open_calls
from ircotlib.prompting import demonstrations as sets
from ircotlib.prompting.prompt import STYLES, Prompt, Style
from ircotlib.prompting.templates import Template, read_template
from ircotlib.running.backends import open_dataset, open_model, open_reading
from ircotlib.running.identity import identity
from ircotlib.systems import SETS, System
from ircotlib.systems.readers import READER

OF_MUSIQUE = 2_417  # questions: how many to expect where all of a file are asked


@dataclass(frozen=True)
class Bench:
    """All that a run on a data set needs. `name_bench` says which one, and reads nothing; `open`
    gives it questions, retriever, models and the call cache.

    `experiment`: the notebook whose runs these are. `shown`: the data set whose demonstrations are
    shown, None for its own (IRCoT §5, OOD). `grid_of`: which grid is tuned, MAIN, SCALE, OOD or
    EQUAL. `dev`, `test`: its questions, none before it is opened. `model`: None for retrieval only.
    `extractor`, `duplicates`: None if nothing extracts answers or detects duplicate queries.
    """

    parameters: Parameters
    dataset: Dataset
    experiment: str
    shown: Dataset | None = None
    grid_of: str = MAIN
    dev: Sequence[Question] = ()
    test: Sequence[Question] = ()
    retriever: object = None
    calls: Calls | Replaying | None = None
    model: object = None
    extractor: object = None
    duplicates: object = None

    def open(self, with_model: bool = True, calls: Calls | Replaying | None = None) -> "Bench":
        """The bench, opened; itself if it is. `calls`: None for the call cache of this machine."""
        if self.retriever is not None:
            return self
        p, name = self.parameters, self.dataset.name
        dev, test, retriever = open_dataset(p, name)
        calls = open_calls(DATA / "calls.sqlite") if calls is None else calls
        opened = replace(self, dev=dev, test=test, retriever=retriever, calls=calls)
        if not with_model:
            return opened
        extractor, duplicates = open_reading(p, name)
        return replace(opened, model=open_model(p), extractor=extractor, duplicates=duplicates)

    @property
    def runs(self) -> Path:
        """The folder of this bench's runs."""
        which = self.experiment, self.shown and self.shown.name, self.grid_of
        return runs_folder(self.parameters, *which) / self.dataset.name

    @property
    def price(self) -> Price | None:
        """The price of its model; None: it costs nothing, or what it costs is not known."""
        p = self.parameters
        return find_price(p.model, p.prices) if p.server or p.prices else None

    def count(self, part: str) -> int:
        """How many "dev" or "test" questions it has; before it is opened, as its parameters say."""
        if self.retriever is None:
            return self.parameters.dev if part == "dev" else self.parameters.test or OF_MUSIQUE
        return len(self.dev if part == "dev" else self.test)

    @cached_property
    def questions_hash(self) -> str:
        """A hash of its questions, with their answers and gold paragraphs."""
        return digest(repr((self.dev, self.test)), 32)

    @cached_property
    def is_as_named(self) -> bool:
        """Whether another process that is told its names and parameters opens the same bench."""
        unknown = None in [backend.fingerprint for backend in self.backends]
        if unknown or self.calls.path != str(DATA / "calls.sqlite"):
            return False
        named = {"shown": self.shown and self.shown.name, "grid_of": self.grid_of}
        return open_bench(self.parameters, self.dataset.name, self.experiment, **named) == self

    @property
    def backends(self) -> list:
        """The backends that answer the requests of its programs."""
        every = (self.retriever, self.model, self.extractor, self.duplicates)
        return [backend for backend in every if backend is not None]

    @property
    def scored_as(self) -> Dataset:
        """The record by which answers are scored, that of IRCoT's released program if asked."""
        return find_dataset(self.dataset.name, self.parameters.released)

    @property
    def style(self) -> Style:
        """How its model is prompted."""
        return STYLES[self.parameters.style]

    @property
    def window(self) -> int:
        """The model's context in tokens: a prompt and the text generated after it."""
        return self.parameters.context_tokens or self.style.context_tokens

    @property
    def demonstrated(self) -> bool:
        """Whether prompts of IRCoT's systems show demonstrations; others have their examples."""
        values = self.parameters.demonstrations and self.grid_values("", "m", ())
        return bool(values) and self.style.demonstrated

    @property
    def default_m(self) -> int | None:
        """What prompts show of systems that have no M (IRCoT §4.1) in their setting."""
        return sets.NO_PARAGRAPHS if self.demonstrated else sets.NO_DEMONSTRATIONS

    @property
    def ambient(self) -> dict:
        """What programs are given in addition to their own setting, if they take the keyword."""
        p, offered = self.parameters, {"others": tuple(self.test)}
        offered |= {"max_tokens": self.style.generation_tokens, "max_steps": p.max_steps}
        offered |= {"sentence": self.style.sentence, "released": p.released, "chat": p.chat}
        if embed := getattr(self.retriever, "embed", None):  # a dense retriever's
            offered["embed"] = embed
        return offered | self.dataset.program_arguments

    def tokens(self, system: System) -> dict[str, int]:
        """The most tokens of a system's generations, by keyword. For IRCoT's systems the style
        decides (released program). For others it is the larger of the program's and the data set's
        number, but never more than the style's `chain_tokens` or half the window (ours).
        """
        if not system.tokens:
            return {"max_tokens": self.style.generation_tokens}
        least = self.dataset.program_arguments
        most = min(self.style.chain_tokens, self.window // 2)
        return {name: min(max(n, least.get(name, 0)), most) for name, n in system.tokens.items()}

    def longest(self, system: System) -> int:
        """The most tokens of one generation, for which prompts leave room."""
        return max(self.tokens(system).values(), default=self.style.generation_tokens)

    def grid_values(self, module: str, name: str, paper: Sequence) -> list:
        """The values that are tried for a parameter of a system on this bench."""
        return self.parameters.grid(module, name, list(paper), self.grid_of)

    def grid(self, system: System) -> dict[str, list]:
        """The grid over which a system is tuned; without M if prompts show no demonstrations."""
        own = {n: v for n, v in system.grid.items() if n != "m" or self.demonstrated}
        grid = {name: self.grid_values(system.module, name, v) for name, v in own.items()}
        return {name: values for name, values in grid.items() if values}

    def settings(self, system: System) -> list[dict]:
        """All settings of a system's grid."""
        grid = self.grid(system)
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]

    def choose(self, system: System, **offered: object) -> dict:
        """Of a setting that is offered to many systems, what is in this one's grid."""
        return {name: value for name, value in offered.items() if name in self.grid(system)}

    def examples(
        self, stage: str, m: int | None, demonstration_set: int, system: System
    ) -> tuple[Template, list]:
        """The template of a stage and what its prompts show, or FileNotFoundError; see `prompt`."""
        p, style, shown = self.parameters, self.style, self.shown or self.dataset
        template = read_template(system.folder, stage, style.name)
        by_sets = system.demonstrated_by == SETS
        none = (by_sets and m is sets.NO_DEMONSTRATIONS) or system.count_examples(shown) == 0
        if none or not style.demonstrated:
            return template, []
        if by_sets:  # of one family for all systems, unless the data set shown matters (IRCoT §5)
            of = p.demonstrations, shown.name, stage, style.name, m, demonstration_set
            found = sets.find_demonstrations(*of, "" if self.shown else shown.example_family)
            return template, found[-p.most_demonstrations :]
        found = sets.find_examples(p.demonstrations, system.folder, stage, shown, template)
        return template, list(found[: system.count_examples(shown)][: p.most_demonstrations])

    def prompt(
        self, stage: str, m: int | None = 0, demonstration_set: int = 0, system: System = READER
    ) -> Prompt:
        """The prompt writer of a stage of a system, or of IRCoT's reader. `m`: the distractors in
        demonstrations, NO_PARAGRAPHS or NO_DEMONSTRATIONS. Raises UserError without a model.
        """
        if self.model is None:
            missing = f"found no model on the bench of {self.dataset.name}"
            raise UserError(f"{missing}, expected one to write for: open the bench with a model")
        template, shown = self.examples(stage, m, demonstration_set, system)
        released = self.parameters.released and system.demonstrated_by == SETS
        limit, count = self.window - self.longest(system), self.model.count_tokens
        return Prompt(shown, count, template, limit, self.style.arrange, released)


def runs_folder(
    p: Parameters, experiment: str, shown: str | None = None, grid_of: str = MAIN
) -> Path:
    """The folder of an experiment's runs with these parameters: the notebook's name and a hash."""
    named = json.dumps(identity(p, shown, grid_of), sort_keys=True)
    digest = hashlib.blake2b(named.encode(), digest_size=4).hexdigest()
    return DATA / "runs" / p.profile / f"{experiment}-{digest}"


def name_bench(
    p: Parameters, dataset: str, experiment: str, *, shown: str | None = None, grid_of: str = MAIN
) -> Bench:
    """The bench of an experiment on one data set, not opened; see Bench. Data sets are named."""
    other = None if shown is None else find_dataset(shown)
    return Bench(p, find_dataset(dataset), experiment, other, grid_of)


def name_benches(p: Parameters, experiment: str, **options: object) -> list[Bench]:
    """A bench for each data set of the parameters; see `name_bench`."""
    return [name_bench(p, dataset, experiment, **options) for dataset in p.datasets]


def open_bench(
    p: Parameters,
    dataset: str,
    experiment: str,
    *,
    with_model: bool = True,
    calls: Calls | Replaying | None = None,
    **options: object,
) -> Bench:
    """Open all that an experiment on one data set needs (IRCoT §4); see `name_bench` and `open`."""
    return name_bench(p, dataset, experiment, **options).open(with_model, calls)


def open_benches(p: Parameters, experiment: str, **options: object) -> list[Bench]:
    """A bench for each data set; see `open_bench`."""
    return [open_bench(p, dataset, experiment, **options) for dataset in p.datasets]
