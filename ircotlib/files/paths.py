"""Where files are; atomic writing, and locks."""

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from filecmp import cmp
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

from filelock import FileLock, Timeout
from platformdirs import user_data_path

from ircotlib.errors import DataError, UserError

HERE = Path(__file__).resolve()
# notebooks, profiles, prompts, tables and models: beside the package in a clone, in it in a wheel
INSTALLED = (HERE.parents[1] / "shipped").is_dir()
SHIPPED = HERE.parents[1] / "shipped" if INSTALLED else HERE.parents[2]


def _movable(variable: str, default: Path) -> Path:
    """The folder that an environment variable names, or the default. The variable is made absolute
    for this process and its children, because notebooks run in another folder.
    """
    if not os.environ.get(variable):
        return default
    os.environ[variable] = os.path.abspath(os.environ[variable])
    return Path(os.environ[variable])


def _find_root() -> Path:
    """The clone. For an installed package, the folder that IRCOT_HOME names, or else the nearest
    one at or above this folder that `ircotlib new` has laid, or else one of the user's.
    """
    if not INSTALLED:
        return SHIPPED
    here = Path.cwd()
    laid = (folder for folder in (here, *here.parents) if (folder / LAID).is_file())
    root = _movable(HOME, next(laid, user_data_path("ircotlib", appauthor=False)))
    os.environ[HOME] = str(root)  # notebooks run in another folder
    return root


def _own_or_shipped(name: str) -> Path:
    return ROOT / name if (ROOT / name).is_dir() else SHIPPED / name


HOME = "IRCOT_HOME"
LAID = "profiles/mini.yaml"  # in each folder that `ircotlib new` lays
ROOT = _find_root()  # where relative paths begin
# corpora, indexes, runs, calls.sqlite, executed notebooks
DATA = _movable("IRCOT_DATA", ROOT / "data")
FIGURES = _movable("IRCOT_FIGURES", ROOT / "figures")
NOTEBOOKS = _own_or_shipped("notebooks")
PROFILES = _own_or_shipped("profiles")
PROMPTS = SHIPPED / "prompts"
REPORTED = SHIPPED / "data" / "reported.csv"
CLAIMS = SHIPPED / "data" / "claims.csv"
REPORTED_CASES = SHIPPED / "data" / "reported_cases.csv"
DOWNLOADS = SHIPPED / "data" / "downloads.csv"  # where the official files are
PRICES = SHIPPED / "data" / "prices.csv"  # of models behind servers
MODELS = SHIPPED / "data" / "models"  # the shipped ones
PARTIAL = "partial-"  # begins the name of a folder of files being written


def figure_path(file: str, profile: str = "mini", trial: str = "") -> Path:
    """Where a figure or table is: in FIGURES, or in the folder of a trial there (`name_trial`).
    Those of other profiles than mini bear its name, in place of <profile> or at the end.
    """
    stem, end = file.rsplit(".", 1)
    if profile != "mini" and "<profile>" not in stem:
        stem += f"_{profile}"
    return FIGURES / trial / f"{stem.replace('<profile>', profile)}.{end}"


def name_trial(changed: Mapping[str, object]) -> str:
    """The folder for what changed parameters make, below that of what the profile makes, which so
    stays as it was: "trials/" and the changes, with a hash if they are long or no name of a file;
    "" if there are none.
    """
    texts = {n: "+".join(map(str, v)) if isinstance(v, list) else v for n, v in changed.items()}
    whole = ",".join(f"{name}={texts[name]}" for name in sorted(texts))
    short = re.sub(r"[^\w.,=+-]+", "-", whole, flags=re.ASCII)[:60]
    if short != whole:
        short += f"-{blake2b(whole.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()}"
    return f"trials/{short}" if whole else ""


def benchmark_table(name: str, profile: str = "mini", trial: str = "") -> Path:
    """Where a benchmark's table is: of this trial, of the profile or, if it was run for neither,
    where it is kept.
    """
    own, shipped = (figure_path(f"{name}.csv", profile, each) for each in (trial, ""))
    return next(filter(Path.is_file, (own, shipped)), SHIPPED / "figures" / shipped.name)


