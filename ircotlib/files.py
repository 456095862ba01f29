"""Paths; files that are locked, or written completely or not at all; progress."""

import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex

from filelock import FileLock
from tqdm.auto import tqdm

from ircotlib.errors import DataError, Unavailable, UserError

HERE = Path(__file__).resolve()
# notebooks, profiles, prompts, tables and models: beside the package in a clone, in it
# in a wheel
INSTALLED = (HERE.parent / "shipped").is_dir()
SHIPPED = HERE.parent / "shipped" if INSTALLED else HERE.parents[1]


def folder_from_env(variable: str, default: Path) -> Path:
    """The folder that an environment variable names, or else the default; absolute."""
    return Path(os.environ.get(variable) or default).expanduser().absolute()


# where relative paths begin: the clone; of an installed package, IRCOT_HOME or the
# current folder
ROOT = folder_from_env("IRCOT_HOME", Path.cwd()) if INSTALLED else SHIPPED
# corpora, indexes, runs, calls.sqlite, executed notebooks
DATA = folder_from_env("IRCOT_DATA", ROOT / "data")
FIGURES = folder_from_env("IRCOT_FIGURES", ROOT / "figures")
NOTEBOOKS = (ROOT if (ROOT / "notebooks").is_dir() else SHIPPED) / "notebooks"
PROFILES = (ROOT if (ROOT / "profiles").is_dir() else SHIPPED) / "profiles"
PROMPTS = SHIPPED / "prompts"
REPORTED = SHIPPED / "data" / "reported.csv"
CLAIMS = SHIPPED / "data" / "claims.csv"
MODELS = SHIPPED / "data" / "models"  # the shipped ones

# how SQLite's errors begin that say nothing against the file
WHOLE = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_PERM")


def environment() -> dict[str, str]:
    """The variables with which a process in another folder has the same home."""
    home = {"IRCOT_HOME": ROOT, "IRCOT_DATA": DATA, "IRCOT_FIGURES": FIGURES}
    if os.environ.get("IRCOT_PLUGINS"):
        home["IRCOT_PLUGINS"] = plugin_folder()
    return {name: str(folder) for name, folder in home.items()}


def plugin_folder() -> Path:
    """The folder `plugins`, or the one that IRCOT_PLUGINS names."""
    return folder_from_env("IRCOT_PLUGINS", ROOT / "plugins")


def resolve(path: str) -> str:
    """A path that is below ROOT, or shipped, made absolute; all else as it is."""
    path = os.path.expanduser(path)
    for folder in (ROOT, SHIPPED):
        if path and (folder / path).exists():
            return str(folder / path)
    return path


def check_name(kind: str, name: str) -> None:
    """Raise UserError for a name that cannot be a folder's everywhere."""
    fits = name[:1].isalnum() and name.isprintable() and len(name) <= 60
    if not fits or "/" in name:
        expected = "a letter or digit, then 59 printable characters at most, and no /"
        raise UserError(f"found the {kind} {name!r:.99}, expected {expected}")


def figure_path(file: str, profile: str = "mini", trial: str = "") -> Path:
    """Where a figure or table is; its name includes the profile's, unless mini."""
    stem, end = file.rsplit(".", 1)
    if profile != "mini" and "<profile>" not in stem:
        stem += f"_{profile}"
    return FIGURES / trial / f"{stem.replace('<profile>', profile)}.{end}"


def name_trial(changed: Mapping[str, object]) -> str:
    """The folder of figures made with changed parameters; "" without any."""
    texts = []
    for name, value in sorted(changed.items()):
        text = "+".join(map(str, value)) if isinstance(value, list) else value
        texts.append(f"{name}={text}")
    whole = ",".join(texts)
    short = re.sub(r"[^\w.,=+-]+", "-", whole, flags=re.ASCII)[:60]
    if short != whole:
        content = whole.encode("utf-8", "surrogatepass")
        short += f"-{blake2b(content, digest_size=3).hexdigest()}"
    return f"trials/{short}" if whole else ""


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Write a file or folder wholly or not at all: yields a path that replaces it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{token_hex(4)}.partial")
    try:
        yield new
        if path.is_dir() and new.is_dir():
            shutil.rmtree(path)
        new.replace(path)
    except OSError as error:
        if error.errno and not error.filename:  # as of a full disk
            error.filename = str(path)
        raise
    finally:
        shutil.rmtree(new) if new.is_dir() else new.unlink(missing_ok=True)


@contextmanager
def database(path: Path | str | None) -> Iterator[None]:
    """Errors of SQLite name the path of the database, which can be made again."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):  # the caller's
        raise
    except sqlite3.Error as error:
        advice = ": make room, if the disk is full, or delete it: it is made again"
        if getattr(error, "sqlite_errorname", "").startswith(WHOLE):
            advice = ""
        raise DataError(f"{path}: {error}{advice}") from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that one process can hold at a time; it ends with the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path):
        yield


def write_table(path: Path, table) -> None:
    """Write a pandas table as CSV. Half of a surrogate pair is written as an escape."""
    with writing(path) as new:
        table.to_csv(new, index=False, lineterminator="\n", errors="backslashreplace")


def track(items: Iterable, label: str, total: int | None = None) -> tqdm:
    """The items, with a bar that counts them, but in a batch run, which nobody sees."""
    return tqdm(items, label, total, leave=False, disable="IRCOT_BATCH" in os.environ)


def need(package: str, extra: str) -> None:
    """Raise Unavailable if a package that belongs to an extra is not installed."""
    if find_spec(package) is None:
        install = f'pip install "ircotlib[{extra}]"'
        raise Unavailable(f"{package} is not installed: {install}")
