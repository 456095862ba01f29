"""The call cache: the reply to every request ever answered, by content, in one SQLite file.

It stores replies, never results: after a change of a prompt, a model or an index, only the calls
that the change affects are made again.
"""

import json
import sqlite3
import sys
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Self

from ircotlib.errors import DataError, Unavailable

SCHEMA = 3  # raised when the table or the keys change; kept in the file as SQLite's user_version
OWNER = 0x4952434F  # "IRCO", kept in the file as SQLite's application_id
CHECKED = 100_000_000  # the largest file, in bytes, that is checked when it is opened: 0.3 seconds
EMPTY = 60.0  # seconds after which a file of 0 bytes is not one that a process has just made
DAMAGED = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT}

TABLE = """CREATE TABLE IF NOT EXISTS calls
(key TEXT PRIMARY KEY, reply TEXT NOT NULL, checksum INTEGER) WITHOUT ROWID"""
GET = """SELECT key, CAST(reply AS BLOB), checksum FROM calls
WHERE key IN (SELECT value FROM json_each(?))"""
PAGE = "SELECT key FROM calls WHERE key > ? ORDER BY key LIMIT 10000"
PUT = "INSERT INTO calls VALUES (?1, ?2, checksum(?1, ?2)) ON CONFLICT (key) DO NOTHING"


