"""The parameters of the notebooks: a profile's (profiles/NAME.yaml), and changes."""

import difflib
import inspect
import json
import re
import shlex
from textwrap import dedent
from typing import Annotated, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from ircotlib.data import read_text
from ircotlib.datasets import all_datasets, find_dataset
from ircotlib.errors import UserError
from ircotlib.files import PROFILES, check_name, name_trial
from ircotlib.keys import check_server
from ircotlib.prompting.prompt import AGENT, GPT3, STYLES
from ircotlib.retrieval import find_retriever
from ircotlib.systems import all_systems, find_system


class Loader(yaml.SafeLoader):
    """Of two values for one name, SafeLoader takes the second in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        values = super().construct_mapping(node, deep)
        if len(values) < len(node.value):
            names = [key.value for key, _ in node.value]
            raise yaml.YAMLError(f"found {max(names, key=names.count)!r} twice")
        return values


# in YAML 1.1, which SafeLoader reads, 017 is 15, 12:30 is 750, and 1e-1 is a text
INT, FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
Loader.add_constructor(INT, lambda _, node: int(node.value))
Loader.add_constructor(FLOAT, lambda _, node: float(node.value))
Loader.add_implicit_resolver(FLOAT, re.compile(r"[-+]?\d[\d.]*[eE][-+]?\d+$"), None)


def read_value(text: str) -> object:
    """The value of a YAML text. Raises UserError, in one line."""
    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"not valid YAML ({' '.join(str(error).split())})") from None


# SearChain §4.1
EIGHT = [
    *("hotpotqa", "musique", "2wikimultihopqa", "strategyqa"),
    *("zsre", "trex", "fever", "eli5"),
]
# the grids of 04_ircot, 06_scale and 07_ood
MAIN, SCALE, OOD = "", "scale_", "ood_"
# these replace the profile's values, which are for local models, behind a server
SERVED = {"style": GPT3.name, "reader": "cot", "context_tokens": None, "gpt3": ""}
WITHOUT_EFFECT = ["workers", "in_flight", "prices", "max_cost"]  # on any outcome
# no part of a run's name: also those that choose runs, or what is made of them
NO_RUN = [
    *WITHOUT_EFFECT,
    *("profile", "server", "datasets", "systems", "models", "gpt3", "agent"),
    *("second_model", "retrievers", "demonstration_sets", "head_to_head"),
    *("head_to_head_test", "ood_test", "k", "judged"),
]


def _once(values: list) -> list:
    if len(set(map(str, values))) < len(values):
        raise ValueError(f"found {values}, expected each value once")
    return values


Once = AfterValidator(_once)
Count = Annotated[int, Field(ge=1)]
Number = Annotated[int, Field(ge=0)]
Counts = Annotated[list[Count], Once]
Name = Annotated[str, Field(min_length=1)]
DatasetName = Annotated[str, AfterValidator(lambda name: find_dataset(name).name)]
Datasets = Annotated[list[DatasetName], Once, Field(min_length=1)]
SystemName = Annotated[str, AfterValidator(lambda name: find_system(name).name)]
StyleName = Literal["flan_t5", "codex", "agent"]
Server = Annotated[str, AfterValidator(lambda url: url and check_server(url))]
Retriever = Annotated[str, AfterValidator(lambda text: find_retriever(text) and text)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Prices = Annotated[list[Price], Field(min_length=2, max_length=2)]


class Parameters(BaseModel):
    """All parameters, which `ircotlib parameters` lists, and grids of systems:
    `<system's file>_<parameter>`, such as `ircot_k`; with "scale_" or "ood_" before it,
    for 06_scale or 07_ood.
    """

    model_config = ConfigDict(
        frozen=True, extra="allow", strict=True, str_strip_whitespace=True
    )
    __pydantic_extra__: dict[str, Annotated[Counts, Field(min_length=1)]]

    profile: str  # a file of profiles/
    # what is asked, and what is searched
    datasets: Datasets
    data_dir: str  # folder of the official raw files; "": the laboratory
    corpus: Literal["pooled", "full"] = "pooled"  # contexts; or as in IRCoT App. A
    further: str = ""  # pooled: a folder of more paragraphs (docs/data.md)
    retriever: Retriever = "embedded"  # BM25 on this machine; others: docs/data.md
    dev: Number  # questions to tune on (IRCoT §4: 100)
    test: Count | None  # questions to report on (IRCoT §4: 500); None: all the others
    seed: int = 0  # for drawing dev and test questions
    # which models read and write
    model: Name  # a folder or hub id; with `server`, its name there
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"  # of its weights
    gpt3: str = ""  # 04, 07, 08: a model in GPT3's place, beside `model` (IRCoT §4.1)
    agent: str = ""  # for SearChain's systems; "", or with another `model`: `model`
    extractor: str = ""  # extractive reader (SearChain §3.3), folder or hub id
    workers: Literal["auto", "ray"] | Count = "auto"  # one per GPU or core; a cluster's
    # a server, and what it may cost
    server: Server = ""  # address of an OpenAI-compatible server; "": a local model
    chat: bool = False  # use the server's chat interface, not completions
    in_flight: Count = 8  # parallel requests to the server
    prices: Prices | None = None  # USD per 1M tokens in, out; None: not known
    max_cost: Price | None = None  # USD that a process may spend on the server
    # how models are prompted
    style: StyleName  # of prompting (IRCoT App. G)
    reader: Literal["cot", "direct"]  # IRCoT App. E: direct for Flan-T5, cot for GPT3
    demonstrations: str  # folder of the authors' prompt files (prompts/README.md)
    context_tokens: Count | None  # the model's window; None: the paper's for this style
    # which systems, and how they run
    systems: Annotated[list[SystemName], Once] = []  # by name; empty: all
    distractors: Counts = [1, 2, 3]  # M (IRCoT §4.1); empty: no demonstrations (IRCoT)
    most_demonstrations: Count = 16  # in a prompt (IRCoT §4.1: sets of 15; DSP: 16)
    demonstration_sets: Annotated[int, Field(ge=1, le=3)] = 3  # 04 (IRCoT §4.1)
    released: bool = False  # follow IRCoT's program where it differs from the paper
    max_steps: Count = 8  # sentences of a chain (IRCoT footnote 4; its program: 10)
    samples: Count | None = None  # most texts sampled at a time; None: as in each paper
    # single notebooks
    k: Count = 4  # 00_programs, 05_searchain: paragraphs of each retrieval
    retrievers: Annotated[list[Retriever], Once] = []  # 02, 12; empty: `retriever`
    models: Annotated[list[Name], Once, Field(min_length=1)]  # 06_scale: compared
    scale_distractors: Counts | None = None  # 06_scale; None: as `distractors`
    ood_distractors: Counts | None = None  # 07_ood; None: as `distractors`
    ood_test: Count | None = None  # 07_ood: test questions; None: as `test`
    judged: Count = 40  # 08_factuality: questions of each data set
    head_to_head: Datasets = EIGHT  # 11_head_to_head: its data sets
    head_to_head_test: Count | None = None  # its questions; None: as `test`
    second_model: str = ""  # 99_tables: for SearChain's Table 9; "": none
    _trial: str = ""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: dict) -> dict:
        known = sorted({*cls.model_fields, *grid_names()})
        if unknown := [name for name in values if name not in known]:
            name = unknown[0]
            near = difflib.get_close_matches(str(name).lower(), known, 1) or known
            raise ValueError(f"unknown parameter {name!r}, expected {', '.join(near)}")
        return values

    @model_validator(mode="after")
    def _check_values(self):
        written = STYLES[self.style].generation_tokens
        if self.context_tokens is not None and self.context_tokens <= written:
            expected = f"expected more than {written}, which the reply may have"
            raise ValueError(f"context_tokens: found {self.context_tokens}, {expected}")
        if self.further and self.corpus == "full":
            raise ValueError("found `further` with `corpus` full, expected pooled")
        return self

    def change(self, **changes: object) -> "Parameters":
        """These with changes. Another model answers in SearChain's study, too, and
        behind a server the values for local models do not hold, unless they are given.
        """
        model = changes.get("model", self.model)
        served = changes.get("server") and not self.server
        if served:
            changes = {**SERVED, "models": [model], **changes}
        if model != self.model:
            changes = {"agent": "", **changes}
        changed = check(self.model_dump() | changes)
        if served and "model" not in changes:
            raise UserError("server: set `model`, too, to the server's name for it")
        changed._trial = self._trial
        return changed

    @property
    def trial(self) -> str:
        """The folder of figures for these changes to the profile; "" without any."""
        return self._trial

    def out_of_distribution(self) -> "Parameters":
        """The parameters of 07_ood: without IIRC, and not tuned (IRCoT §5)."""
        others = [name for name in self.datasets if name != "iirc"]
        return self.change(datasets=others, dev=0, test=self.ood_test or self.test)

    def other_reader(self) -> "Parameters":
        """These parameters with the other reader (IRCoT App. E)."""
        return self.change(reader="direct" if self.reader == "cot" else "cot")

    def for_agent(self) -> "Parameters":
        """The parameters for SearChain's systems: a local `agent` is the model."""
        if self.server or not self.agent:
            return self
        return self.change(model=self.agent, style=AGENT.name, context_tokens=None)

    def command_line(self) -> str:
        """The options of `ircotlib figures` that give these parameters."""
        profile = read_parameters(self.profile).model_dump()
        command = f"--profile {self.profile}"
        for name, value in self.model_dump().items():
            if value != profile.get(name):
                text = f"{name}={json.dumps(value, ensure_ascii=False)}"
                command += f" --set {shlex.quote(text)}"
        return command

    def grid(self, module: str, name: str, paper: list, of: str = MAIN) -> list:
        """The values to try: those set, else the paper's; not tuned for OOD."""
        if name == "m":
            chosen = getattr(self, f"{of}distractors")
            return self.distractors if chosen is None else chosen
        extra = self.model_extra or {}
        values = extra.get(f"{module}_{name}", list(paper))
        if of == OOD:
            values = values[:1]
        return extra.get(f"{of}{module}_{name}", values)


