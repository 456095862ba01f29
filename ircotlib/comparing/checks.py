"""Checks, before any notebook starts, the folders, files, models and clients of the parameters.
What is wrong in the parameters is a UserError; what does not answer is Unavailable.
"""

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from urllib.request import getproxies

from ircotlib.comparing.comparison import Comparison, suits
from ircotlib.comparing.needs import check_data, check_gold, check_prompts, find_crowded
from ircotlib.comparing.plans import read_all_comparisons
from ircotlib.datasets import find_dataset
from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.files import models
from ircotlib.files.checksums import one_line
from ircotlib.files.extras import need
from ircotlib.files.paths import DATA, FIGURES, check_writable, resolve
from ircotlib.files.urls import is_here, why_unreachable
from ircotlib.parameters import SIMULATED, WITHOUT_WEIGHTS, Parameters
from ircotlib.prompting.prompt import GPT3, STYLES
from ircotlib.retrieval import find_retriever, model_of
from ircotlib.running.backends import open_model
from ircotlib.running.bench import Bench
from ircotlib.running.laboratory import count_questions, is_laboratory, open_simulated_reader

LANGUAGE = models.T5, models.CAUSAL
MODELS = "model", "models", "agent", "second_model"  # parameters that name language models


def check_notebooks(
    p: Parameters, changes: Mapping, notebooks: Sequence[str]
) -> dict[str, list[Comparison]]:
    """What notebooks compare, after all checks of what they need, without those that have nothing
    to run; stderr says which. `changes`: those of the profile that made the parameters. Raises
    UserError or Unavailable.
    """
    planned, left_out = read_all_comparisons(p.profile, changes, notebooks)
    comparisons = [one for several in planned.values() for one in several]
    used = [bench.parameters for one in comparisons for bench in one.benches]
    # a notebook that compares nothing reads the runs of others, or the data
    reads = not all(planned.values()) or any(each.data_dir == p.data_dir for each in used)
    models = {each.model for each in used}
    needs = [name for name in MODELS if models & {*_names(p, name)}]
    check_places(p, [*needs, "data"] if reads else needs)
    for notebook, several in planned.items():
        for comparison in several:
            check_comparison(notebook, comparison)
    for line in left_out:
        print(line, file=sys.stderr, flush=True)
    return planned


def check_comparison(notebook: str, comparison: Comparison) -> None:
    """Raise UserError if a comparison has only systems that its data sets do not suit, or if a
    system cannot be tuned or played by the gold reader, or lacks its questions or prompts.
    """
    pairs = [*product(comparison.benches, comparison.systems)]
    if pairs and not any(suits(system, bench) for bench, system in pairs):
        datasets = ", ".join(bench.dataset.name for bench in comparison.benches)
        found = f"found only {', '.join(system.name for system in comparison.systems)}"
        expected = f"expected one that answers: {datasets} have no gold paragraphs"
        raise UserError(f"systems: {found}, which retrieve, for {notebook}, {expected}")
    for bench, system in pairs:
        settings = len(bench.settings(system)) if comparison.settings is None else 1
        if settings > 1 and not bench.parameters.dev:
            found = f"dev: found 0, and {settings} settings of {system.name} in {notebook}"
            raise UserError(f"{found}, expected dev questions, or grids of one value")
    # a missing folder is made later: by the notebook, or when the bench is opened
    folders = {bench.parameters.data_dir for bench in comparison.benches}
    made = {name for name in folders if not name or Path(resolve(name)).is_dir()}
    runs = [run for run in comparison.runs if run.bench.parameters.data_dir in made]
    try:
        for bench in {id(run.bench): run.bench for run in runs}.values():
            check_data(bench.parameters, bench.dataset)
        check_gold(runs)
        check_prompts(runs)
    except UserError as error:
        remedy = "; or leave the data set, or the notebook, out"
        raise UserError(f"{notebook}: {error}{remedy}") from None
    for p in {id(run.bench.parameters): run.bench.parameters for run in runs}.values():
        if p.server or Path(resolve(p.model)).is_dir():
            by = [run for run in runs if run.bench.parameters is p]
            if crowded := find_crowded(by, open_model(p).count_tokens):
                window = f"a window of {by[0].bench.window} tokens holds no example"
                line = f"{notebook}: {window} of {', '.join(crowded)}: set context_tokens to more"
                print(line, file=sys.stderr, flush=True)


def has_data(bench: Bench) -> bool:
    """Whether a bench can be opened: what a notebook writes, below DATA, may not be there yet."""
    folder = Path(resolve(bench.parameters.data_dir))
    return folder.is_dir() or is_laboratory(bench.parameters.data_dir) or DATA not in folder.parents


def _names(p: Parameters, name: str) -> list[str]:
    """The models that a parameter names."""
    value = getattr(p, name)
    return value if isinstance(value, list) else [value]


