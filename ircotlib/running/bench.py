"""A bench is all that a run needs: a data set, a retriever, a model, prompts and the call cache."""

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd

from ircotlib.data import Question
from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import read_dataset
from ircotlib.datasets.pooled import sample_dev_test
from ircotlib.errors import UserError
from ircotlib.files.kept import kept_until_changed
from ircotlib.files.models import named
from ircotlib.files.paths import DATA, ROOT
from ircotlib.parameters import DIALS, MAIN, SIMULATED, Parameters
from ircotlib.playing.cache import Calls
from ircotlib.playing.exported import Replaying, open_calls
from ircotlib.prompting.demonstrations import find_demonstrations
from ircotlib.prompting.examples import find_examples
from ircotlib.prompting.prompt import GPT3, STYLES, Prompt, Style
from ircotlib.prompting.templates import read_template
from ircotlib.retrieval import model_of, open_retriever
from ircotlib.retrieval.corpus import DESCRIPTION, fingerprint_of, open_corpus
from ircotlib.running.backends import open_model, open_reading
from ircotlib.running.laboratory import data_folder
from ircotlib.systems import IRCOT, TEMPLATES, System

IDENTITY = "data_dir corpus retriever dev test seed model dtype style reader demonstrations".split()
IDENTITY += "context_tokens released max_steps extractor duplicates".split()
# a title or a question in a table is text: a dollar sign in it does not begin a formula
pd.set_option("display.html.use_mathjax", False)


@dataclass(frozen=True)
class Bench:
    """All that a run needs; made by `open_bench`.

    `experiment`: the notebook whose runs these are. `model`: None for retrieval only. `shown`: the
    data set whose demonstrations are shown, None for its own (IRCoT §5, OOD). `grid_of`: which grid
    is tuned, MAIN, SCALE or OOD. `extractor`, `duplicates`: the models that extract answers and
    detect duplicate queries, None if nothing does.
    """

    parameters: Parameters
    dataset: str
    experiment: str
    dev: Sequence[Question]
    test: Sequence[Question]
    retriever: object
    calls: Calls | Replaying
    model: object = None
    shown: str | None = None
    grid_of: str = MAIN
    extractor: object = None
    duplicates: object = None

    @property
    def runs(self) -> Path:
        """The folder of this bench's runs."""
        folder = runs_folder(self.parameters, self.experiment, self.shown, self.grid_of)
        return folder / self.dataset

    @property
    def backends(self) -> list:
        """The backends that answer the requests of its programs."""
        every = (self.retriever, self.model, self.extractor, self.duplicates)
        return [backend for backend in every if backend is not None]

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
        """Whether prompts show demonstrations."""
        values = self.parameters.demonstrations and self.grid_values("", "m", ())
        return bool(values) and self.style.demonstrated

    @property
    def ambient(self) -> dict:
        """What programs are given in addition to their own setting, if they take the keyword."""
        style, p = self.style, self.parameters
        offered = {"max_tokens": style.generation_tokens, "sentence": style.sentence}
        offered |= {"max_steps": p.max_steps, "released": p.released, "others": tuple(self.test)}
        return offered | find_dataset(self.dataset).program_arguments

    def tokens(self, system: System | None) -> dict[str, int]:
        """The most tokens of a system's generations, by keyword. For IRCoT's systems the style
        decides (released program). For others it is the program's default or the data set's own
        number, but never more than the style's `chain_tokens` or half the window (ours).
        """
        if system is None or system.study == IRCOT:
            return {"max_tokens": self.style.generation_tokens}
        of_dataset = find_dataset(self.dataset).program_arguments
        most = min(self.style.chain_tokens, self.window // 2)
        return {name: min(of_dataset.get(name, own), most) for name, own in system.tokens.items()}

    def longest(self, system: System | None) -> int:
        """The most tokens of one generation, for which prompts leave room."""
        return max(self.tokens(system).values(), default=self.style.generation_tokens)

    def grid_values(self, module: str, name: str, paper: Sequence) -> list:
        """The values that are tried for a parameter of a system on this bench."""
        return self.parameters.grid(module, name, list(paper), self.grid_of)

    def grid(self, system: System) -> dict[str, list]:
        """The grid over which a system is tuned; without M if prompts show no demonstrations."""
        grid = {name: self.grid_values(system.module, name, v) for name, v in system.grid.items()}
        left_out = () if self.demonstrated else ("m",)
        return {name: values for name, values in grid.items() if values and name not in left_out}

    def settings(self, system: System) -> list[dict]:
        """All settings of a system's grid."""
        grid = self.grid(system)
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]

    def prompt(
        self,
        stage: str,
        m: int | None = 0,
        demonstration_set: int = 0,
        system: System | None = None,
    ) -> Prompt:
        """The prompt writer of a stage of a system (None: of IRCoT). `m`: the distractors in
        demonstrations; 0: no paragraphs in them; None: no demonstrations. Other systems show their
        own examples. Raises UserError if the bench has no model.
        """
        if self.model is None:
            missing = f"found no model on the bench of {self.dataset}"
            raise UserError(f"{missing}, expected one to write for: open the bench with a model")
        module = system.module if system else TEMPLATES
        template = read_template(module, stage, self.style.name)
        folder, shown, chosen = self.parameters.demonstrations, self.shown or self.dataset, []
        if m is not None and self.style.demonstrated and module == TEMPLATES:
            style = self.style.name
            chosen = find_demonstrations(folder, shown, stage, style, m, demonstration_set)
        elif m is not None and self.style.demonstrated:
            examples = find_examples(folder, module, stage, find_dataset(shown), template)
            chosen = list(examples[: system.count_examples(find_dataset(shown))])
        limit = self.window - self.longest(system)
        rest = self.style.passage_last, self.parameters.released and module == TEMPLATES
        return Prompt(chosen, self.model.count_tokens, template, limit, *rest)


