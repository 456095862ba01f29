"""Checks, before any notebook starts, the folders, files, models and clients of the parameters.
What is wrong in the parameters is a UserError; what does not answer is Unavailable.
"""

import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.request import getproxies

from ircotlib.command.models import check_encoder_of, check_models
from ircotlib.datasets import find_dataset
from ircotlib.datasets.downloads import find_files
from ircotlib.datasets.files import find_questions
from ircotlib.errors import Unavailable, UserError
from ircotlib.files.paths import DATA, FIGURES, ROOT, check_writable, resolve
from ircotlib.files.urls import is_here, why_unreachable
from ircotlib.parameters import SIMULATED, Parameters
from ircotlib.retrieval import find_retriever
from ircotlib.running.laboratory import open_simulated_reader


def check_places(
    p: Parameters, data: bool = True, model: bool = True, models: bool = True, second: bool = False
) -> None:
    """Raise UserError or Unavailable if a folder, a file, a model, a client or an Elasticsearch
    that the parameters name is not there, or if a folder cannot be written to.

    `data`: look for the official files and the Elasticsearch. `model`, `models`, `second`: look on
    the hub for the model, for those of 06_scale, and for that of 14_searchain_tables. A model
    server that does not answer is only reported on stderr, because replies in the call cache do not
    need it.
    """
    for name in ("", "corpora", "indexes", "runs", f"runs/{p.profile}", "executed"):
        check_writable(DATA / name, "IRCOT_DATA")
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
    check_models(p, model, models, second)
    try:
        if data:
            _check_data(p)
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
    """Its client is installed, its model is there and an encoder, or, if `answers`, its
    Elasticsearch is there.
    """
    record = find_retriever(retriever)
    if record.module:
        _check_client(record.module, record.extra)
    check_encoder_of(retriever)
    urls = retriever.split(",") if answers and record.takes == "addresses" else ()
    if urls and all(reasons := [why_unreachable(url) for url in urls]):
        start = "start one (docker compose -f docker/compose-one.yml up -d), or correct the address"
        away = f"retriever: no Elasticsearch answers at {retriever} ({reasons[0]})"
        raise Unavailable(f"{away}; {start}")


def _check_client(package: str, extra: str) -> None:
    if find_spec(package) is None:
        raise Unavailable(f"found no {package}, expected it: pip install -e '.[{extra}]'")


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
