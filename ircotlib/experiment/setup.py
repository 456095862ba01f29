"""A setup is all that a run needs: a data set, a retriever, a model, prompts and the
call cache. Here it is opened as the parameters name it, and gives each system its
program.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset, digest, find_dataset, sample_dev_test
from ircotlib.datasets.files import read_dataset
from ircotlib.engine.cache import Calls
from ircotlib.experiment.laboratory import data_folder
from ircotlib.files import DATA, ROOT, check_name
from ircotlib.models import extractor
from ircotlib.models.folders import find_config, find_folder, is_encoder_decoder
from ircotlib.models.local import LocalModel, Tokens
from ircotlib.models.replies import read_reply
from ircotlib.models.server import ServerModel, find_price
from ircotlib.parameters import MAIN, NO_RUN, Parameters
from ircotlib.program import (
    Duplicate,
    Extract,
    Extracted,
    Generate,
    Program,
    Purposed,
    Sample,
    with_purpose,
)
from ircotlib.prompting import demonstrations as sets
from ircotlib.prompting.prompt import GPT3, STYLES, Prompt, Style
from ircotlib.prompting.templates import Template, read_template
from ircotlib.retrieval import open_retriever, stand_in
from ircotlib.retrieval.corpus import Corpus, write_corpus
from ircotlib.systems import SETS, System, WritePrompt
from ircotlib.systems.ircot import READER, read_paragraphs, with_main_passage

# a title or a question in a table is text: a dollar sign in it does not begin a formula
pd.set_option("display.html.use_mathjax", False)
# as without pyarrow, which refuses halves of surrogate pairs
pd.set_option("mode.string_storage", "python")


BACKENDS = ("retriever", "model", "extractor", "duplicates")


class Recorded(NamedTuple):
    """Stands for a backend whose replies are in the call cache, and never asked for."""

    answers: type | tuple[type, ...]
    fingerprint: str
    decode: Callable[[str], object]
    count_tokens: Callable[[str], int] | None = None


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
    shown: Dataset | None = None
    grid_of: str = MAIN
    dev: Sequence[Question] = ()
    test: Sequence[Question] = ()
    retriever: object = None
    calls: Calls | None = None
    model: object = None
    extractor: object = None
    duplicates: object = None

    @property
    def runs(self) -> Path:
        """The folder of its runs."""
        shown = self.shown and self.shown.name
        folder = runs_folder(self.parameters, self.experiment, shown, self.grid_of)
        return folder / self.dataset.name

    @property
    def backends(self) -> list:
        """The backends that answer the requests of its programs."""
        every = (self.retriever, self.model, self.extractor, self.duplicates)
        return [backend for backend in every if backend is not None]

    @property
    def scored_as(self) -> Dataset:
        """The record by which answers are scored, that of IRCoT's released program if
        asked.
        """
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
        """Whether prompts of IRCoT's systems show demonstrations; others have their
        examples.
        """
        p = self.parameters
        values = p.demonstrations and p.grid("", "m", [], self.grid_of)
        return bool(values) and self.style.demonstrated

    @property
    def ambient(self) -> dict:
        """The keywords that programs get in addition to their own setting, if they take
        them.
        """
        p, offered = self.parameters, {"others": tuple(self.test)}
        offered |= {
            "max_tokens": self.style.generation_tokens,
            "max_steps": p.max_steps,
        }
        offered |= {
            "sentence": self.style.sentence,
            "released": p.released,
            "chat": p.chat,
        }
        if embed := getattr(self.retriever, "embed", None):  # a dense retriever's
            offered["embed"] = embed
        return offered | self.dataset.program_arguments

    def tokens(self, system: System) -> dict[str, int]:
        """The limits of generations in tokens: for IRCoT's systems the style's
        (released program); for others at most the style's `chain_tokens` or half the
        window (ours).
        """
        if not system.tokens:
            return {"max_tokens": self.style.generation_tokens}
        least = self.dataset.program_arguments
        most = min(self.style.chain_tokens, self.window // 2)
        return {
            name: min(max(n, least.get(name, 0)), most)
            for name, n in system.tokens.items()
        }

    def grid(self, system: System) -> dict[str, list]:
        """The grid over which a system is tuned; without M if prompts show no
        demonstrations.
        """
        grid = {
            name: self.parameters.grid(system.module, name, list(own), self.grid_of)
            for name, own in system.grid.items()
            if name != "m" or self.demonstrated
        }
        return {name: values for name, values in grid.items() if values}

    def settings(self, system: System) -> list[dict]:
        """All settings of a system's grid."""
        grid = self.grid(system)
        return [
            dict(zip(grid, values, strict=True)) for values in product(*grid.values())
        ]

    def choose(self, system: System, **offered: object) -> dict:
        """The part that is in a system's grid, of a setting that is offered to many
        systems.
        """
        return {
            name: value for name, value in offered.items() if name in self.grid(system)
        }

    def examples(
        self, stage: str, m: int | None, demonstration_set: int, system: System
    ) -> tuple[Template, list]:
        """The template of a stage and what its prompts show; see `prompt`."""
        p, style, shown = self.parameters, self.style, self.shown or self.dataset
        template = read_template(system.module, stage, style.name)
        by_sets = system.demonstrated_by == SETS
        none = (by_sets and m is sets.NO_DEMONSTRATIONS) or system.count_examples(
            shown
        ) == 0
        if none or not style.demonstrated:
            return template, []
        # of one family for all systems, unless the data set shown matters (IRCoT §5)
        if by_sets:
            of = p.demonstrations, shown.name, stage, style.name, m, demonstration_set
            found = sets.find_demonstrations(
                *of, "" if self.shown else shown.example_family
            )
            return template, found[-p.most_demonstrations :]
        found = sets.find_examples(
            p.demonstrations, system.module, stage, shown, template
        )
        return template, list(
            found[: system.count_examples(shown)][: p.most_demonstrations]
        )

    def prompt(
        self,
        stage: str,
        m: int | None = 0,
        demonstration_set: int = 0,
        system: System = READER,
    ) -> Prompt:
        """The prompt writer of a stage. `m`: distractors, NO_PARAGRAPHS or
        NO_DEMONSTRATIONS.
        """
        template, shown = self.examples(stage, m, demonstration_set, system)
        released = self.parameters.released and system.demonstrated_by == SETS
        longest = max(
            self.tokens(system).values(), default=self.style.generation_tokens
        )
        limit, count = self.window - longest, self.model.count_tokens
        return Prompt(shown, count, template, limit, self.style.arrange, released)


