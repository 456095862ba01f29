"""Downloads the official files that a profile needs into its data_dir.

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
from ircotlib.files import ROOT, SHIPPED, resolve
from ircotlib.options import add_profile, new_parser, read_changed
from ircotlib.parameters import Parameters

REPLY = "%{http_code} %header{content-range}"  # as curl writes it
NOTHING_LEFT = "416"  # such as after the last byte
NO_RANGES = 33  # curl's status where a server sends files only as a whole


def download(address: str, path: Path, checksum: str = "") -> None:
    """Download a file by curl; after a kill, the next call continues `path`.partial, or
    begins anew if that is not possible. `checksum`: "sha256:…", "md5:…" or "".
    """
    partial = path.with_name(f"{path.name}.partial")
    ended = subprocess.run(
        ["curl", "-#fL", "-C", "-", "-o", str(partial), "-w", REPLY, address],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    code, _, size = ended.stdout.partition(" ")
    if partial.exists() and (code == NOTHING_LEFT or ended.returncode == NO_RANGES):
        if size != f"bytes */{partial.stat().st_size}":  # it is not whole, but too long
            partial.unlink()
            return download(address, path, checksum)
    elif ended.returncode or code not in ("200", "206"):
        advice = "the same command continues where it stopped"
        if not ended.returncode:  # a page in place of the file
            partial.unlink(missing_ok=True)
        if not ended.returncode or code.startswith("4"):
            advice = f"HTTP {code}: get the file by hand (docs/data.md)"
        raise Unavailable(
            f"{address}: curl ended with status {ended.returncode}; {advice}"
        )
    kind, _, expected = checksum.partition(":")
    if expected:
        with partial.open("rb") as file:
            digest = hashlib.file_digest(file, kind).hexdigest()
        if digest != expected:
            raise DataError(
                f"{address}: found {kind} {digest}, expected {expected}: damaged, or"
                f" another version; delete {partial}, and get it again"
            )
    partial.replace(path)


def unpack(archive: Path, names: Sequence[str], folder: Path) -> None:
    """Move the files of these names from an archive to a folder; remove the archive."""
    with tempfile.TemporaryDirectory(dir=folder) as everything:
        try:
            if archive.suffix == ".zip":
                shutil.unpack_archive(archive, everything)
            else:
                shutil.unpack_archive(archive, everything, filter="data")
            for name in names:
                found = Path(everything).rglob(name)
                # not those of a Mac
                paths = [path for path in found if "__MACOSX" not in path.parts]
                depth = min((len(path.parts) for path in paths), default=0)
                nearest = [path for path in paths if len(path.parts) == depth]
                if len(nearest) != 1:
                    raise DataError(f"has {len(nearest)} files {name!r}, not one")
                nearest[0].replace(folder / name)
        except Exception as error:  # the libraries of archives raise errors of any kind
            raise DataError(
                f"{archive}: {error}: delete it, and get it again, or take the files "
                "out of it by hand"
            ) from None
    archive.unlink()


class Download(NamedTuple):
    """A row of data/downloads.csv: files in one folder of data_dir."""

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
        source = self.address or f"by hand: {self.page}"
        return f"{self.folder}: {self.files} ({size}) {source}"


def read_downloads(path: Path = SHIPPED / "data" / "downloads.csv") -> list[Download]:
    rows = csv.DictReader(path.read_text("utf-8").splitlines())
    return [Download(**row) for row in rows]


def missing(p: Parameters, table: Sequence[Download]) -> Iterator[Download]:
    """The downloads that data sets and their corpora need and `data_dir` lacks."""
    data_dir = Path(resolve(p.data_dir))
    needed = {(name, "") for name in p.datasets}
    for dataset in map(find_dataset, p.datasets):
        corpus = dataset.full_corpus
        # data sets without gold have no paragraphs but those of the full corpus
        if corpus and (p.corpus == "full" or not dataset.has_gold):
            if not full_corpus_folder(corpus, data_dir).is_dir():  # not made yet
                needed.add((corpus.name, "full"))
    for row in table:
        if (row.folder, row.corpus) in needed:
            folders = (data_dir / row.folder, data_dir)
            for name in row.files.split():
                if not any((folder / name).is_file() for folder in folders):
                    yield row
                    break


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib fetch")
    add_profile(parser, "sample")
    parser.add_argument("--list", action="store_true", help="only list what is missing")
    options = parser.parse_args(arguments)
    p = read_changed(options)
    if not p.data_dir:
        raise UserError(f"{p.profile} makes its own data; for other data, set data_dir")
    if not Path(resolve(p.demonstrations)).is_dir():
        prompts = "the folder prompts/ of https://github.com/StonyBrookNLP/ircot"
        print(f"by hand: {prompts}, into {p.demonstrations}")
    rows = list(missing(p, read_downloads()))
    for row in rows:
        folder = ROOT / resolve(p.data_dir) / row.folder
        print(f"{row}, into {folder}", flush=True)
        if options.list or not row.address:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / Path(urlsplit(row.address).path).name
        if not path.is_file():  # an archive that is there was not unpacked
            download(row.address, path, row.checksum)
        if path.name not in row.files.split():
            unpack(path, row.files.split(), folder)
    if not rows:
        print(f"{p.data_dir} has all files that {p.profile} needs")
    by_hand = ", ".join(row.folder for row in rows if not row.address)
    if by_hand and not options.list:
        raise Unavailable(f"get the files of {by_hand} by hand, then ask again")
