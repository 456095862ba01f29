"""A corpus on disk: paragraphs in one SQLite file; one of any size opens at once."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from ircotlib.data import Paragraph
from ircotlib.errors import DataError
from ircotlib.files import database, locked

FILE = "corpus.sqlite"
COLUMNS = "position INTEGER PRIMARY KEY, id TEXT UNIQUE, title TEXT, text TEXT"
SELECT = "SELECT id, title, text FROM paragraphs"
BLOCK = 1_000  # paragraphs that are read at a time


class Corpus:
    """The paragraphs that write_corpus wrote to a folder, a sequence in their order,
    for several threads. `fingerprint`: a hash of all. Raises FileNotFoundError, and
    DataError for a damaged file.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        path = self.folder / FILE
        if not path.is_file():
            raise FileNotFoundError(f"{path} not found: missing or incomplete corpus")
        # one connection, which reads on in this file when another one replaces it;
        # threads take turns, because two that use it at once are given each other's
        # rows from Python 3.12 on
        self._turn = Lock()
        read_only = f"{path.absolute().as_uri()}?immutable=1"
        self._path = path
        self._file = sqlite3.connect(read_only, uri=True, check_same_thread=False)
        header = "SELECT count, fingerprint FROM about"
        [(self._count, self.fingerprint)] = self._select(header)
        self._recall = lru_cache(10_000)(self._read)  # those read last

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Paragraph]:
        for first in range(0, self._count, BLOCK):
            block = f"{SELECT} WHERE position >= ? AND position < ? ORDER BY position"
            for row in self._select(block, first, first + BLOCK):
                yield Paragraph(*row)

    def __getitem__(self, position: int) -> Paragraph:
        return self._recall("position", int(position))

    def find(self, id: str) -> Paragraph:
        """The paragraph with this id; KeyError if there is none."""
        return self._recall("id", id)

    def _read(self, column: str, value: int | str) -> Paragraph:
        rows = self._select(f"{SELECT} WHERE {column} = ?", value)
        if not rows:
            raise KeyError(f"no paragraph has the {column} {value!r} in {self.folder}")
        return Paragraph(*rows[0])

    def _select(self, query: str, *values: int | str) -> list[tuple]:
        with self._turn, database(self._path):
            return self._file.execute(query, values).fetchall()


def write_corpus(folder: Path | str, paragraphs: Iterable[Paragraph]) -> Corpus:
    """Write paragraphs as a corpus, in their order, and open it. If the same one is
    there, or after an error, nothing changes. Raises DataError if there are no
    paragraphs or two share an id.
    """
    path = Path(folder) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix="partial-") as partial:
        new = Path(partial) / FILE
        fingerprint = _write(new, paragraphs, folder)
        with locked(path.with_name("corpus.lock")):
            with suppress(FileNotFoundError, DataError):  # missing or damaged
                corpus = Corpus(folder)
                # others may read the same one at this moment, on other machines, too
                if corpus.fingerprint == fingerprint:
                    return corpus
            new.replace(path)
            return Corpus(folder)


def _write(path: Path, paragraphs: Iterable[Paragraph], folder: Path | str) -> str:
    """Write the file of a corpus; return its fingerprint. Errors name the folder."""
    content = sha256()
    count = 0
    with database(path), closing(sqlite3.connect(path)) as file:
        # faster; a half-written file is never opened
        file.execute("PRAGMA journal_mode = OFF")
        file.execute(f"CREATE TABLE paragraphs ({COLUMNS})")
        for p in paragraphs:
            row = {"id": p.id, "title": p.title, "text": p.text}
            content.update((json.dumps(row, ensure_ascii=False) + "\n").encode())
            values = (count, p.id, p.title, p.text)
            try:
                file.execute("INSERT INTO paragraphs VALUES (?, ?, ?, ?)", values)
            except sqlite3.IntegrityError:
                raise DataError(
                    f"{folder}: found two paragraphs with the id {p.id!r}; drop one"
                ) from None
            count += 1
        if not count:
            raise DataError(f"{folder}: found no paragraphs, expected at least one")
        fingerprint = content.hexdigest()[:16]
        header = "CREATE TABLE about AS SELECT ? AS count, ? AS fingerprint"
        file.execute(header, (count, fingerprint))
        file.commit()
    return fingerprint
