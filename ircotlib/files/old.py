"""What rooms that are being rewritten still use; it goes with them."""

import errno
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from filecmp import cmp
from multiprocessing import get_context, parent_process
from pathlib import Path
from secrets import token_hex
from threading import Thread
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from ircotlib.errors import DataError, UserError

PARTIAL = "partial-"  # begins the name of a folder of files being written
MOST = 5_000_000_000  # the most bytes that are compared at opening: three seconds (docs/faults.md)
PIECE = 1 << 20
URL = re.compile(r"https?://[^/?#\\\s]+(/[^?#\\\s]*)?")
Sums = dict[str, list[int]]  # file name -> its size in bytes and its CRC-32


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


def take_sums(folder: Path, names: Iterable[str]) -> Sums:
    """Sizes and checksums of files in a folder; two large files are read at a time."""
    paths = {name: Path(folder) / name for name in names}
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(paths, pool.map(_take, paths.values()), strict=True))


def check_sums(folder: Path, sums: Mapping, remedy: str) -> None:
    """Compare files with the sizes and checksums taken when they were written; of more than MOST
    bytes in all only the sizes. Raises DataError with the first file that differs and the remedy.
    """
    for name, (size, _) in sums.items():
        path = Path(folder) / name
        if (now := path.stat().st_size if path.is_file() else None) != size:
            differs = "no such file" if now is None else f"{now:,} bytes"
            raise DataError(f"{path}: found {differs}, expected {size:,} bytes; {remedy}")
    if (total := sum(size for size, _ in sums.values())) > MOST:
        skipped = f"{folder}: checksums of {total / 1e9:.1f} GB are not compared, only sizes"
        print(skipped, file=sys.stderr, flush=True)
        return
    for name, (_, checksum) in take_sums(folder, sums).items():
        if checksum != (written := sums[name][1]):
            differs = f"found the checksum {checksum:08x}, expected {written:08x}"
            raise DataError(f"{Path(folder) / name}: {differs}, as it was written; {remedy}")


def write_description(path: Path, description: Mapping) -> None:
    """Write the description of a folder as JSON, with its own checksum, atomically."""
    content = dict(description) | {"checksum": _checksum(description)}
    write_whole(path, json.dumps(content, indent=1) + "\n")


def read_description(path: Path, remedy: str) -> dict | None:
    """What `write_description` wrote, None if there is no file; ValueError if it is damaged."""
    if not path.is_file():
        return None
    try:
        description = json.loads(path.read_bytes())
        checksum = description.pop("checksum", None)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        wrong = f"found no JSON ({error}), expected what was written there"
        raise DataError(f"{path}: {wrong}; {remedy}") from None
    if checksum != _checksum(description):
        raise DataError(f"{path}: found another text than was written there; {remedy}")
    return description


def _checksum(description: Mapping) -> int:
    return zlib.crc32(json.dumps(description).encode())


def _take(path: Path) -> list[int]:
    size = checksum = 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            size, checksum = size + len(piece), zlib.crc32(piece, checksum)
    return [size, checksum]


def read_urls(text: str, example: str, credentials: str, port: bool = False) -> tuple[str, ...]:
    """Read addresses with commas between them, each once, without a "/" at the end.

    Errors show `example`, a valid address, and `credentials`, what to set instead of a user and a
    password; they never repeat a password or a query. `port`: each address must have one. Raises
    UserError for anything but an http or https address without user, password, query and fragment.
    """
    if "@" in text:
        named = "found an address with a user or a password"
        raise UserError(f"{named}, expected one without user and password; set {credentials}")
    urls = tuple(dict.fromkeys(part.strip().rstrip("/") for part in text.split(",")))
    for url in urls:
        try:
            number = urlsplit(url).port  # ValueError for one that is not a number below 65536
            fits = URL.fullmatch(url) and url.isprintable()
            valid = fits and number != 0 and (number or not port)
        except ValueError:
            valid = False
        if not valid:
            several = "several with commas between them"
            shown = re.split("[?#]", url)[0]
            shown = repr(shown) if shown == url else f"{shown!r} with a query or a fragment"
            raise UserError(f"found the address {shown}, expected {example}, {several}")
    return urls


def open_pool(
    processes: int, environments: Sequence[Mapping[str, str]] = ()
) -> ProcessPoolExecutor:
    """A pool of so many processes. They are spawned, not forked: a fork might copy a lock that
    another thread holds. `environments`: what to set in the environment of each; none: nothing.
    """
    context = get_context("spawn")
    each = context.SimpleQueue()
    for number in range(processes):
        each.put(dict(environments[number]) if environments else {})
    return ProcessPoolExecutor(processes, context, _begin, (each,))


def _begin(environments) -> None:
    """Begin a process of a pool: set its environment, and end it with its parent, even a killed
    one: the pool would leave it behind.
    """
    os.environ |= environments.get()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it silently

    def end() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=end, daemon=True).start()
