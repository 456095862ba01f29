"""Downloads the official files that a profile needs from their publishers into its
data_dir.

ircotlib fetch --profile paper --list               what is missing, and how large it is
ircotlib fetch --profile paper --set data_dir=FOLDER
"""

import csv
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import full_corpus_folder
from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.files import DOWNLOADS, ROOT, resolve
from ircotlib.options import add_profile, new_parser, read_changed
from ircotlib.parameters import Parameters


def download(address: str, path: Path, checksum: str = "") -> None:
    """Download a file by curl, which shows its progress. After a kill, the next call
    continues `path`.partial. `checksum`: "sha256:…", "md5:…" or "".
    """
    partial = path.with_name(f"{path.name}.partial")
    command = ["curl", "-fL", "--retry", "5", "-C", "-", "-o", str(partial), address]
    if status := subprocess.run(command, check=False).returncode:
        again = "the same command continues where it stopped"
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
    """Move the files of these names from a zip or tar archive to a folder; remove the
    archive.
    """
    safely = {} if archive.suffix == ".zip" else {"filter": "data"}
    with tempfile.TemporaryDirectory(dir=folder) as everything:
        try:
            shutil.unpack_archive(archive, everything, **safely)
        except Exception as error:  # the libraries of archives raise errors of any kind
            raise DataError(
                f"{archive}: {error}: delete it, and get it again"
            ) from None
        there = {
            path.name: path for path in Path(everything).rglob("*") if path.is_file()
        }
        if absent := set(names) - set(there):
            raise DataError(
                f"{archive}: lacks {', '.join(sorted(absent))}; get it again"
            )
        for name in names:
            there[name].replace(folder / name)
    archive.unlink()


class Download(NamedTuple):
    """A row of data/downloads.csv: files in one folder of data_dir, and where to get
    them.
    """

    folder: str
    corpus: str  # "full": only the papers' corpora need it
    files: str  # with spaces between
    # of the single file, or of an archive with all; "": the publisher offers none
    address: str
    bytes: str
    checksum: str
    page: str  # for getting the files by hand

    def __str__(self) -> str:
        size = f"{int(self.bytes) / 1e6:,.0f} MB" if self.bytes else "size unknown"
        return f"{self.folder}: {self.files} ({size}) {self.address or f'by hand: {self.page}'}"


def read_downloads(path: Path = DOWNLOADS) -> list[Download]:
    return [
        Download(**row) for row in csv.DictReader(path.read_text("utf-8").splitlines())
    ]


def missing(p: Parameters, table: Sequence[Download]) -> Iterator[Download]:
    """The downloads that these data sets and their corpora need and `data_dir` lacks."""
    # in use, by the folder of their files; KILT's data sets have KILT's pages alone
    corpora = {}
    for dataset in map(find_dataset, p.datasets):
        if (full := dataset.full_corpus) and (
            p.corpus == "full" or not dataset.has_gold
        ):
            corpora[full.name] = full
    data_dir = Path(resolve(p.data_dir))
    for row in table:
        needed = row.folder in (corpora if row.corpus else p.datasets)
        made = (
            row.corpus
            and needed
            and full_corpus_folder(corpora[row.folder], data_dir).is_dir()
        )
        places = (data_dir / row.folder, data_dir)
        there = all(
            any((p / name).is_file() for p in places) for name in row.files.split()
        )
        if needed and not made and not there:
            yield row


def fetch(row: Download, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path, files = folder / Path(urlsplit(row.address).path).name, row.files.split()
    if not path.is_file():  # an archive that is there was not unpacked
        download(row.address, path, row.checksum)
    if path.name not in files:
        unpack(path, files, folder)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib fetch")
    add_profile(parser, "sample")
    parser.add_argument(
        "--list", action="store_true", help="list what is missing, and stop"
    )
    options = parser.parse_args(arguments)
    if not (p := read_changed(options)).data_dir:
        raise UserError(
            f"{p.profile} has no data_dir, as it makes its data: set data_dir"
        )
    if not Path(resolve(p.demonstrations)).is_dir():
        prompts = (
            "by hand: the folder prompts/ of https://github.com/StonyBrookNLP/ircot"
        )
        print(f"{prompts}, into {p.demonstrations}")
    rows = list(missing(p, read_downloads()))
    for row in rows:
        folder = ROOT / resolve(p.data_dir) / row.folder
        print(f"{row}, into {folder}", flush=True)
        if row.address and not options.list:
            fetch(row, folder)
    if not rows:
        print(f"{p.data_dir} has all files that {p.profile} needs")
    if by_hand := [row.folder for row in rows if not row.address]:
        raise Unavailable(
            f"get the files of {', '.join(by_hand)} by hand, then ask again"
        )
