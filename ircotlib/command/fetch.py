"""Downloads the official files that a profile needs into its data_dir.

ircotlib fetch --profile paper --list               what is missing, and how large it is
ircotlib fetch --profile paper --set data_dir=FOLDER
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd

from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import full_corpus_folder
from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.files import ROOT, SHIPPED, resolve
from ircotlib.options import add_profile, new_parser, read_changed
from ircotlib.parameters import Parameters

# a row: files in one folder of data_dir. `corpus`: "full", if only the papers' corpora
# need them. `address`: of the single file, or of an archive with all; "", if the
# publisher offers none, and they are got by hand from `page`
TABLE = SHIPPED / "data" / "downloads.csv"


def download(address: str, path: Path, checksum: str = "") -> None:
    """Download a file by curl; after a kill, the next call continues `path`.partial.
    `checksum`: "sha256:…", "md5:…" or "". Raises Unavailable, DataError.
    """
    partial = path.with_name(f"{path.name}.partial")
    command = ["curl", "-#fL", "-C", "-", "-o", str(partial), "-w", "%{http_code}"]
    ended = subprocess.run([*command, address], stdout=subprocess.PIPE, text=True)
    # curl has said why; another status, such as 202, is of a page in place of the file
    if ended.returncode or ended.stdout not in ("200", "206"):
        raise Unavailable(
            f"{address}: the same command continues where it stopped; if it cannot, "
            f"delete {partial}, or get the file by hand (docs/data.md)"
        )
    kind, _, expected = checksum.partition(":")
    with partial.open("rb") as file:
        if expected and hashlib.file_digest(file, kind).hexdigest() != expected:
            raise DataError(
                f"{partial}: found another {kind} than {expected}: delete it, and run "
                "the same command again"
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
                paths = list(Path(everything).rglob(name))
                if len(paths) != 1:
                    raise DataError(f"has {len(paths)} files {name!r}, not one")
                paths[0].replace(folder / name)
        except Exception as error:  # the libraries of archives raise errors of any kind
            advice = "delete it, or take the files out of it by hand; run it again"
            raise DataError(f"{archive}: {error}: {advice}") from None
    archive.unlink()


def missing(p: Parameters) -> Iterator:
    """The rows of files that data sets and their corpora need and `data_dir` lacks."""
    data_dir = Path(resolve(p.data_dir))
    needed = {(name, "") for name in p.datasets}
    for dataset in map(find_dataset, p.datasets):
        corpus = dataset.full_corpus
        # data sets without gold have no paragraphs but those of the full corpus
        if corpus and (p.corpus == "full" or not dataset.has_gold):
            if not full_corpus_folder(corpus, data_dir).is_dir():  # not made yet
                needed.add((corpus.name, "full"))
    table = pd.read_csv(TABLE, dtype=str, keep_default_na=False)
    for row in table.itertuples():
        folders = (data_dir / row.folder, data_dir)
        there = {path.name for folder in folders for path in folder.glob("*")}
        if (row.folder, row.corpus) in needed and not there >= {*row.files.split()}:
            yield row


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
    rows = list(missing(p))
    for row in rows:
        folder = ROOT / resolve(p.data_dir) / row.folder
        size = f"{int(row.bytes) / 1e6:,.0f} MB" if row.bytes else "size unknown"
        source = row.address or f"by hand: {row.page}"
        print(f"{row.files} ({size}), into {folder}: {source}", flush=True)
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
    if not options.list and not all(row.address for row in rows):
        raise Unavailable("get the files that are listed by hand, then ask again")