def runs_folder(
    p: Parameters, experiment: str, shown: str | None = None, grid_of: str = MAIN
) -> Path:
    """The folder of an experiment's runs; its name has a hash of the parameters not in
    NO_RUN.
    """
    check_name("experiment", experiment)
    values = {
        name: value for name, value in p.model_dump().items() if name not in NO_RUN
    }
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
    calls: Calls | None = None,
) -> Setup:
    """Open all that an experiment on one data set needs (IRCoT §4); what several setups
    share is opened once per process. `calls`: None for the call cache of this machine.
    """
    models = {}
    if with_model:  # first, so that their errors come before an index is built
        models = {"model": open_model(p), "duplicates": open_duplicates(p.duplicates)}
        models |= {"extractor": open_extractor(p.extractor) if p.extractor else None}
    opened = open_dataset(p, dataset)
    other = None if shown is None else find_dataset(shown)
    calls = open_calls(DATA / "calls.sqlite") if calls is None else calls
    named = p, find_dataset(dataset), experiment, other, grid_of
    return Setup(*named, *opened, calls, **models)


open_calls, open_local, open_extractor = (
    cache(Calls),
    cache(LocalModel),
    cache(extractor.Extractor),
)
open_served, open_duplicates = cache(ServerModel), cache(extractor.open_duplicates)
open_index = cache(open_retriever)


def open_model(p: Parameters) -> object:
    """The model that the parameters name, on this machine or behind a server."""
    if not p.server:
        return open_local(p.model, dtype=p.dtype)
    named = {
        "name": p.model,
        "server": p.server,
        "chat": p.chat,
        "in_flight": p.in_flight,
    }
    return open_served(
        **named, price=find_price(p.model, p.prices), max_cost=p.max_cost
    )


def open_recorded(p: Parameters, about: Mapping) -> Setup:
    """The setup of a run with the run.json `about`, to look at the run: replies in the
    call cache are found, and no model, server or index is opened, or asked for others.
    """
    dataset = about["dataset"]
    dev, test, corpus = open_corpus(p, dataset)
    index = open_pages(DATA, dataset, p.data_dir, p.corpus, p.released, p.further)[2]
    kept = {name: about.get(f"{name}_fingerprint") for name in BACKENDS}
    retriever = stand_in(corpus, index, p.retriever, kept["retriever"])
    model = Recorded((Generate, Sample), kept["model"], read_reply, count_tokens_of(p))
    extractor = duplicates = None
    if kept["extractor"]:
        extractor = Recorded(Extract, kept["extractor"], Extracted.read)
    if kept["duplicates"]:
        duplicates = Recorded(Duplicate, kept["duplicates"], json.loads)
    backends = (
        retriever,
        open_calls(DATA / "calls.sqlite"),
        model,
        extractor,
        duplicates,
    )
    other = about["shown"] and find_dataset(about["shown"])
    named = p, find_dataset(dataset), about["experiment"], other, about["grid_of"]
    return Setup(*named, dev, test, *backends)


