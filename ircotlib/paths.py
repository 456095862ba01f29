"""Where things are, and how a folder or a lock is held. Two folders can be moved by an environment
variable, for example to try something without touching the kept figures.
"""

import os
import pkgutil
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from filelock import FileLock, Timeout

ROOT = Path(__file__).resolve().parents[1]


def _movable(variable: str, default: Path) -> Path:
    """The folder that an environment variable names, or the default.

    A relative one is relative to where the command was started. It is made absolute for this
    process and all that it starts, for notebooks run in a folder of their own.
    """
    if not os.environ.get(variable):
        return default
    os.environ[variable] = os.path.abspath(os.environ[variable])
    return Path(os.environ[variable])


# corpora, indexes, runs, calls.sqlite, executed notebooks
DATA = _movable("IRCOT_DATA", ROOT / "data")
FIGURES = _movable("IRCOT_FIGURES", ROOT / "figures")
NOTEBOOKS = ROOT / "notebooks"
PROFILES = ROOT / "profiles"
PROMPTS = ROOT / "prompts"
REPORTED = ROOT / "data" / "reported.csv"
REPORTED_CASES = ROOT / "data" / "reported_cases.csv"
DOWNLOADS = ROOT / "data" / "downloads.csv"  # where the official files are
PRICES = ROOT / "data" / "prices.csv"  # of models behind servers
MODELS = ROOT / "data" / "models"  # the shipped ones


@contextmanager
def write_folder(folder: Path, about: str, kind: str) -> Iterator[Path]:
    """A folder to write in, beside the one named, whose place it takes in the end, whole or not at
    all: after an error nothing is left of it.

    Raises ValueError when the one named has files, but not the file `about` that every such folder
    has; `kind`: what it is, for the error.
    """
    if folder.exists() and not (folder / about).is_file() and any(folder.iterdir()):
        expected = "it needs a folder of its own, empty or not there yet"
        raise ValueError(f"{folder} holds files that are no {kind}: {expected}")
    partial, replaced = (
        folder.with_name(folder.name + suffix) for suffix in (".partial", ".replaced")
    )
    for left_over in (partial, replaced):
        shutil.rmtree(left_over, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if folder.exists():
        folder.rename(replaced)
    partial.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file, whole or not at all: a full disk or a kill leaves the one that was there."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def hold_lock(path: Path, what: str, patience: float = 5.0) -> Iterator[None]:
    """Hold a lock that one process at a time can hold; it ends with the process, however it ends.

    Says on stderr when another process holds it for longer than `patience` seconds. `what`: what
    that one is making.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        print(f"waiting for another process to make {what} ({path})", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def resolve(path: str) -> str:
    """A path given relative to the repository made absolute where it exists there; anything else (a
    hub id, an absolute path) as it is.
    """
    return str(ROOT / path) if path and (ROOT / path).exists() else path


@cache
def import_modules(package: str, folders: tuple[str, ...]) -> tuple[ModuleType, ...]:
    """The modules of a package in these folders, imported once."""
    names = (found.name for found in pkgutil.iter_modules(folders))
    return tuple(import_module(f"{package}.{name}") for name in names)
