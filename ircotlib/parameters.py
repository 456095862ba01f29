"""The parameters of the notebooks, checked before any work begins. A profile (profiles/NAME.yaml)
sets them all; `changes` override some of them.
"""

import difflib
import json
import re
import shlex
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from ircotlib import ranges
from ircotlib.datasets import all_datasets
from ircotlib.errors import UserError
from ircotlib.files.paths import PROFILES, name_trial
from ircotlib.files.values import read_value
from ircotlib.generation.budget import find_price
from ircotlib.prompting.prompt import AGENT, GPT3, STYLES
from ircotlib.systems import all_systems

EIGHT = "hotpotqa musique 2wikimultihopqa strategyqa zsre trex fever eli5".split()  # SearChain §4.1
# the grids of 04_ircot, 06_scale and 07_ood, and that of 13_head_to_head with equal tools
MAIN, SCALE, OOD, EQUAL = "", "scale_", "ood_", "equal_"
# these replace the profile's values, which are for local models, if the model is behind a server
SERVED = {"style": GPT3.name, "reader": "cot", "context_tokens": None, "gpt3": ""}
# in place of a model: a reader whose abilities are dials, and one that has the steps that data sets
# state; then this replaces the profile's values, so that nothing else reads or cuts a prompt
SIMULATED, GOLD = "simulated", "gold"
ALONE = {"style": AGENT.name, "reader": "cot", "context_tokens": 100_000, "agent": "", "gpt3": ""}
WITHOUT_WEIGHTS = {name: ALONE | {"extractor": name} for name in (SIMULATED, GOLD)}
# change no outcome, only how it comes about
WITHOUT_EFFECT = "workers in_flight timeout batch prices max_cost max_requests".split()
# and these only say which runs there are, or are for what is made of them: they are no part of the
# names of runs; all others are
NO_RUN = [*WITHOUT_EFFECT, "profile", "server", "datasets", "systems", "models", "gpt3", "agent"]
NO_RUN += "second_model retrievers demonstration_sets head_to_head head_to_head_test".split()
NO_RUN += "ood_test k worlds measured judged".split()
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")  # of a profile


