"""Checks, before any notebook starts, the folders, files, models and clients that the parameters
name.
"""

import re
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Never
from urllib.request import getproxies

from ircotlib.datasets import FullCorpus, find_dataset
from ircotlib.datasets.downloads import find_files
from ircotlib.datasets.files import find_questions
from ircotlib.files.paths import DATA, FIGURES, ROOT, resolve
from ircotlib.files.urls import find_away, is_here
from ircotlib.parameters import Parameters
from ircotlib.prompting.demonstrations import prompt_path
from ircotlib.prompting.prompt import STYLES
from ircotlib.retrieval.names import VECTORS
from ircotlib.systems import IRCOT, choose_systems

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
CONFIG = "config.json"
CLIENTS = {  # module -> the extra that installs it
    "openai": "server",
    "elasticsearch": "elasticsearch",
    "sentence_transformers": "dense",
}


def check_places(p: Parameters, data: bool = True, model: bool = True, models: bool = True) -> None:
    """Raise ValueError if a folder, a file, a model, a client or an Elasticsearch that the
    parameters name is not there, or if a folder cannot be written to.

    `data`: look for the official files and the Elasticsearch. `model`, `models`: look on the hub
    for the model, and for the models of 06_scale. A model server that does not answer is no error
    but is reported on stderr, because replies in the call cache do not need it.
    """
    check_writable(DATA, "IRCOT_DATA")
    check_writable(FIGURES, "IRCOT_FIGURES")
    _check_folder("data_dir", p.data_dir)
    if p.distractors:
        _check_folder("demonstrations", p.demonstrations)
    _check_clients(p)
    _check_models(p, model, models)
    try:
        if data:
            _check_data(p)
        if data and model:
            _check_prompts(p)
    except FileNotFoundError as error:
        raise ValueError(str(error)) from None
    if data:
        _check_elasticsearch(p)
    if model and p.server:
        _tell_away(p.server)


def check_writable(folder: Path, variable: str) -> None:
    """Raise ValueError if a file of 64 kB cannot be written to a folder or, if it does not exist
    yet, to the nearest folder above it. Nothing is left behind.
    """
    there = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(1 << 16))
            file.flush()
    except OSError as error:
        found = f"{folder}: cannot be written to ({error.strerror or error})"
        raise ValueError(f"{found}; free it, or set {variable} to another folder") from None


def _check_folder(name: str, value: str) -> None:
    folder = resolve(value)
    if folder and not Path(folder).is_dir():
        raise ValueError(f"{name}: found no folder {folder}, expected one: see docs/data.md")


def _check_data(p: Parameters) -> None:
    """The official files are there; a corpus that was already made needs only the questions."""
    if p.corpus == "full" and not p.data_dir:
        raise ValueError("corpus: found full and no data_dir, expected the official files' folder")
    for dataset in map(find_dataset, p.datasets if p.data_dir else ()):
        find_questions(dataset, ROOT / p.data_dir)
        if p.corpus == "full":
            _check_full(dataset.full, dataset.name, ROOT / p.data_dir)


def _check_full(corpus: FullCorpus | None, dataset: str, data_dir: Path) -> None:
    if corpus is None:
        raise ValueError(f"corpus: found no full corpus of {dataset}, expected corpus=pooled")
    if not (DATA / "corpora" / f"{corpus.name}-full").is_dir():
        with suppress(_Unpacked):
            find_files(corpus, data_dir, _unpack_later)


class _Unpacked(Exception):
    """Raised to skip unpacking: an archive is there, and is unpacked when its corpus is made."""


def _unpack_later(label: str, total: int) -> Never:
    raise _Unpacked


def _check_prompts(p: Parameters) -> None:
    """The demonstrations of IRCoT's systems are there, if any of these systems shows them."""
    shown = STYLES[p.style].demonstrated
    if shown and any(s.study == IRCOT and "m" in s.grid for s in choose_systems(p.systems)):
        for dataset in p.datasets:
            for m in p.distractors:
                prompt_path(p.demonstrations, dataset, p.reader, p.style, m)


def _check_clients(p: Parameters) -> None:
    """The packages that a server or a retriever needs are installed."""
    wanted = {"openai"} if p.server else set()
    for retriever in (p.retriever, *p.retrievers):
        kind = retriever.partition(":")[0]
        wanted |= {"sentence_transformers"} if kind in VECTORS else set()
        wanted |= {"elasticsearch"} if kind.startswith("http") else set()
    for name in sorted(wanted):
        if find_spec(name) is None:
            raise ValueError(f"found no {name}, expected it: pip install -e '.[{CLIENTS[name]}]'")


def _check_elasticsearch(p: Parameters) -> None:
    """At least one address of each Elasticsearch accepts a connection."""
    for retriever in (p.retriever, *p.retrievers):
        urls = retriever.split(",") if retriever.startswith("http") else ()
        if urls and all(reasons := [find_away(url) for url in urls]):
            raise ValueError(
                f"retriever: no Elasticsearch answers at {retriever} ({reasons[0]}); start one"
                " (docker compose -f docker/compose-one.yml up -d), or correct the address"
            )


def _tell_away(server: str) -> None:
    """Report on stderr which addresses of a model server accept no connection. Addresses behind a
    proxy are not tried.
    """
    for url in server.split(","):
        if (is_here(url) or not getproxies()) and (reason := find_away(url)):
            said = f"{url} does not answer ({reason}): only replies that are kept can be used"
            print(said, file=sys.stderr, flush=True)


def _check_models(p: Parameters, model: bool, models: bool) -> None:
    """The models are there, in folders or on the hub."""
    if not p.server:
        check_model("model", p.model, hub=model)
        for name in p.models:
            check_model("models", name, hub=models)
        check_model("agent", p.agent)
    for retriever in (p.retriever, *p.retrievers):
        kind, _, name = retriever.partition(":")
        check_model("retriever", name if kind in VECTORS else "", hub=True, file=None)
    check_model("extractor", p.extractor)
    check_model("duplicates", p.duplicates)


def check_model(parameter: str, name: str, hub: bool = False, file: str | None = CONFIG) -> None:
    """Raise ValueError if a model is neither a folder that holds `file` nor a name on the Hugging
    Face hub. `hub`: also check that the hub or its local cache has a model of that name.
    """
    folder = Path(resolve(name))
    if not name or (folder.is_dir() and (file is None or (folder / file).is_file())):
        return
    if folder.exists() or not HUB_NAME.fullmatch(name):
        found = f"no {file} in {folder}" if folder.is_dir() else f"no folder {folder}"
        raise ValueError(
            f"{parameter}: found {found}, expected a folder of a model, or a name on the Hugging"
            " Face hub: see docs/models.md"
        )
    if hub and (reason := _missing_on_hub(name)):
        raise ValueError(
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
