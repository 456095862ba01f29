"""Checks, before any notebook starts, the folders, files, models and clients of the parameters.
What is wrong in the parameters is a UserError; what does not answer is Unavailable.
"""

import re
import sys
from contextlib import suppress
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from urllib.request import getproxies

from ircotlib.datasets import find_dataset
from ircotlib.datasets.downloads import find_files
from ircotlib.datasets.files import find_questions
from ircotlib.errors import Unavailable, UserError
from ircotlib.files.paths import DATA, FIGURES, ROOT, check_writable, resolve
from ircotlib.files.urls import is_here, why_unreachable
from ircotlib.parameters import SIMULATED, Parameters
from ircotlib.prompting.demonstrations import prompt_path
from ircotlib.prompting.prompt import STYLES
from ircotlib.retrieval import find_retriever, model_of
from ircotlib.running.laboratory import open_simulated_reader
from ircotlib.systems import IRCOT, choose_systems

CONFIG = "config.json"


def check_places(p: Parameters, data: bool = True, model: bool = True, models: bool = True) -> None:
    """Raise UserError or Unavailable if a folder, a file, a model, a client or an Elasticsearch
    that the parameters name is not there, or if a folder cannot be written to.

    `data`: look for the official files and the Elasticsearch. `model`, `models`: look on the hub
    for the model, and for those of 06_scale. A model server that does not answer is only reported
    on stderr, because replies in the call cache do not need it.
    """
    check_writable(DATA, "IRCOT_DATA")
    check_writable(FIGURES, "IRCOT_FIGURES")
    _check_folder("data_dir", p.data_dir)
    if p.distractors:
        _check_folder("demonstrations", p.demonstrations)
    for retriever in (p.retriever, *p.retrievers):
        _check_retriever(retriever, answers=data)
    if SIMULATED in (p.model, *p.models, p.second_model, p.extractor):
        open_simulated_reader(p)  # raises UserError if the data are not a laboratory's
    if p.server:
        _check_client("openai", "server")
    else:
        check_model("model", p.model, hub=model)
        for name in p.models:
            check_model("models", name, hub=models)
        check_model("agent", p.agent)
        check_model("second_model", p.second_model)
    check_model("extractor", p.extractor)
    check_model("duplicates", p.duplicates)
    try:
        if data:
            _check_data(p)
        if data and model and STYLES[p.style].demonstrated:
            systems = [s for s in choose_systems(p.systems) if s.study == IRCOT and "m" in s.grid]
            for dataset, m in product(p.datasets, p.distractors if systems else ()):
                prompt_path(p.demonstrations, dataset, p.reader, p.style, m)
    except FileNotFoundError as error:
        raise UserError(str(error)) from None
    for url in p.server.split(",") if model and p.server else ():
        if (is_here(url) or not getproxies()) and (reason := why_unreachable(url)):
            away = f"{url} does not answer ({reason}): only replies that are kept can be used"
            print(away, file=sys.stderr, flush=True)


def _check_folder(name: str, value: str) -> None:
    folder = resolve(value)
    if folder and not Path(folder).is_dir():
        raise UserError(f"{name}: found no folder {folder}, expected one: see docs/data.md")


def _check_retriever(retriever: str, answers: bool) -> None:
    """Its client is installed, and its model is there or, if `answers`, its Elasticsearch."""
    record = find_retriever(retriever)
    if record.module:
        _check_client(record.module, record.extra)
    check_model("retriever", model_of(retriever), hub=True, file=None)
    urls = retriever.split(",") if answers and record.takes == "addresses" else ()
    if urls and all(reasons := [why_unreachable(url) for url in urls]):
        start = "start one (docker compose -f docker/compose-one.yml up -d), or correct the address"
        away = f"retriever: no Elasticsearch answers at {retriever} ({reasons[0]})"
        raise Unavailable(f"{away}; {start}")


def _check_client(package: str, extra: str) -> None:
    if find_spec(package) is None:
        raise Unavailable(f"found no {package}, expected it: pip install -e '.[{extra}]'")


def check_model(parameter: str, name: str, hub: bool = False, file: str | None = CONFIG) -> None:
    """Raise UserError if a model is neither a folder that holds `file` nor a name of the hub.
    `hub`: raise Unavailable if neither the Hugging Face hub nor its local cache has it.
    """
    folder = Path(resolve(name))
    if name in ("", SIMULATED) or (folder.is_dir() and (file is None or (folder / file).is_file())):
        return
    if folder.exists() or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
        lacking = f"no {file} in {folder}" if folder.is_dir() else f"no folder {folder}"
        expected = "expected a folder of a model, or a name on the Hugging Face hub"
        raise UserError(f"{parameter}: found {lacking}, {expected}: see docs/models.md")
    if not hub:
        return
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name, CONFIG), str):
        return
    try:
        HfApi().model_info(name, timeout=2.5)
    except Exception as error:  # the library raises its own errors and those of two HTTP clients
        reason = " ".join(str(error).split())[:200]
        missing = f"found no folder {name!r}, and the Hugging Face hub gives no such model"
        give = "give a folder, or a name on the hub with a network connection"
        raise Unavailable(f"{parameter}: {missing} ({reason}); {give}") from None


def _check_data(p: Parameters) -> None:
    """The official files are there, those of a corpus unless it was already made."""
    if p.corpus == "full" and not p.data_dir:
        raise UserError("corpus: found full and no data_dir, expected the official files' folder")

    def stop(label: str, total: int) -> None:  # where unpacking begins: the archive is there
        raise InterruptedError

    for dataset in map(find_dataset, p.datasets if p.data_dir else ()):
        find_questions(dataset, ROOT / p.data_dir)
        full = dataset.full_corpus
        if p.corpus == "full" and full is None:
            raise UserError(f"corpus: found no full one of {dataset.name}, expected corpus=pooled")
        if p.corpus == "full" and not (DATA / "corpora" / f"{full.name}-full").is_dir():
            with suppress(InterruptedError):
                find_files(full, ROOT / p.data_dir, stop)
