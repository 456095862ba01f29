"""A corpus on disk: its paragraphs in one SQLite file, so that one of any size opens at once."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from ircotlib.data import Paragraph
from ircotlib.errors import DataError
from ircotlib.files import locked

FILE = "corpus.sqlite"
TABLE = "paragraphs (position INTEGER PRIMARY KEY, id TEXT UNIQUE, title TEXT, text TEXT)"
SELECT = "SELECT id, title, text FROM paragraphs"
MOST_KEPT = 10_000  # paragraphs kept in memory: those read last


class Corpus:
    """The paragraphs that write_corpus wrote to a folder: a sequence in the order of writing.
    `fingerprint`: a hash of all. Raises FileNotFoundError if there are none.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        if not (path := self.folder / FILE).is_file():
            raise FileNotFoundError(f"{path} not found: no corpus, or an incomplete one")
        read_only = f"{path.absolute().as_uri()}?immutable=1"
        self._file = sqlite3.connect(read_only, uri=True, check_same_thread=False)
        try:
            about = self._file.execute("SELECT count, fingerprint FROM about").fetchone()
        except sqlite3.DatabaseError as error:
            raise DataError(f"{path}: found no corpus ({error}); delete it, run again") from None
        self._count, self.fingerprint = about
        self._read = lru_cache(MOST_KEPT)(self._read)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Paragraph]:
        return (Paragraph(*row) for row in self._file.execute(f"{SELECT} ORDER BY position"))

    def __getitem__(self, position: int) -> Paragraph:
        return self._read("position", int(position))

    def find(self, id: str) -> Paragraph:
        """The paragraph with this id; KeyError if there is none."""
        return self._read("id", id)

    def _read(self, column: str, value: int | str) -> Paragraph:
        row = self._file.execute(f"{SELECT} WHERE {column} = ?", (value,)).fetchone()
        if row is None:
            raise KeyError(f"no paragraph has the {column} {value!r} in {self.folder}")
        return Paragraph(*row)


def write_corpus(folder: Path | str, paragraphs: Iterable[Paragraph]) -> Corpus:
    """Write paragraphs as a corpus, in their order, and open it. The same one stays as it is, and
    another one after an error. Raises DataError if there are no paragraphs or two share an id.
    """
    path = Path(folder) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix="partial-") as partial:
        new = Path(partial) / FILE
        fingerprint = _write(new, paragraphs, f"{folder}: found")
        with locked(path.with_name("corpus.lock")):
            # others may read the same one at this moment, on other machines, too
            if not path.is_file() or Corpus(folder).fingerprint != fingerprint:
                new.replace(path)
            return Corpus(folder)


def _write(path: Path, paragraphs: Iterable[Paragraph], found: str) -> str:
    content, position = sha256(), -1
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode = OFF")  # what is half written is never opened
        file.execute(f"CREATE TABLE {TABLE}")
        for position, p in enumerate(paragraphs):
            row = {"id": p.id, "title": p.title, "text": p.text}
            content.update((json.dumps(row, ensure_ascii=False) + "\n").encode())
            try:
                values = position, *row.values()
                file.execute("INSERT INTO paragraphs VALUES (?, ?, ?, ?)", values)
            except sqlite3.IntegrityError:
                twice = f"{found} two paragraphs with the id {p.id!r}"
                raise DataError(f"{twice}; drop one, or number them") from None
        if position < 0:
            raise DataError(f"{found} no paragraphs to write, expected at least one")
        about = position + 1, content.hexdigest()[:16]
        file.execute("CREATE TABLE about AS SELECT ? AS count, ? AS fingerprint", about)
        file.commit()
    return about[1]