class Parameters(BaseModel):
    """All parameters, frozen. Besides those below, `<system's file>_<parameter>`, as in `ircot_k`,
    is the grid of a system; with the prefix "scale_" or "ood_" it is that for 06_scale or 07_ood.
    """

    model_config = ConfigDict(frozen=True, extra="allow", str_strip_whitespace=True)
    __pydantic_extra__: dict[str, ranges.SomeCounts]

    profile: str  # a file of profiles/
    # what is asked, and what is searched
    datasets: ranges.SomeNames
    data_dir: str  # folder of the official raw files; "": the laboratory
    corpus: Literal["pooled", "full"] = "pooled"  # of contexts, or the paper's (IRCoT App. A)
    further_paragraphs: str = ""  # a file whose paragraphs a pooled corpus has, too; "": none
    retriever: ranges.Retriever = "embedded"
    dev: ranges.Number  # questions to tune on (IRCoT §4: 100)
    test: ranges.Count | None  # questions to report on (IRCoT §4: 500); None: all the others
    seed: ranges.Seed = 0  # for drawing dev and test questions
    # which models read and write
    model: ranges.Name  # a local folder or a hub id; with `server`, its name there
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    gpt3: str = ""  # 04, 07, 08: a model in GPT3's place, beside `model` (IRCoT §4.1); "": none
    agent: str = ""  # a local folder: the small model for SearChain's systems; "": `model`
    extractor: str = ""  # extractive reader (SearChain §3.3): a folder or a hub id; "": none
    duplicates: str = ""  # cross-encoder that detects duplicate queries; "": equal texts
    dials: dict[str, ranges.Share] = {}  # of the simulated reader (docs/abilities.md)
    workers: ranges.Workers = "auto"  # processes that play runs at the same time
    # a server, and what it may cost
    server: ranges.Server = ""  # addresses of an OpenAI-compatible server; "": a local model
    chat: bool = False  # use the server's chat interface, not completions
    batch: bool = False  # send requests as batch files, at half the price at most vendors
    in_flight: ranges.Threads = 8  # parallel requests to the server
    timeout: ranges.Seconds = 300.0  # seconds until a reply of the server begins, and then ends
    prices: ranges.Prices | None = None  # USD per million tokens in and out; None: data/prices.csv
    max_cost: ranges.Cost | None = None  # USD that a process may spend on the server
    max_requests: ranges.Count | None = None  # requests that a process may send to it
    # how models are prompted
    style: str  # of prompting (IRCoT App. G)
    reader: Literal["cot", "direct"]  # IRCoT App. E: direct for Flan-T5, cot for GPT3
    demonstrations: str  # folder of prompt files in the authors' format (prompts/README.md)
    context_tokens: ranges.Count | None  # the model's window; None: the paper's for this style
    thinking_tokens: ranges.Number = 4_000  # room for the thoughts of a model that thinks
    # which systems, and how they go
    systems: ranges.Names = []  # some systems by name; empty: all
    distractors: ranges.Counts = [1, 2, 3]  # M (IRCoT §4.1); empty: IRCoT's systems show none
    most_demonstrations: ranges.Count = 16  # in a prompt (IRCoT §4.1: sets of 15; DSP: up to 16)
    wrong_answers: bool = False  # of demonstrations: each ends as another (07_ood, a control; ours)
    demonstration_sets: ranges.Sets = 3  # 04_ircot: the mean is over so many (IRCoT §4.1)
    released: bool = False  # follow IRCoT's program where it differs from the paper
    max_steps: ranges.Steps = 8  # sentences of a chain (IRCoT footnote 4; its program: 10)
    samples: ranges.Count | None = None  # most texts sampled at a time; None: as in its paper
    # single notebooks
    question: str = ""  # 00_tour: which its box asks at first; "": the page's
    k: ranges.Count = 4  # 00_programs, 00_tour, 05_laboratory: paragraphs of each retrieval
    retrievers: ranges.Retrievers = []  # 02_index, 13, 16; empty: only `retriever`
    recall_k: ranges.SomeCounts = [5, 7, 9, 11, 13, 15]  # 02_index (IRCoT §4.1)
    both_readers: bool = True  # 04_ircot: also run the other reader (IRCoT Table 4)
    worlds: ranges.Worlds = [(0, 2400, 600), (7, 1200, 200)]  # 05_laboratory: seed, size, questions
    measured: ranges.Count = 20  # 05_laboratory: questions of each data set that are measured on
    models: ranges.SomeNames  # 06_scale: compared
    scale_distractors: ranges.Counts | None = None  # 06_scale; None: as `distractors`
    ood_distractors: ranges.Counts | None = None  # 07_ood; None: as `distractors`
    ood_test: ranges.Count | None = None  # 07_ood: test questions; None: as `test`
    judged: ranges.Count = 40  # 08_factuality: questions of each data set whose chains are judged
    head_to_head: ranges.SomeNames = EIGHT  # 13_head_to_head: its data sets
    head_to_head_test: ranges.Count | None = None  # 13_head_to_head: questions; None: as `test`
    equal_k: ranges.Counts = [1, 3, 5]  # 13_head_to_head: K with equal tools; empty: no such runs
    abilities_test: ranges.Count = 60  # 15_abilities: questions of each data set
    abilities_seeds: ranges.Count = 2  # 15_abilities: seeds of questions and errors
    second_model: str = ""  # 14_searchain_tables: for SearChain's Table 9; "": none
    outputs: str = "data/outputs"  # 17_real_outputs: a folder of what real models wrote
    _trial: str = ""

    @model_validator(mode="before")
    @classmethod
    def _check_parameters(cls, values: dict) -> dict:
        known = [*cls.model_fields, *grid_names()]
        if unknown := [name for name in values if name not in known]:
            expected = difflib.get_close_matches(unknown[0], known, 1) or parameter_names()
            raise UserError(f"found the parameter {unknown[0]!r}, expected {', '.join(expected)}")
        return values

    @model_validator(mode="after")
    def _check_names(self):
        for name, values, known in (
            ("datasets", self.datasets, all_datasets()),
            ("head_to_head", self.head_to_head, all_datasets()),
            ("systems", self.systems, all_systems()),
            ("style", [self.style], STYLES),
        ):
            if odd := [value for value in values if value not in known]:
                raise UserError(f"{name}: found {odd[0]!r}, expected some of {', '.join(known)}")
        return self

    @model_validator(mode="after")
    def _check_limits(self):
        written = STYLES[self.style].generation_tokens
        if self.context_tokens is not None and self.context_tokens <= written:
            expected = f"expected more than {written}, which {self.style} keeps for what is written"
            raise UserError(f"context_tokens: found {self.context_tokens}, {expected}")
        models = (self.model, *self.models, self.gpt3, self.second_model)
        if self.server and (own := [name for name in models if name in WITHOUT_WEIGHTS]):
            raise UserError(f"found a server and a {own[0]} reader, expected one; leave server out")
        fields = type(self).model_fields
        if self.dials and SIMULATED not in (*models, self.extractor):
            raise UserError("found dials and no simulated reader; set model=simulated")
        for name in () if self.server else ("chat", "batch", "max_cost", "max_requests"):
            if getattr(self, name) != fields[name].default:
                raise UserError(f"found {name} and no server; set server, or leave {name} out")
        if self.batch and "," in self.server:
            raise UserError(f"batch: found the addresses {self.server}, expected one")
        if self.max_cost is not None and find_price(self.model, self.prices) is None:
            found = f"max_cost: found {self.max_cost} and no price of {self.model!r}"
            raise UserError(f"{found}: set prices=[USD for a million tokens read, written]")
        return self

    def change(self, **changes: object) -> "Parameters":
        """These parameters with some replaced, checked again; see WITHOUT_WEIGHTS."""
        if (model := changes.get("model", self.model)) != self.model:
            changes = WITHOUT_WEIGHTS.get(model, {}) | changes
        changed = ranges.check(type(self), self.model_dump() | changes)
        changed._trial = self._trial
        return changed

    @property
    def trial(self) -> str:
        """The folder of figures for changes of the profile (`name_trial`); "" if it is as it is."""
        return self._trial

    def out_of_distribution(self) -> "Parameters":
        """The parameters of 07_ood (IRCoT §5): without IIRC, as in the paper, and not tuned."""
        others = [name for name in self.datasets if name != "iirc"]
        return self.change(datasets=others, dev=0, test=self.ood_test or self.test)

    def other_reader(self) -> "Parameters":
        """These parameters with the other reader (IRCoT App. E)."""
        return self.change(reader="direct" if self.reader == "cot" else "cot")

    def for_agent(self) -> "Parameters":
        """The parameters for SearChain's study: with `agent`, prompted as it was trained, in place
        of `model`; unchanged if there is no agent, or if a server is used.
        """
        if self.server or not self.agent:
            return self
        return self.change(model=self.agent, style=AGENT.name, context_tokens=None)

    def command_line(self) -> str:
        """The options of `ircotlib figures` that give these parameters."""
        profile, options = read_parameters(self.profile).model_dump(), [f"--profile {self.profile}"]
        for name, value in self.model_dump().items():
            if value != profile.get(name):
                text = f"{name}={json.dumps(value, ensure_ascii=False)}"
                options.append(f"--set {shlex.quote(text)}")
        return " ".join(options)

    def grid(self, module: str, name: str, paper: list, of: str = MAIN) -> list:
        """The values to try; the paper's if none are set, but only the first for OOD."""
        if name == "m":
            chosen = getattr(self, f"{of}distractors", None)
            return self.distractors if chosen is None else chosen
        extra = self.model_extra or {}
        values = extra.get(f"{module}_{name}", list(paper))
        return extra.get(f"{of}{module}_{name}", values[:1] if of == OOD else values)


