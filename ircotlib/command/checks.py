"""Checks, before any notebook starts, the folders, files, models and clients that the parameters
name. What is wrong in the parameters is a UserError; what does not answer is Unavailable.
"""

import re
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Never
from urllib.request import getproxies

from ircotlib.datasets import Dataset, find_dataset
from ircotlib.datasets.downloads import find_files
from ircotlib.datasets.files import find_questions
from ircotlib.errors import Unavailable, UserError
from ircotlib.files.paths import DATA, FIGURES, ROOT, resolve
from ircotlib.files.urls import is_here, why_unreachable
from ircotlib.parameters import Parameters
from ircotlib.prompting.demonstrations import prompt_path
from ircotlib.prompting.prompt import STYLES
from ircotlib.retrieval import find_retriever, model_of
from ircotlib.systems import IRCOT, choose_systems

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
CONFIG = "config.json"


def check_places(p: Parameters, data: bool = True, model: bool = True, models: bool = True) -> None:
    """Raise UserError or Unavailable if a folder, a file, a model, a client or an Elasticsearch
    that the parameters name is not there, or if a folder cannot be written to.

    `data`: look for the official files and the Elasticsearch. `model`, `models`: look on the hub
    for the model, and for the models of 06_scale. A model server that does not answer is no error
    but is reported on stderr, because replies in the call cache do not need it.
    """
    check_writable(DATA, "IRCOT_DATA")
    check_writable(FIGURES, "IRCOT_FIGURES")
    _check_folder("data_dir", p.data_dir)
    if p.distractors:
        _check_folder("demonstrations", p.demonstrations)
    for retriever in (p.retriever, *p.retrievers):
        _check_retriever(retriever, answers=data)
    _check_models(p, model, models)
    try:
        if data:
            _check_data(p)
        if data and model:
            _check_prompts(p)
    except FileNotFoundError as error:
        raise UserError(str(error)) from None
    if model and p.server:
        _report_away(p.server)


def check_writable(folder: Path, variable: str) -> None:
    """Raise UserError if a file of 64 kB cannot be written to a folder or, if it does not exist
    yet, to the nearest folder above it. Nothing is left behind.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(bytes(1 << 16))
            file.flush()
    except OSError as error:
        reason = f"cannot be written to ({error.strerror or error})"
        raise UserError(f"{folder}: {reason}; free it, or set {variable} to another") from None


def _check_folder(name: str, value: str) -> None:
    folder = resolve(value)
    if folder and not Path(folder).is_dir():
        raise UserError(f"{name}: found no folder {folder}, expected one: see docs/data.md")


def _check_retriever(retriever: str, answers: bool) -> None:
    """Its client is installed, and its model is there or, if `answers`, an address of its
    Elasticsearch accepts a connection.
    """
    record = find_retriever(retriever)
    if record.module:
        _check_client(record.module, record.extra)
    check_model("retriever", model_of(retriever), hub=True, file=None)
    urls = retriever.split(",") if answers and record.takes == "addresses" else ()
    if urls and all(reasons := [why_unreachable(url) for url in urls]):
        raise Unavailable(
            f"retriever: no Elasticsearch answers at {retriever} ({reasons[0]}); start one"
            " (docker compose -f docker/compose-one.yml up -d), or correct the address"
        )


def _check_client(package: str, extra: str) -> None:
    if find_spec(package) is None:
        raise Unavailable(f"found no {package}, expected it: pip install -e '.[{extra}]'")


def _check_models(p: Parameters, model: bool, models: bool) -> None:
    """The models are there, in folders or on the hub, or the client of their server is."""
    if p.server:
        _check_client("openai", "server")
    else:
        check_model("model", p.model, hub=model)
        for name in p.models:
            check_model("models", name, hub=models)
        check_model("agent", p.agent)
    check_model("extractor", p.extractor)
    check_model("duplicates", p.duplicates)


def check_model(parameter: str, name: str, hub: bool = False, file: str | None = CONFIG) -> None:
    """Raise UserError if a model is neither a folder that holds `file` nor a name on the Hugging
    Face hub. `hub`: raise Unavailable if neither the hub nor its local cache has it.
    """
    folder = Path(resolve(name))
    if not name or (folder.is_dir() and (file is None or (folder / file).is_file())):
        return
    if folder.exists() or not HUB_NAME.fullmatch(name):
        found = f"no {file} in {folder}" if folder.is_dir() else f"no folder {folder}"
        raise UserError(
            f"{parameter}: found {found}, expected a folder of a model, or a name on the Hugging"
            " Face hub: see docs/models.md"
        )
    if hub and (reason := _missing_on_hub(name)):
        raise Unavailable(
            f"{parameter}: found no folder {name!r}, and the Hugging Face hub gives no model of"
            f" that name ({reason}); give a folder, or a name on the hub with a network connection"
        )


def _missing_on_hub(name: str) -> str:
    """Why neither the hub nor its local cache gives a model; "" if one of them does."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name, CONFIG), str):
        return ""
    try:
        HfApi().model_info(name, timeout=2.5)
    except Exception as error:  # the library raises its own errors and those of two HTTP clients
        return " ".join(str(error).split())[:200]
    return ""


def _check_data(p: Parameters) -> None:
    """The official files are there; a corpus that was already made needs only the questions."""
    if p.corpus == "full" and not p.data_dir:
        raise UserError("corpus: found full and no data_dir, expected the official files' folder")
    for dataset in map(find_dataset, p.datasets if p.data_dir else ()):
        find_questions(dataset, ROOT / p.data_dir)
        if p.corpus == "full":
            _check_full(dataset, ROOT / p.data_dir)


def _check_full(dataset: Dataset, data_dir: Path) -> None:
    if dataset.full_corpus is None:
        raise UserError(f"corpus: found no full corpus of {dataset.name}, expected corpus=pooled")
    if not (DATA / "corpora" / f"{dataset.full_corpus.name}-full").is_dir():
        with suppress(InterruptedError):
            find_files(dataset.full_corpus, data_dir, _stop_unpacking)


def _stop_unpacking(label: str, total: int) -> Never:
    """Stop where unpacking begins: the archive is there, and is unpacked when it is needed."""
    raise InterruptedError


def _check_prompts(p: Parameters) -> None:
    """The demonstrations of IRCoT's systems are there, if any of these systems shows them."""
    shows = any(s.study == IRCOT and "m" in s.grid for s in choose_systems(p.systems))
    if STYLES[p.style].demonstrated and shows:
        for dataset in p.datasets:
            for m in p.distractors:
                prompt_path(p.demonstrations, dataset, p.reader, p.style, m)


def _report_away(server: str) -> None:
    """Report on stderr which addresses of a model server accept no connection. Addresses behind a
    proxy are not tried.
    """
    for url in server.split(","):
        if (is_here(url) or not getproxies()) and (reason := why_unreachable(url)):
            away = f"{url} does not answer ({reason}): only replies that are kept can be used"
            print(away, file=sys.stderr, flush=True)