def count_tokens_of(p: Parameters) -> Callable[[str], int] | None:
    """How the model that the parameters name counts tokens, from its tokenizer; None if
    that is not on this machine.
    """
    if p.server:
        return open_model(p.change(max_cost=None)).count_tokens  # an estimate
    try:
        return Tokens(find_folder(p.model, weights=(), here=True)).count
    except FileNotFoundError:
        return None


def open_corpus(
    p: Parameters, dataset: str
) -> tuple[list[Question], list[Question], Corpus]:
    """Dev and test questions (IRCoT §4), and the corpus; no index of it is opened."""
    questions, corpus, _ = open_pages(
        DATA, dataset, p.data_dir, p.corpus, p.released, p.further
    )
    return *sample_dev_test(questions, p.dev, p.test or sys.maxsize, p.seed), corpus


def open_dataset(
    p: Parameters, dataset: str
) -> tuple[list[Question], list[Question], object]:
    """Dev and test questions (IRCoT §4), and the index of the corpus, built if it is
    missing.
    """
    dev, test, corpus = open_corpus(p, dataset)
    index = open_pages(DATA, dataset, p.data_dir, p.corpus, p.released, p.further)[2]
    return dev, test, open_index(corpus, index, p.retriever)


@cache
def open_pages(
    data: Path, dataset: str, data_dir: str, corpus: str, released: bool, further: str
) -> tuple[list[Question], Corpus, Path]:
    """All questions of a data set, its corpus, and the folder of the corpus's index."""
    folder = data_folder(data_dir, data)
    questions, paragraphs = read_dataset(dataset, folder, corpus, released)
    if corpus == "full":
        return questions, paragraphs, data / "indexes" / paragraphs.folder.name
    name = f"{(ROOT / folder).resolve().name}-{dataset}"
    # not of a title that is there: it would tell the same, and count as not gold
    if further:
        paragraphs, name = [*paragraphs], f"{name}-{digest(further, 6)}"
        titles = {paragraph.title for paragraph in paragraphs}
        paragraphs += [
            page for page in read_dataset("own", further)[1] if page.title not in titles
        ]
    stored = write_corpus(data / "corpora" / name, paragraphs)
    return questions, stored, data / "indexes" / name


def change_model(p: Parameters, name: str) -> Parameters:
    """The parameters with another model; a causal model is prompted as GPT3 was (IRCoT
    §4.1).
    """
    changed = p.change(model=name)
    folder = None if p.server else find_config(name)
    is_causal = p.server or (folder is not None and not is_encoder_decoder(folder))
    return changed.change(style=GPT3.name) if is_causal else changed


def both_models(p: Parameters) -> list[Parameters]:
    """The parameters, and those with the model in GPT3's place, if there is one (IRCoT
    §4.1).
    """
    return [p, change_model(p, p.gpt3)] if p.gpt3 else [p]


def program_of(
    setup: Setup, system: System, *, demonstration_set: int = 0, **setting
) -> Callable[[Question], Program]:
    """The program of a system with a setting (IRCoT §4.1: K, M), to be called with a
    question. If that has a main passage, only pages that the model names first are
    searched (IRCoT App. B).
    """
    without = sets.NO_PARAGRAPHS if setup.demonstrated else sets.NO_DEMONSTRATIONS
    m = setting.pop("m", without)  # distractors (IRCoT §4.1: M)
    kind = setup.parameters.reader  # direct for Flan-T5, cot for GPT3 (IRCoT App. E)
    max_tokens = setup.style.generation_tokens

    def write(stage: str, of: System) -> WritePrompt:
        prompt = setup.prompt(stage, m, demonstration_set, of)

        def write_with_purpose(*shown, **fields) -> Purposed:
            return with_purpose(
                prompt(*shown, **fields), f"{of.name} {of.stages[stage]}"
            )

        return write_with_purpose

    prompts = {stage: write(stage, system) for stage in system.stages}
    of_reader = write(kind, READER) if system.reads else None
    ask_for_titles = cache(partial(write, "titles", READER))

    def read(question: Question, paragraphs: Sequence[Paragraph]) -> Program:
        return read_paragraphs(
            question, paragraphs, of_reader, kind == "cot", max_tokens
        )

    offered = {"prompts": prompts, "read": read} | setup.ambient | setup.tokens(system)
    offered |= system.draw_at_most(setup.parameters.samples)
    if (examples := system.count_examples(setup.dataset)) is not None:
        offered["examples"] = examples
    taken = {
        name: value for name, value in offered.items() if name in system.defaults
    } | setting

    def program(question: Question) -> Program:
        own = system.program(question, **taken)
        if question.passage is None:  # all but IIRC (IRCoT App. B)
            return own
        return with_main_passage(question, own, ask_for_titles, max_tokens=max_tokens)

    return program