def check_writable(folder: Path, setting: str = "", size: int = 1 << 16) -> None:
    """Raise UserError if a file of `size` bytes cannot be written to a folder or the nearest one
    above it. `setting`: what names the folder, if anything does.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(bytes(size))
            file.flush()
    except OSError as error:
        reason = f"cannot be written to ({error.strerror or error})"
        remedy = f"set {setting} to another" if setting else "name another folder"
        raise UserError(f"{folder}: {reason}; free it, or {remedy}") from None


def check_target(path: Path, kind: str, ending: str, is_own: Callable[[Path], bool]) -> None:
    """Raise UserError if what a user wants written to a path cannot be, or would replace anything
    but a file of its `kind`. A new one in the data folder must have this `ending`.
    """
    found = ""
    place = path.absolute()
    try:
        if path.is_dir() or path.name == "":
            found = "a folder"
        elif path.exists() and not path.is_file():
            found = "a pipe or a device"
        elif path.is_file() and not is_own(path):
            found = "a file that is something else"
        elif not path.exists() and DATA.resolve() in place.resolve().parents:
            found = "" if path.name.endswith(ending) else "no such file, but the data folder"
        existing = next(parent for parent in place.parents if parent.exists())
        with tempfile.NamedTemporaryFile(dir=existing, prefix=f"{path.name}.", suffix=".partial"):
            pass
    except (OSError, ValueError) as error:
        found = f"a path that cannot be written to ({getattr(error, 'strerror', 0) or error})"
    if found:
        expected = f"expected {kind}, or nothing there yet"
        raise UserError(f"{path}: found {found}, {expected}; name another file, such as a{ending}")


def check_own(folder: Path, mark: str, kind: str) -> None:
    """Raise DataError if a folder has files but not the file `mark`, which every folder that this
    program may write again has. `kind`: what such a folder is.
    """
    if folder.exists() and not (folder / mark).is_file() and any(folder.iterdir()):
        expected = "it needs a folder of its own, empty or not there yet"
        raise DataError(f"{folder} holds files that are no {kind}: {expected}")


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises OSError, also for a pipe, on which one would wait for ever."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "a pipe or a device, expected a file", str(path))
    return path.read_bytes()


@contextmanager
def write_folder(folder: Path, about: str, kind: str) -> Iterator[Path]:
    """Write a folder atomically, under a lock: yields a temporary folder next to it, which replaces
    it at the end of the block, or is removed after an error. `about`, `kind`: see check_own.
    """
    check_own(folder, about, kind)
    partial, replaced = (folder.with_name(folder.name + end) for end in (".partial", ".replaced"))
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(replaced, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        if folder.exists():
            folder.rename(replaced)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


@contextmanager
def replace_files(folder: Path, last: str, earlier: str = "") -> Iterator[Path]:
    """Replace the files of a folder all together, under a lock: yields a temporary folder in it,
    whose files are moved up at the end of the block, unless they are what is there.

    `last`: the file that says that the others are whole, moved as the last one. While others
    change, it is absent or, if there is a folder `earlier`, what it was; the files of which it
    speaks are then in that folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for left_over in folder.glob(f"{PARTIAL}*"):  # from a process that was killed
        shutil.rmtree(left_over)
    with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=folder) as name:
        yield (partial := Path(name))

        def differs(name: str) -> bool:
            return not ((folder / name).is_file() and cmp(partial / name, folder / name, False))

        changed = [p.name for p in partial.iterdir() if p.name != last and differs(p.name)]
        if changed and not earlier:
            (folder / last).unlink(missing_ok=True)
        for name in (*changed, *filter(differs, [last])):
            if earlier and name != last and (folder / name).exists():
                (folder / earlier).mkdir(exist_ok=True)
                (folder / name).replace(folder / earlier / name)
            (partial / name).replace(folder / name)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Write a file or a folder whole: yields a path beside it to write to, which takes its place at
    the end of the block. After an error or a kill, what was there before is still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{token_hex(4)}.partial")
    try:
        yield new
        if path.is_dir():
            shutil.rmtree(path)
        new.replace(path)
    finally:
        shutil.rmtree(new) if new.is_dir() else new.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that only one process can hold at a time; it ends with the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path):
        yield


@contextmanager
def write_partial(path: Path) -> Iterator[Path]:
    """Write a file atomically: a full disk or a killed process leaves the old file as it was, and
    of several processes the last one wins. Yields the path to write to, which becomes `path` at the
    end of the block.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{token_hex(4)}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with write_partial(path) as partial:
        partial.write_text(text, encoding="utf-8")


@contextmanager
def hold_lock(path: Path, made: str, patience: float = 5.0) -> Iterator[None]:
    """Hold a lock that only one process can hold at a time; it ends with the process in any case.
    Waiting for longer than `patience` seconds is reported on stderr, with what is `made` meanwhile.
    Raises UserError if its folder cannot be written to, on which one would wait for ever.
    """
    check_writable(path.parent, size=0)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        print(f"waiting for another process to make {made} ({path})", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def resolve(path: str) -> str:
    """Make a path below ROOT, or of what is shipped, absolute; return anything else as it is."""
    there = (folder / path for folder in (ROOT, SHIPPED) if path and (folder / path).exists())
    return str(next(there, path))
