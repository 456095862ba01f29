"""Checksums of files: taken when a folder is written, compared when it is opened (ours)."""

import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from ircotlib.errors import DataError
from ircotlib.files.paths import read_bytes, write_whole
from ircotlib.files.urls import hide
from ircotlib.text import plain

MOST = 5_000_000_000  # the most bytes that are compared at opening: three seconds (docs/faults.md)
PIECE = 1 << 20
PANIC = "PanicException"  # raised by pyo3, which does not export it: no subclass of Exception
Sums = dict[str, list[int]]  # file name -> its size in bytes and its CRC-32


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


def read_whole(path: Path, written: Sequence[int], remedy: str) -> bytes:
    """The content of a file whose size and checksum are those that were taken when it was written.
    Raises DataError with the remedy if it is another, or cannot be read.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        found = "no such file" if missing else f"a file that cannot be read ({error.strerror})"
        raise DataError(f"{path}: found {found}, expected {written[0]:,} bytes; {remedy}") from None
    if [len(content), zlib.crc32(content)] != list(written):
        found = f"found {len(content):,} bytes that are not the {written[0]:,} written there"
        raise DataError(f"{path}: {found}; {remedy}")
    return content


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


@contextmanager
def naming_file(path: Path, content: str, remedy: str) -> Iterator[None]:
    """Raise the errors of a library, which have any class and many lines, as a DataError of one
    line that names the file; also the panics of one written in Rust. Lack of memory is raised as
    it is.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        reason = f"{path}: found {content} that cannot be read ({one_line(error)})"
        raise DataError(f"{reason}, expected one that can be read; {remedy}") from error


def one_line(error: object, most: int | None = 200) -> str:
    """The beginning of what an error, a server or a library says: in one line, as plain text, and
    without keys (`hide`).
    """
    return " ".join(plain(hide(str(error))).split())[:most]


def _checksum(description: Mapping) -> int:
    return zlib.crc32(json.dumps(description).encode())


def _take(path: Path) -> list[int]:
    size = checksum = 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            size, checksum = size + len(piece), zlib.crc32(piece, checksum)
    return [size, checksum]
