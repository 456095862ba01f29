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

from ircotlib.errors import DataError
from ircotlib.files.paths import write_partial
from ircotlib.files.progress import show_progress

BLOCK = 1 << 20
TIMEOUT = 30.0  # seconds
ATTEMPTS = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds between two attempts
RESUMES = "the same command goes on where it stopped"


class Cut(ConnectionError):
    """A transfer that failed or ended too early, and is worth another attempt."""


def download(address: str, path: Path, size: int = 0, checksum: str = "") -> None:
    """Download a file to `path`.partial, which a later call continues, and move it to `path` when
    it is complete. Does nothing if `path` exists.

    `size`: in bytes; 0: whatever the server says. `checksum`: "sha256:…", "md5:…" or "". Raises
    ConnectionError if the server does not answer after all attempts, ValueError for a file of
    another size or checksum, OSError if the disk has too little space. Pooch cannot resume.
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
    again(_resume, address, partial, size)
    kind, _, expected = checksum.partition(":")
    if expected:
        with partial.open("rb") as file:
            digest = hashlib.file_digest(file, kind).hexdigest()
        if digest != expected:
            kept = partial.replace(path.with_name(f"{path.name}.wrong"))
            wrong = f"found {kind} {digest}, expected {expected}: damaged, or another version"
            raise DataError(f"{address}: {wrong}; it is kept as {kept}")
    partial.replace(path)


def _resume(address: str, partial: Path, size: int) -> None:
    """Request the missing bytes; raises Cut if fewer arrive."""
    start = partial.stat().st_size if partial.exists() else 0
    if size and start == size:
        return
    request = Request(address, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        with urlopen(request, timeout=TIMEOUT) as response:
            start = start if response.status == 206 else 0
            total = start + int(response.headers.get("Content-Length", 0))
            if size and total != size:
                sizes = f"has {total:,} bytes, expected {size:,}"
                raise DataError(f"{address} {sizes}: another version, or a page in its place")
            if total - start > (free := shutil.disk_usage(partial.parent).free):
                needed = f"{total - start:,} more bytes are needed, and {free:,} are free"
                raise OSError(f"{partial}: {needed}")
            _copy(response, partial, start, total)
    except HTTPError as error:
        if error.code == 416:  # the partial file is longer than the whole one
            partial.unlink()
            raise Cut(f"{address} has fewer bytes than were downloaded before") from error
        if error.code == 429 or error.code >= 500:
            raise Cut(f"{address} answers with status {error.code}; {RESUMES}") from error
        raise DataError(f"{address} answers with status {error.code}, expected a file") from error
    except (URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise Cut(f"{address} does not answer ({reason}); {RESUMES}") from error


def _copy(response: http.client.HTTPResponse, partial: Path, start: int, total: int) -> None:
    bar = show_progress(f"{partial.stem} (bytes)", total or None)
    with partial.open("r+b" if start else "wb") as file, bar as show:
        file.seek(start)
        file.truncate()
        while block := response.read(BLOCK):
            file.write(block)
            show(file.tell(), total)
        if file.tell() < total:
            raise Cut(f"{response.url} ended after {file.tell():,} of {total:,} bytes; {RESUMES}")


def unpack(archive: Path, names: Sequence[str], folder: Path) -> list[Path]:
    """Extract files from a zip or tar archive, each atomically, then remove the archive. Raises
    ValueError if a file is missing or the archive is damaged.
    """
    paths = []
    try:
        for name, file in _members(archive):
            if name in names:
                paths.append(folder / name)
                with write_partial(folder / name) as partial, partial.open("wb") as copy:
                    shutil.copyfileobj(file, copy, BLOCK)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
        reason = str(error).partition(":\n")[0]
        raise DataError(f"{archive}: damaged ({reason}); delete it and get it again") from error
    if absent := {*names} - {path.name for path in paths}:
        raise DataError(f"{archive}: found no {', '.join(sorted(absent))}, expected them in it")
    archive.unlink()
    return paths


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                yield Path(member.filename).name, opened.open(member)
        return
    with tarfile.open(archive) as opened:
        for member in filter(tarfile.TarInfo.isfile, opened):
            yield Path(member.name).name, opened.extractfile(member)
