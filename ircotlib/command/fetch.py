"""Downloads the official files that a profile needs from their publishers into its data_dir, or has
them generated where that is how they are made.

ircotlib fetch --profile paper --list               what is missing, and how large it is
ircotlib fetch --profile paper --set data_dir=FOLDER
"""

import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ircotlib.datasets import find_dataset
from ircotlib.datasets.files import find_questions
from ircotlib.errors import Unavailable, UserError
from ircotlib.files.checksums import one_line
from ircotlib.files.download import download, unpack
from ircotlib.files.options import add_profile, new_parser, parse_changes
from ircotlib.files.paths import DATA, DOWNLOADS, ROOT, check_writable, resolve
from ircotlib.files.tables import Number, read_table
from ircotlib.parameters import Parameters, read_parameters


class Download(NamedTuple):
    """A row of data/downloads.csv: files in one folder of data_dir, and where to get them.

    `corpus`: "full" for files that only the papers' corpora need. `address`: of the single file, or
    of an archive with all files; "" if the publisher offers none. `bytes`, `checksum`: 0 and "" if
    not published. `page`: for getting the files by hand. `program`: a command line that writes the
    files into the folder named after it; "" if they are downloaded.
    """

    folder: str
    corpus: str
    files: tuple[str, ...]
    address: str
    bytes: int
    checksum: str
    page: str
    program: str = ""

    @property
    def is_archive(self) -> bool:
        """Whether the files are extracted from what is downloaded."""
        return bool(self.address) and Path(urlsplit(self.address).path).name != self.files[0]

    def __str__(self) -> str:
        size = f"{self.bytes / 1e6:,.0f} MB" if self.bytes else "size unknown"
        source = self.program if self.can_be_got else self.page
        return f"{self.folder}: {', '.join(self.files)} ({size}) {self.address or source}"

    @property
    def can_be_got(self) -> bool:
        """Whether it has an address, or its program is installed."""
        return bool(self.address or (self.program and shutil.which(shlex.split(self.program)[0])))


def read_downloads(path: Path = DOWNLOADS) -> list[Download]:
    """The table of downloads."""
    columns = dict.fromkeys(Download._fields) | {"bytes": Number(0, kind=int, empty=0)}
    rows = read_table(path, columns, key=["folder", "files"])
    return [Download(**row | {"files": tuple(row["files"].split())}) for row in rows]


def missing(p: Parameters, table: Sequence[Download]) -> Iterator[Download]:
    """The downloads that these parameters' data sets and corpora need and `data_dir` lacks. KILT's
    data sets have no corpus but KILT's pages.
    """
    full = {d.name: d.full_corpus.name for d in map(find_dataset, p.datasets) if d.full_corpus}
    only_full = [name for name in full if full[name] == "kilt" and name != "strategyqa"]
    corpora = {full[name] for name in (full if p.corpus == "full" else only_full)}
    data_dir = Path(resolve(p.data_dir))
    for row in table:
        folder = data_dir / row.folder
        is_full = row.corpus == "full"
        made = is_full and (DATA / "corpora" / f"{row.folder}-full").is_dir()
        unpacked = (folder / row.files[0].removesuffix(".tar.bz2")).exists()
        paths = [(folder / name, data_dir / name) for name in row.files]
        there = made or unpacked or all(near.is_file() or top.is_file() for near, top in paths)
        if row.folder in (corpora if is_full else p.datasets) and not there:
            yield row


def fetch(row: Download, data_dir: Path) -> list[Path]:
    """Download the files of a row to data_dir/<folder>, resuming, or run the program that writes
    them, and return their paths. Raises ConnectionError if the publisher does not answer,
    ValueError for another file than expected, and Unavailable if the program fails.
    """
    folder = data_dir / row.folder
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder, "data_dir")
    if row.program:
        return generate(row, folder)
    path = folder / Path(urlsplit(row.address).path).name
    try:
        download(row.address, path, row.bytes, row.checksum)
    except (ConnectionError, ValueError) as error:
        raise type(error)(f"{error}; or get it by hand, see {row.page}") from error
    return unpack(path, row.files, folder) if row.is_archive else [path]


def generate(row: Download, folder: Path) -> list[Path]:
    """Run the program that writes the files of a row into a folder, and return their paths. Raises
    Unavailable, with the last line that it wrote, if it fails or leaves a file out.
    """
    command = [*shlex.split(row.program), str(folder.absolute())]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    missing = [name for name in row.files if not (folder / name).is_file()]
    if run.returncode or missing:
        written = one_line((run.stderr or run.stdout).strip().rpartition("\n")[2])
        failed = f"found status {run.returncode} of {command[0]} ({written}), expected it to write"
        raise Unavailable(f"{failed} {' and '.join(row.files)} into {folder}: see {row.page}")
    return [folder / name for name in row.files]


def main(arguments: Sequence[str] | None = None) -> None:
    """Download what is missing, or list it. Raises Unavailable if files must be got by hand."""
    parser = new_parser(__doc__, "ircotlib fetch")
    add_profile(parser, "sample")
    parser.add_argument("--list", action="store_true", help="list what is missing, and stop")
    options = parser.parse_args(arguments)
    p = read_parameters(options.profile, parse_changes(options.set))
    if not p.data_dir:
        raise UserError(f"found the profile {p.profile}, which makes its data, expected another")
    if not Path(resolve(p.demonstrations)).is_dir():
        prompts = "by hand: the folder prompts/ of https://github.com/StonyBrookNLP/ircot"
        print(f"{prompts}, into {p.demonstrations}")
    data_dir = ROOT / p.data_dir
    table = read_downloads()
    if data_dir.exists() and not data_dir.is_dir():
        raise UserError(f"data_dir: found {data_dir}, expected a folder, or nothing there yet")
    rows = list(missing(p, table))
    for row in rows:
        if row.can_be_got and not options.list:
            print(*fetch(row, data_dir), sep="\n", flush=True)
        else:
            by_hand = "" if row.can_be_got else "by hand: "
            print(f"{by_hand}{row}, into {data_dir / row.folder}", flush=True)
    try:  # those that nobody publishes
        for name in {*p.datasets} - {row.folder for row in table}:
            find_questions(find_dataset(name), data_dir)
    except FileNotFoundError as error:
        raise UserError(str(error)) from None
    if not rows:
        print(f"{data_dir} has all files that {p.profile} needs")
    if by_hand := [row.folder for row in rows if not row.can_be_got]:
        asked = f"found no address of the files of {', '.join(by_hand)}"
        raise Unavailable(f"{asked}: get them by hand, as is said above, then ask again")