class Calls:
    """An open call cache, to be used in a `with` statement or closed.

    `path`: the file, created if absent (on a local disk: SQLite's write-ahead log does not work
    over a network); None: in memory only. Several processes may use one file at once; `timeout`:
    how many seconds each waits while another writes. Raises DataError, and leaves the file as it
    is, if it is damaged or is not a call cache of this version; Unavailable if it cannot be opened,
    read or written: it is read-only or locked, a folder is in its place, the disk is full.
    """

    def __init__(self, path: Path | str | None = None, *, timeout: float = 60.0):
        self.path = ":memory:" if path is None else str(path)
        if self.path != ":memory:":
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._tell_if_empty()
        # JupyterLab runs a widget's callbacks in another thread; the lock admits one at a time.
        options = {"isolation_level": None, "check_same_thread": False}
        with self._told():
            self._connection = sqlite3.connect(self.path, timeout=timeout, **options)
        self._turn = Lock()
        self._connection.create_function("checksum", 2, checksum, deterministic=True)
        try:
            with self._told():
                self._prepare(timeout)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __len__(self) -> int:
        return self._number("SELECT count(*) FROM calls")

    def close(self) -> None:
        """Close the file; what was stored stays."""
        self._connection.close()

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        """The stored replies by key; keys without one are left out. Damaged replies are deleted, so
        that they are requested again, and stderr says so.
        """
        with self._turn, self._told():
            return self._get(keys)

    def put_many(self, replies: Mapping[str, str]) -> dict[str, str]:
        """Store replies by key in one transaction, committed when this returns; return the replies
        that are now stored under these keys.

        A key that already has a reply keeps it, so that two processes that answer the same request
        continue with the same reply.
        """
        with self._turn, self._told(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(PUT, replies.items())
        return {**replies, **self.get_many(replies)}

    def pages(self) -> Iterator[dict[str, str]]:
        """All replies by key, in the order of the keys, up to 10,000 at a time."""
        last = [""]
        while last:
            with self._turn, self._told():
                keys = [key for (key,) in self._connection.execute(PAGE, last)]
            last = keys[-1:]
            yield self.get_many(keys)

    def merge(self, others: Sequence[Self]) -> int:
        """Add all replies of other caches in one transaction; return how many were added. Raises
        DataError, and adds none, if two of all these caches reply differently to one request.
        """
        before = len(self)
        others = [other for other in others if other is not self]
        with self._turn, self._told(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            for number, other in enumerate(others):
                for replies in other.pages():
                    for key, reply in self._get(replies).items():
                        if reply != replies[key]:
                            first = next((c for c in others[:number] if c.get_many([key])), self)
                            pair = {first.path: reply, other.path: replies[key]}
                            raise DataError(_conflict(key, pair))
                    connection.executemany(PUT, replies.items())
        return len(self) - before

    def check_missing(self, keys: Collection[str]) -> None:
        """Raise Unavailable if replies to these keys may not be asked for; here all may
        (`exported.Replaying`).
        """

    def _get(self, keys: Iterable[str]) -> dict[str, str]:
        rows = self._connection.execute(GET, (json.dumps(list(keys)),)).fetchall()
        replies = {key: reply.decode() for key, reply, sum in rows if is_sound(key, reply, sum)}
        if damaged := [key for key, *_ in rows if key not in replies]:
            self._forget(damaged)
        return replies

    def _forget(self, keys: list[str]) -> None:
        self._connection.executemany("DELETE FROM calls WHERE key = ?", [(key,) for key in keys])
        said = f"{self.path}: found {len(keys)} damaged replies, which are asked for again"
        print(said, file=sys.stderr, flush=True)

    def _prepare(self, timeout: float) -> None:
        """Check the file before writing to it, then make the table if the file is new."""
        self._check()
        self._write_ahead(time.monotonic() + timeout)
        # survives a crash of the process; a power cut may cost the last batches
        self._connection.execute("PRAGMA synchronous=NORMAL")
        with self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(TABLE)
            connection.execute(f"PRAGMA user_version={SCHEMA}")
            connection.execute(f"PRAGMA application_id={OWNER}")

    def _write_ahead(self, deadline: float) -> None:
        """Turn on the write-ahead log: others can read while one writes, and killing the process is
        safe at any moment.

        SQLite does not wait by itself when two processes turn it on for the same new file.
        """
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def _check(self) -> None:
        try:
            tables = self._connection.execute("SELECT name FROM sqlite_schema").fetchall()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
                raise
            raise DataError(self._refusal("a file that is not a SQLite database")) from error
        owner, schema = map(self._number, ("PRAGMA application_id", "PRAGMA user_version"))
        if tables and owner != OWNER:
            found = f"a SQLite database of another program (application_id {owner})"
            raise DataError(self._refusal(found))
        if tables and schema != SCHEMA:
            raise DataError(self._refusal(f"a call cache of schema version {schema}"))
        if tables and tables != [("calls",)]:
            raise DataError(self._damage(f"tables named {tables}"))
        if self._number("PRAGMA page_count") * self._number("PRAGMA page_size") <= CHECKED:
            if (said := self._number("PRAGMA integrity_check(1)")) != "ok":
                raise DataError(self._damage(said))

    def _tell_if_empty(self) -> None:
        path = Path(self.path)
        if path.is_file() and not (about := path.stat()).st_size:
            if time.time() - about.st_mtime > EMPTY:
                lost = "if it had replies, they are lost, and asked for again"
                print(f"{path}: found 0 bytes, a new call cache; {lost}", file=sys.stderr)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn the errors of SQLite into one line: DataError if it finds the file damaged,
        Unavailable if it cannot use it.
        """
        try:
            yield
        except sqlite3.IntegrityError:  # of what was to be stored
            raise
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED:
                raise DataError(self._damage(error)) from error
            lacks = f"{self.path}: this call cache cannot be opened, read or written ({error})"
            free = "close other programs that hold it, free some space"
            make = "make the file, -wal and -shm beside it, and its folder writable to you"
            make = f"{make}, or set IRCOT_DATA to another folder"
            raise Unavailable(f"{lacks}; all replies in it are kept; {free}, {make}") from error

    def _damage(self, found: object) -> str:
        said = " ".join(str(found).split())[:200]
        expected = f"expected a sound call cache; run ircotlib calls recover {self.path}"
        return f"{self.path}: found damage ({said}), {expected}, which keeps what can be read"

    def _refusal(self, found: str) -> str:
        return (
            f"{self.path}: found {found}, expected a call cache of schema version {SCHEMA}. "
            "Move it away, or name another file, to have a new cache. The file was not changed."
        )

    def _number(self, statement: str) -> int:
        return self._connection.execute(statement).fetchone()[0]


def is_cache(path: Path) -> bool:
    """Whether a file may be a call cache: a database of SQLite, or an empty one."""
    with path.open("rb") as file:
        return file.read(16) in (b"SQLite format 3\0", b"")


def checksum(key: str, reply: str) -> int:
    """The checksum that is stored with a reply to detect damage."""
    return zlib.crc32(f"{key} {reply}".encode())


def is_sound(key: str, reply: object, sum: object) -> bool:
    """Whether a reply, read as bytes, is what was stored under its key."""
    try:
        return sum == checksum(key, reply.decode())
    except (AttributeError, UnicodeError):
        return False


def _conflict(key: str, replies: Mapping[str, str]) -> str:
    found = " and ".join(f"{reply[:200]!r} in {path}" for path, reply in replies.items())
    remedy = "leave out one of them: a model does not reply alike on all machines"
    return f"call {key}: found {found}, expected the same reply; {remedy}. Nothing was added"
