"""Downloads large files, resumed where they were cut off, and checks them."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ircotlib.errors import DataError, Unavailable


def download(address: str, path: Path, checksum: str = "") -> None:
    """Download a file by curl, which shows a bar. What a kill leaves, `path`.partial, is continued
    by the next call. `checksum`: "sha256:…", "md5:…" or "".
    """
    partial = path.with_name(f"{path.name}.partial")
    command = ["curl", "-fL", "--retry", "5", "-C", "-", "-o", str(partial), address]
    if status := subprocess.run(command, check=False).returncode:
        again = "the same command goes on where it stopped"
        raise Unavailable(f"{address}: curl ended with status {status}; {again}")
    kind, _, expected = checksum.partition(":")
    if expected:
        with partial.open("rb") as file:
            digest = hashlib.file_digest(file, kind).hexdigest()
        if digest != expected:
            wrong = f"found {kind} {digest}, expected {expected}: damaged, or another version"
            raise DataError(f"{address}: {wrong}; delete {partial}, and get it again")
    partial.replace(path)


def unpack(archive: Path, names: Sequence[str], folder: Path) -> None:
    """Move the files of these names from a zip or tar archive to a folder; remove the archive."""
    safely = {} if archive.suffix == ".zip" else {"filter": "data"}
    with tempfile.TemporaryDirectory(dir=folder) as everything:
        try:
            shutil.unpack_archive(archive, everything, **safely)
        except Exception as error:  # the libraries of archives raise errors of any kind
            raise DataError(f"{archive}: {error}: delete it, and get it again") from None
        there = {path.name: path for path in Path(everything).rglob("*") if path.is_file()}
        if absent := set(names) - set(there):
            raise DataError(f"{archive}: found no {', '.join(sorted(absent))}, expected them in it")
        for name in names:
            there[name].replace(folder / name)
    archive.unlink()
