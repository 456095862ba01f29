"""A setup is all that a run needs: a data set, a retriever, a model, prompts and the
call cache. Here it is opened as the parameters name it.

    read_parameters  ->  open_setup  ->  Setup  ->  Run  ->  programs

What several setups share is opened once per process. What a system does on a setup is
a `Run` (runs.py). replay.py has setups in which nothing can answer, to look at runs.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from ircotlib.backends import Backend, Model, Searcher
from ircotlib.data import Question
from ircotlib.datasets import Dataset, digest, find_dataset, sample_dev_test
from ircotlib.datasets.files import list_files, read_dataset
from ircotlib.engine.cache import Calls, Replies
from ircotlib.experiment.laboratory import data_folder
from ircotlib.files import DATA, ROOT, check_name
from ircotlib.models import open_model
from ircotlib.models.extractor import EqualTexts, Extractor
from ircotlib.models.folders import find_config, is_encoder_decoder
from ircotlib.parameters import MAIN, NO_RUN, Parameters
from ircotlib.prompting import demonstrations as sets
from ircotlib.prompting.prompt import GPT3, STYLES, PromptWriter, Style
from ircotlib.prompting.templates import Template, read_template
from ircotlib.retrieval import find_retriever, open_retriever
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.systems import SETS, System
from ircotlib.systems.ircot import READER

# a title or a question in a table is text: a dollar sign in it does not begin a formula
pd.set_option("display.html.use_mathjax", False)
# as without pyarrow, which refuses halves of surrogate pairs
pd.set_option("mode.string_storage", "python")

# the fields of a setup that answer requests
BACKENDS = ("retriever", "model", "extractor")


@dataclass(frozen=True)
class Setup:
    """All that a run on a data set needs (IRCoT §4); `open_setup` opens one.
    `experiment`: the notebook whose runs these are. `shown`: the data set whose
    demonstrations are shown, None for its own (IRCoT §5, OOD). `grid_of`: which grid is
    tuned, MAIN, SCALE or OOD.
    """

    parameters: Parameters
    dataset: Dataset
    experiment: str
    retriever: Searcher
    calls: Replies
    shown: Dataset | None = None
    grid_of: str = MAIN
    dev: Sequence[Question] = ()
    test: Sequence[Question] = ()
    model: Model | None = None
    extractor: Backend | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What `open_setup` is told besides the parameters."""
        return {
            "experiment": self.experiment,
            "dataset": self.dataset.name,
            "shown": self.shown and self.shown.name,
            "grid_of": self.grid_of,
        }

    @property
    def runs(self) -> Path:
        """The folder of its runs."""
        told = self.identity
        dataset = told.pop("dataset")
        return runs_folder(self.parameters, **told) / dataset

    @property
    def backends(self) -> list[Backend]:
        """The backends that answer the requests of its programs."""
        every = (self.retriever, self.model, self.extractor, EqualTexts())
        return [backend for backend in every if backend is not None]

    @property
    def scored_as(self) -> Dataset:
        """By which answers are scored: with `released`, as by IRCoT's program."""
        return find_dataset(self.dataset.name, self.parameters.released)

    @property
    def style(self) -> Style:
        return STYLES[self.parameters.style]

    @property
    def window(self) -> int:
        """The model's context in tokens: a prompt and the text generated after it."""
        return self.parameters.context_tokens or self.style.context_tokens

    @property
    def demonstrated(self) -> bool:
        """Whether prompts of IRCoT's systems show demonstrations."""
        p = self.parameters
        values = p.demonstrations and p.grid("", "m", [], self.grid_of)
        return bool(values) and self.style.demonstrated

    def tokens(self, system: System) -> dict[str, int]:
        """The limits of generations in tokens."""
        if not system.tokens:  # of IRCoT's systems (released program)
            return {"max_tokens": self.style.generation_tokens}
        least: Mapping[str, Any] = self.dataset.program_arguments
        most = min(self.style.chain_tokens, self.window // 2)  # ours
        return {
            name: min(max(tokens, least.get(name, 0)), most)
            for name, tokens in system.tokens.items()
        }

    def grid(self, system: System) -> dict[str, list]:
        """The values over which a system is tuned; none of an M that is not shown."""
        grid = {
            name: self.parameters.grid(system.module, name, list(own), self.grid_of)
            for name, own in system.grid.items()
            if name != "m" or self.demonstrated
        }
        return {name: values for name, values in grid.items() if values}

    def settings(self, system: System) -> list[dict]:
        grid = self.grid(system)
        return [
            dict(zip(grid, values, strict=True)) for values in product(*grid.values())
        ]

    def choose(self, system: System, **setting: object) -> dict:
        """The part of a setting, given for many systems, that is in a system's grid."""
        grid = self.grid(system)
        return {name: value for name, value in setting.items() if name in grid}

    def examples(
        self, stage: str, m: int | None, demonstration_set: int, system: System
    ) -> tuple[Template, list]:
        """The template of a stage and what its prompts show; see `prompt`."""
        p = self.parameters
        dataset = self.shown or self.dataset
        template = read_template(system.templates, stage, self.style.name)
        most = system.count_examples(dataset)
        if not self.style.demonstrated or most == 0:
            return template, []
        if system.demonstrated_by != SETS:
            examples = sets.find_examples(
                p.demonstrations, system.module, stage, dataset.example_family
            )
            return template, examples[:most][: p.most_demonstrations]
        if m is sets.NO_DEMONSTRATIONS:
            return template, []
        demonstrations = sets.find_demonstrations(
            p.demonstrations,
            dataset.name,
            stage,
            self.style.name,
            m,
            demonstration_set,
            # of a family for all systems, unless the data set shown matters (IRCoT §5)
            family="" if self.shown else dataset.example_family,
        )
        return template, demonstrations[-p.most_demonstrations :]

    def prompt(
        self,
        stage: str,
        m: int | None = 0,
        demonstration_set: int = 0,
        system: System = READER,
    ) -> PromptWriter:
        """A stage's prompt writer. `m`: distractors, or a word of `demonstrations`."""
        assert self.model is not None
        template, shown = self.examples(stage, m, demonstration_set, system)
        limits = self.tokens(system).values()
        longest = max(limits, default=self.style.generation_tokens)
        return PromptWriter(
            shown,
            self.model.count_tokens,
            template,
            max_prompt_tokens=self.window - longest,
            arrange=self.style.arrange,
            released=self.parameters.released and system.demonstrated_by == SETS,
        )


def runs_folder(
    p: Parameters, experiment: str, shown: str | None = None, grid_of: str = MAIN
) -> Path:
    """The folder of an experiment's runs, with a hash of what decides their outcome."""
    check_name("experiment", experiment)
    values = p.model_dump(exclude=set(NO_RUN))
    values |= {"server": bool(p.server), "shown": shown, "grid_of": grid_of}
    name = f"{experiment}-{digest(json.dumps(values, sort_keys=True), 8)}"
    return DATA / "runs" / p.profile / name


def open_setup(
    p: Parameters,
    dataset: str,
    experiment: str,
    *,
    shown: str | None = None,
    grid_of: str = MAIN,
    with_model: bool = True,
    calls: Replies | None = None,
) -> Setup:
    """Open all that an experiment on one data set needs (IRCoT §4)."""
    models: dict[str, Any] = {}
    if with_model:  # first, so that their errors come before an index is built
        extractor = open_extractor(p.extractor) if p.extractor else None
        models = {"model": open_model(p), "extractor": extractor}
    dev, test, corpus = open_corpus(p, dataset)
    kind = find_retriever(p.retriever)  # a notebook may declare one of its own again
    return Setup(
        p,
        find_dataset(dataset),
        experiment,
        open_index(corpus, p.retriever, kind),
        find_calls() if calls is None else calls,
        shown=None if shown is None else find_dataset(shown),
        grid_of=grid_of,
        dev=dev,
        test=test,
        **models,
    )


open_calls = cache(Calls)
open_extractor = cache(Extractor)


def find_calls() -> Calls:
    return open_calls(DATA / "calls.sqlite")


def open_corpus(
    p: Parameters, dataset: str
) -> tuple[list[Question], list[Question], Corpus]:
    """Dev and test questions (IRCoT §4), and the corpus; no index of it is opened."""
    folder = ROOT / data_folder(p.data_dir, DATA)
    # a kernel reads again what was edited, or declared again in a cell
    made_of = [DATA, find_dataset(dataset).read, *list_files(dataset, folder)]
    if p.further:
        made_of += list_files("own", ROOT / p.further)
    questions, corpus = open_source(
        dataset, folder, p.corpus, p.released, p.further, tuple(made_of)
    )
    dev, test = sample_dev_test(questions, p.dev, p.test or sys.maxsize, p.seed)
    return dev, test, corpus


@cache
def open_index(corpus: Corpus, text: str, kind: object) -> Searcher:
    """The retriever that a text names over a corpus, made if it is missing, once per
    process.
    """
    return open_retriever(corpus, DATA / "indexes" / corpus.folder.name, text)


@cache
def open_source(
    dataset: str,
    folder: Path,
    corpus: str,
    released: bool,
    further: str,
    made_of: tuple,
) -> tuple[list[Question], Corpus]:
    """All questions and the corpus, kept in DATA; read again if `made_of` changes."""
    questions, paragraphs = read_dataset(dataset, folder, corpus, released)
    if corpus == "full":
        assert isinstance(paragraphs, Corpus)
        return questions, paragraphs
    name = f"{folder.resolve().name}-{dataset}"
    if further:
        name += f"-{digest(further, 6)}"
        # one with a title that is there would tell the same, and count as not gold
        titles = {paragraph.title for paragraph in paragraphs}
        pages = read_dataset("own", further)[1]
        new = [page for page in pages if page.title not in titles]
        paragraphs = [*paragraphs, *new]
    return questions, write_corpus(DATA / "corpora" / name, paragraphs)


def change_model(p: Parameters, name: str) -> Parameters:
    """These with another model; a causal one is prompted as GPT3 was (IRCoT §4.1)."""
    changed = p.change(model=name)
    if not p.server:
        folder = find_config(name)
        if folder is None or is_encoder_decoder(folder):
            return changed
    return changed.change(style=GPT3.name)


def both_models(p: Parameters) -> list[Parameters]:
    """These and, if it is named, those with the model in GPT3's place (IRCoT §4.1)."""
    if not p.gpt3:
        return [p]
    return [p, change_model(p, p.gpt3)]