def list_parameters() -> str:
    """The parameters, a line each: name, values, default, and what it is for."""
    source = inspect.getsource(Parameters)
    first, last = source.index("    # what is asked"), source.index("    _trial")
    return dedent(source[first:last]).strip()


Parameters.__doc__ = f"{Parameters.__doc__}\n{list_parameters()}"  # for `help`


def grid_names() -> list[str]:
    names: set[str] = set()
    for system in all_systems().values():
        for name in system.grid.keys() - {"m"}:
            names.update(f"{of}{system.module}_{name}" for of in (MAIN, SCALE, OOD))
    return sorted(names)


def check(values: dict) -> Parameters:
    """Parameters with these values. Raises UserError, in one line."""
    try:
        return Parameters.model_validate(values)
    except ValidationError as error:
        found = []
        for each in error.errors():
            name = ".".join(map(str, each["loc"]))
            message = each["msg"].removeprefix("Value error, ")
            found.append(f"{name}: {message}".lstrip(": "))
        raise UserError("; ".join(found)) from None


def read_parameters(profile: str, changes: dict | None = None) -> Parameters:
    """The parameters of a profile with some changes. Raises UserError, in one line."""
    of_profile = read_profile(profile)
    given = changes or {}
    if given.get("profile", profile) != profile:
        raise UserError("profile: not a parameter; name it with --profile")
    parameters = of_profile.change(**given)
    changed = {}
    for name in given.keys() - {*WITHOUT_EFFECT}:
        value = getattr(parameters, name)
        if value != getattr(of_profile, name, None):
            changed[name] = value
    parameters._trial = name_trial(changed)
    return parameters


def all_profiles() -> list[str]:
    return sorted(path.stem for path in PROFILES.glob("*.yaml"))


def read_profile(profile: str) -> Parameters:
    """The parameters in a profile's file."""
    all_systems()  # an error of a plug-in comes first: it is not the profile's
    all_datasets()
    check_name("profile", profile)
    path = PROFILES / f"{profile}.yaml"
    if not path.is_file():
        known = ", ".join(all_profiles())
        raise UserError(f"unknown profile {profile!r}, expected one of {known}")
    try:
        values = read_value(read_text(path))
        if not isinstance(values, dict):
            raise UserError(f"found {values!r:.60}")
        return check({**values, "profile": profile})
    except UserError as error:
        expected = "expected lines as in profiles/mini.yaml"
        raise UserError(f"{path}: {error}, {expected}") from None