def check_places(p: Parameters, needs: Collection[str] = ("data", "model", "models")) -> None:
    """Raise UserError or Unavailable if a folder, a file, a model, a client or an Elasticsearch
    that the parameters name is not there, or if a folder cannot be written to.

    `needs`: "data": look for the official files and the Elasticsearch; names of parameters: look on
    the hub for these models. A model server that does not answer is only reported on stderr,
    because replies in the call cache do not need it.
    """
    for name in ("", "corpora", "indexes", "runs", f"runs/{p.profile}", "executed"):
        check_writable(DATA / name, "IRCOT_DATA")
    check_writable(FIGURES, "IRCOT_FIGURES")
    for name in ("data_dir", "demonstrations") if p.distractors else ("data_dir",):
        if (folder := resolve(getattr(p, name))) and not Path(folder).is_dir():
            raise UserError(f"{name}: found no folder {folder}, expected one: see docs/data.md")
    if (further := resolve(p.further_paragraphs)) and not Path(further).is_file():
        found = f"further_paragraphs: found no file {further}"
        raise UserError(f"{found}, expected one such as corpus.jsonl: see docs/data.md")
    for retriever in (p.retriever, *p.retrievers):
        _check_retriever(retriever, answers="data" in needs)
    if SIMULATED in (p.model, *p.models, p.second_model, p.extractor):
        open_simulated_reader(p)  # raises UserError if the data are not a laboratory's
    if p.server:
        need("openai", "server")
    _check_models(p, needs)
    if "data" in needs:
        _check_data(p)
    for url in p.server.split(",") if "model" in needs and p.server else ():
        if (is_here(url) or not getproxies()) and (reason := why_unreachable(url)):
            away = f"{url} does not answer ({reason}): only replies that are kept can be used"
            print(away, file=sys.stderr, flush=True)


def _check_retriever(retriever: str, answers: bool) -> None:
    """Its client is installed, its model is there and an encoder of the kind that it takes, or, if
    `answers`, its Elasticsearch is there.
    """
    record, model = find_retriever(retriever), model_of(retriever)
    if record.module:
        need(record.module, record.extra)
    if model and (folder := check_model("retriever", model, (), hub=True, file=None)):
        from ircotlib.retrieval.encoder import check_encoder

        try:
            check_encoder(model, folder, late=retriever.startswith("colbert:"))
        except DataError as error:
            raise UserError(f"retriever: {error}") from None
    urls = retriever.split(",") if answers and record.takes == "addresses" else ()
    if urls and all(reasons := [why_unreachable(url) for url in urls]):
        start = "start one (docker compose -f docker/compose-one.yml up -d), or correct the address"
        away = f"retriever: no Elasticsearch answers at {retriever} ({reasons[0]})"
        raise Unavailable(f"{away}; {start}")


def _check_models(p: Parameters, needs: Collection[str]) -> None:
    """All models but encoders are there and of their kinds; those that a server has are not asked
    for. None reads fewer tokens than its prompts may have, as far as its configuration says.
    """
    language = [(parameter, name) for parameter in MODELS for name in _names(p, parameter)]
    for parameter, name in () if p.server else language:
        folder = check_model(parameter, name, LANGUAGE, hub=parameter in needs)
        causal = folder and models.find_kind(folder) == models.CAUSAL
        if parameter not in ("model", "models") or not causal:
            continue
        style = GPT3.name if parameter == "models" else p.style  # both are of causal models
        window = p.context_tokens or STYLES[style].context_tokens
        config = models.read_json(folder, models.CONFIG)
        limit = config.get("max_position_embeddings", config.get("n_positions"))
        if isinstance(limit, int) and limit < window:
            found = f"found a window of {window} for {name}, which reads at most {limit}"
            raise UserError(f"context_tokens: {found}, expected at most that: set context_tokens")
    check_model("extractor", p.extractor, (models.READER,))
    check_model("duplicates", p.duplicates, (models.CROSS_ENCODER,))


def check_model(
    parameter: str,
    name: str,
    kinds: Sequence[str],
    hub: bool = False,
    file: str | None = models.CONFIG,
) -> Path | None:
    """The folder of a model, or of its files in the hub's cache; None if it has none. `kinds`: as
    of `check_kind`; (): any. Raises UserError if it is neither a folder that holds `file` nor a
    name of the hub, or of another kind. `hub`: raise Unavailable if neither the hub nor its cache
    has it.
    """
    folder = Path(resolve(name))
    if name in ("", *WITHOUT_WEIGHTS):
        return None
    if not folder.is_dir() or (file is not None and not (folder / file).is_file()):
        if folder.exists() or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
            lacking = f"no {file} in {folder}" if folder.is_dir() else f"no folder {folder}"
            expected = "expected a folder of a model, or a name on the Hugging Face hub"
            raise UserError(f"{parameter}: found {lacking}, {expected}: see docs/models.md")
        folder = _find_on_hub(parameter, name, hub)
    if folder and kinds:
        try:
            models.check_kind(folder, *kinds)
        except DataError as error:
            raise UserError(f"{parameter}: {error}") from None
    return folder


def _find_on_hub(parameter: str, name: str, hub: bool) -> Path | None:
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(path := try_to_load_from_cache(name, models.CONFIG), str):
        return Path(path).parent
    try:
        if hub:
            HfApi().model_info(name, timeout=2.5)
    except Exception as error:  # the library raises its own errors and those of two HTTP clients
        reason = one_line(error)
        missing = f"found no folder {name!r}, and the Hugging Face hub gives no such model"
        give = "give a folder, or a name on the hub with a network connection"
        raise Unavailable(f"{parameter}: {missing} ({reason}); {give}") from None
    return None


def _check_data(p: Parameters) -> None:
    """The official files are there, those of a corpus unless it was already made."""
    if p.corpus == "full" and not p.data_dir:
        raise UserError("corpus: found full and no data_dir, expected the official files' folder")
    sizes = {name: getattr(p, name) or 0 for name in ("test", "ood_test", "head_to_head_test")}
    most = max(sizes, key=sizes.__getitem__)
    count = count_questions(p.data_dir)
    if count and sizes[most] + p.dev > count:
        some = f"a data set of the laboratory has {count}, and no more are asked"
        print(f"{most}: found {sizes[most]} and dev={p.dev}: {some}", file=sys.stderr, flush=True)
    for name in p.datasets if p.data_dir else ():
        check_data(p, find_dataset(name))
