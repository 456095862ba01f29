"""Downloads large files over HTTP: with a progress bar, resumed where cut off, and checked."""

import hashlib
import http.client
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from ircotlib.files.progress import show_progress

BLOCK = 1 << 20
TIMEOUT, ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE = 30.0, 5, 0.5, 10.0  # all but ATTEMPTS in seconds
AGAIN = "the same command goes on where it stopped"


class Cut(ConnectionError):
    """A transfer that failed or ended too early, and is worth another attempt."""


def download(address: str, path: Path, size: int = 0, checksum: str = "") -> None:
    """Download a file to `path`.partial, which a later call continues, and move it to `path` when
    it is complete. Does nothing if `path` exists.

    `size`: in bytes; 0: whatever the server says. `checksum`: "sha256:…", "md5:…" or "". Raises
    ConnectionError if the server does not answer after all attempts, ValueError for a file of
    another size or checksum, OSError if the disk has too little space. Retries use tenacity; pooch
    cannot resume a transfer.
    """
    if path.is_file():
        return
    partial = path.with_name(f"{path.name}.partial")
    again = Retrying(
        retry=retry_if_exception_type(Cut),
        wait=wait_exponential(FIRST_PAUSE, LONGEST_PAUSE),
        stop=stop_after_attempt(ATTEMPTS),
        reraise=True,
    )
    again(_go_on, address, partial, size)
    _check(partial, checksum, address)
    partial.replace(path)


def _go_on(address: str, partial: Path, size: int) -> None:
    """Request the missing bytes; raises Cut if fewer arrive."""
    start = partial.stat().st_size if partial.exists() else 0
    if size and start == size:
        return
    asked = Request(address, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        with urlopen(asked, timeout=TIMEOUT) as response:
            start = start if response.status == 206 else 0
            total = start + int(response.headers.get("Content-Length", 0))
            _check_size(address, total, size, partial, start)
            _copy(response, partial, start, total)
    except HTTPError as error:
        _explain(error, address, partial)
    except (URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise Cut(f"{address} does not answer ({reason}); {AGAIN}") from error


def _explain(error: HTTPError, address: str, partial: Path) -> None:
    """Raise the error for a status. 416: the partial file is longer than the whole one."""
    if error.code == 416:
        partial.unlink()
        raise Cut(f"{address} has fewer bytes than were downloaded before; trying again") from error
    if error.code == 429 or error.code >= 500:
        raise Cut(f"{address} answers with status {error.code}; {AGAIN}") from error
    raise ValueError(f"{address} answers with status {error.code}, expected a file") from error


def _check_size(address: str, total: int, size: int, partial: Path, start: int) -> None:
    if size and total != size:
        found = f"{address} has {total:,} bytes, expected {size:,}"
        raise ValueError(f"{found}: another version, or a page in its place")
    free = shutil.disk_usage(partial.parent).free
    if total - start > free:
        raise OSError(f"{partial}: {total - start:,} more bytes are needed, and {free:,} are free")


def _copy(response: http.client.HTTPResponse, partial: Path, start: int, total: int) -> None:
    with partial.open("r+b" if start else "wb") as file, _bar(partial, total) as show:
        file.seek(start)
        file.truncate()
        for block in _blocks(response):
            file.write(block)
            show(file.tell(), total)
        if file.tell() < total:
            raise Cut(f"{response.url} ended after {file.tell():,} of {total:,} bytes; {AGAIN}")


def _bar(partial: Path, total: int):
    return show_progress(f"{partial.stem} (bytes)", total or None)


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while block := response.read(BLOCK):
        yield block


def _check(partial: Path, checksum: str, address: str) -> None:
    kind, _, expected = checksum.partition(":")
    if not expected:
        return
    with partial.open("rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    if found != expected:
        wrong = partial.with_name(f"{partial.stem}.wrong")
        partial.replace(wrong)
        raise ValueError(
            f"{address}: found {kind} {found}, expected {expected}: damaged, or another version;"
            f" it is kept as {wrong}"
        )


def unpack(archive: Path, names: Sequence[str], folder: Path) -> list[Path]:
    """Extract the files of these names from a zip or tar archive, each atomically, then remove the
    archive. Raises ValueError if a file is missing or the archive is damaged.
    """
    found = []
    try:
        for name, file in _members(archive):
            if name in names:
                found.append(folder / name)
                _write(found[-1], file)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
        reason = str(error).partition(":\n")[0]
        raise ValueError(f"{archive}: damaged ({reason}); delete it and get it again") from error
    if absent := {*names} - {path.name for path in found}:
        raise ValueError(f"{archive}: found no {', '.join(sorted(absent))}, expected them in it")
    archive.unlink()
    return found


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of an archive, without their folders."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                yield Path(member.filename).name, opened.open(member)
        return
    with tarfile.open(archive) as opened:
        for member in opened:
            if member.isfile():
                yield Path(member.name).name, opened.extractfile(member)


def _write(path: Path, file: IO[bytes]) -> None:
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as kept:
            shutil.copyfileobj(file, kept, BLOCK)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