def identity(p: Parameters, shown: str | None = None, grid_of: str = MAIN) -> dict:
    """All parameters that decide the outcome of a bench's runs, including grids."""
    extra = p.model_extra or {}
    grids = {name: extra[name] for name in sorted(extra)} | {"distractors": p.distractors}
    named = {name: getattr(p, name) for name in IDENTITY}
    others = {"scale_distractors": p.scale_distractors, "ood_distractors": p.ood_distractors}
    served = {"server": "chat" if p.chat else "completions"} if p.server else {}
    served |= {"samples": p.samples} if p.samples else {}
    served |= {name: getattr(p, name) for name in DIALS} if SIMULATED in named.values() else {}
    return named | served | grids | others | {"shown": shown, "grid_of": grid_of}


def runs_folder(
    p: Parameters, experiment: str, shown: str | None = None, grid_of: str = MAIN
) -> Path:
    """The folder of an experiment's runs with these parameters: the notebook's name and a hash."""
    canonical = json.dumps(identity(p, shown, grid_of), sort_keys=True).encode()
    digest = hashlib.blake2b(canonical, digest_size=4).hexdigest()
    return DATA / "runs" / p.profile / f"{experiment}-{digest}"


def open_bench(
    p: Parameters,
    dataset: str,
    experiment: str,
    *,
    with_model: bool = True,
    shown: str | None = None,
    grid_of: str = MAIN,
    calls: Calls | Replaying | None = None,
) -> Bench:
    """Open all that an experiment on one data set needs (IRCoT §4); see Bench for the arguments.
    `calls`: None for the call cache of this machine.
    """
    opened = open_dataset(p, dataset)
    model = open_model(p) if with_model else None
    calls = open_calls(DATA / "calls.sqlite") if calls is None else calls
    reading = open_reading(p, dataset) if with_model else ()
    return Bench(p, dataset, experiment, *opened, calls, model, shown, grid_of, *reading)


def open_benches(p: Parameters, experiment: str, **options) -> list[Bench]:
    """A bench for each data set; see open_bench."""
    return [open_bench(p, dataset, experiment, **options) for dataset in p.datasets]


def change_model(p: Parameters, name: str) -> Parameters:
    """The parameters with another model; a causal model is prompted as GPT3 was (IRCoT §4.1)."""
    changed = p.change(model=name)
    if name == SIMULATED or open_model(changed).is_encoder_decoder:
        return changed
    return changed.change(style=GPT3.name)


def open_dataset(p: Parameters, dataset: str) -> tuple[list[Question], list[Question], object]:
    """Dev and test questions (IRCoT §4), and the index of the corpus, built if it is missing."""
    questions, retriever = _opened(DATA, dataset, p.data_dir, p.corpus, p.retriever, p.released)
    return *sample_dev_test(questions, p.dev, p.test or sys.maxsize, p.seed), retriever


def _opened_from(
    data: Path, dataset: str, data_dir: str, corpus: str, retriever: str, released: bool
) -> list[Path]:
    """The folders and files that decide what `_opened` returns."""
    folder = ROOT / data_dir if data_dir else data / "laboratory"
    encoder, full = model_of(retriever), find_dataset(dataset).full_corpus
    made = [data / "corpora" / f"{full.name}-full" / DESCRIPTION] if full else []
    return [folder / dataset, folder, *named(encoder), *(made if corpus == "full" else [])]


@kept_until_changed(_opened_from)
def _opened(
    data: Path, dataset: str, data_dir: str, corpus: str, retriever: str, released: bool
) -> tuple[list[Question], object]:
    """Questions and retriever, opened once per process, and again if the data change."""
    folder, indexes = data_folder(data_dir, data), data / "indexes"
    read = partial(read_dataset, dataset, folder, corpus, released)
    questions, paragraphs = read()
    if corpus == "full":
        return questions, open_retriever(paragraphs, indexes / paragraphs.folder.name, retriever)
    name = f"{Path(folder).resolve().name}-{dataset}"
    # read once more to be written, if it changed: it may be an iterator
    stored = open_corpus(data / "corpora" / name, fingerprint_of(paragraphs), lambda: read()[1])
    return questions, open_retriever(stored, indexes / name, retriever)
