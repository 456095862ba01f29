"""Downloads the official files that a profile needs from their publishers into its data_dir.

ircotlib fetch --profile paper --list               what is missing, and how large it is
ircotlib fetch --profile paper --set data_dir=FOLDER
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ircotlib.command.checks import check_writable
from ircotlib.datasets import find_dataset
from ircotlib.files.download import download, unpack
from ircotlib.files.options import heed_interrupts, new_parser, parse_changes, say_error
from ircotlib.files.paths import DATA, DOWNLOADS, ROOT, resolve
from ircotlib.parameters import Parameters, read_parameters


class Download(NamedTuple):
    """A row of data/downloads.csv: files in one folder of data_dir, and where to get them.

    `corpus`: "full" for files that only the papers' corpora need. `address`: of the single file, or
    of an archive that holds all files; "" if the publisher offers none. `bytes`: 0 if not
    published. `checksum`: "sha256:…" or "md5:…", "" if not published. `page`: the web page for
    getting the files by hand.
    """

    folder: str
    corpus: str
    files: tuple[str, ...]
    address: str
    bytes: int
    checksum: str
    page: str

    @property
    def is_archive(self) -> bool:
        """Whether the download is an archive from which the files are extracted."""
        return bool(self.address) and Path(urlsplit(self.address).path).name != self.files[0]

    def __str__(self) -> str:
        size = f"{self.bytes / 1e6:,.0f} MB" if self.bytes else "size unknown"
        return f"{self.folder}: {', '.join(self.files)} ({size}) {self.address or self.page}"


def read_downloads(path: Path = DOWNLOADS) -> list[Download]:
    """Read the table of downloads."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = [{"files": tuple(r["files"].split()), "bytes": int(r["bytes"] or 0)} for r in rows]
    return [Download(**row | number) for row, number in zip(rows, numbers, strict=True)]


def missing(p: Parameters, table: Sequence[Download]) -> Iterator[Download]:
    """The downloads that these parameters' data sets and corpora need and `data_dir` lacks."""
    records = [find_dataset(name) for name in p.datasets]
    full = [one.full.name for one in records if one.full and (p.corpus == "full" or _beside(one))]
    for row in table:
        named = row.folder in (full if row.corpus == "full" else p.datasets)
        if named and not _is_there(row, Path(resolve(p.data_dir))):
            yield row


def _beside(dataset) -> bool:
    """Whether a data set's pooled corpus is the papers': KILT's data sets except StrategyQA."""
    return dataset.full.name == "kilt" and dataset.name != "strategyqa"


def _is_there(row: Download, data_dir: Path) -> bool:
    """Whether the files are in data_dir/<folder> or data_dir, or their corpus was made before."""
    if row.corpus == "full" and (DATA / "corpora" / f"{row.folder}-full").is_dir():
        return True
    unpacked = data_dir / row.folder / row.files[0].removesuffix(".tar.bz2")
    places = ((data_dir / row.folder / name, data_dir / name) for name in row.files)
    return unpacked.exists() or all(any(map(Path.is_file, both)) for both in places)


def fetch(row: Download, data_dir: Path) -> list[Path]:
    """Download the files of a row to data_dir/<folder>, and return their paths. An interrupted
    download is resumed.

    Raises ConnectionError if the publisher does not answer, ValueError for a file that is not the
    expected one.
    """
    folder = data_dir / row.folder
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder, "data_dir")
    path = folder / Path(urlsplit(row.address).path).name
    try:
        download(row.address, path, row.bytes, row.checksum)
    except (ConnectionError, ValueError) as error:
        raise type(error)(f"{error}; or get it by hand, see {row.page}") from error
    return unpack(path, row.files, folder) if row.is_archive else [path]


def _play(profile: str, changes: dict, list_only: bool) -> int:
    p = read_parameters(profile, changes)
    if not p.data_dir:
        raise ValueError(f"found the profile {profile}, which generates its data, expected another")
    data_dir = ROOT / p.data_dir
    rows = list(missing(p, read_downloads()))
    by_hand = [row for row in rows if not row.address]
    if not Path(resolve(p.demonstrations)).is_dir():
        print(f"by hand: the folder prompts/ of https://github.com/StonyBrookNLP/ircot, into"
              f" {p.demonstrations}")  # fmt: skip
    for row in rows:
        if list_only or row in by_hand:
            how = "by hand: " if row in by_hand else ""
            print(f"{how}{row}, into {data_dir / row.folder}", flush=True)
        else:
            print(*fetch(row, data_dir), sep="\n", flush=True)
    if not rows:
        print(f"{data_dir} has all files that {profile} needs")
    return 1 if by_hand else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = new_parser(__doc__)
    parser.add_argument("--profile", default="sample", help="sample, paper or released (profiles/)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
        help="change a parameter: data_dir, datasets or corpus; may be repeated")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list what is missing, and stop")
    options = parser.parse_args(arguments)
    heed_interrupts()
    try:
        return _play(options.profile, parse_changes(options.set), options.list)
    except ValueError as error:
        return say_error(error, 2)
    except OSError as error:
        return say_error(error, 1)
    except KeyboardInterrupt:
        return say_error("interrupted: what was downloaded is kept; the same command goes on", 130)