def grid_names() -> list[str]:
    """The names of parameters that are grids of systems."""
    own = {f"{s.module}_{name}" for s in all_systems().values() for name in s.grid if name != "m"}
    return sorted(f"{of}{name}" for of in (MAIN, SCALE, OOD) for name in own)


def parameter_names() -> list[str]:
    """All names that a profile may set."""
    return sorted({*Parameters.model_fields, *grid_names()} - {"profile"})


def read_parameters(profile: str, changes: dict | None = None) -> Parameters:
    """The parameters of a profile with some changes. Raises UserError for a wrong one."""
    path = PROFILES / f"{profile}.yaml"
    if not NAME.fullmatch(profile) or not path.is_file():
        known = sorted(path.stem for path in PROFILES.glob("*.yaml"))
        raise UserError(f"found the profile {profile!r}, expected one of {', '.join(known)}")
    try:
        values = read_value(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict) or "model" not in values:
            raise UserError("found no profile, expected lines as in profiles/mini.yaml")
        if "profile" in values:
            raise UserError("found the parameter 'profile', expected none: the file's name is it")
        checked = ranges.check(Parameters, {"profile": profile} | values)
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: found no UTF-8 ({error}), expected a profile") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    given = changes = changes or {}
    if changes.get("profile", profile) != profile:
        expected = f"expected --profile {changes['profile']}, or `profile` in the notebook"
        raise UserError(f"found the parameter 'profile' changed, {expected}")
    served = SERVED if changes.get("server") else {}
    if served or changes.get("model") in WITHOUT_WEIGHTS:
        changes = served | {"models": [changes.get("model", checked.model)]} | changes
    changed = checked.change(**changes)
    values = {name: getattr(changed, name) for name in given if name not in WITHOUT_EFFECT}
    other = {name: v for name, v in values.items() if v != getattr(checked, name, None)}
    changed._trial = name_trial(other)
    return changed
