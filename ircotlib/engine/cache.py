"""The call cache: the replies to all requests, in one SQLite file. It holds no results:
after a change of a prompt, a model or an index, only the calls that it affects are made
again.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Protocol

from ircotlib.files import database, locked

TABLE = """
    CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, reply TEXT NOT NULL)
    WITHOUT ROWID
"""
GET = "SELECT key, reply FROM calls WHERE key IN (SELECT value FROM json_each(?))"
PUT = "INSERT INTO calls (key, reply) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"


class Replies(Protocol):
    """Where the engine looks replies up and stores them."""

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        """The stored replies by key; keys without one are left out."""

    def put_many(self, replies: Mapping[str, str]) -> dict[str, str]:
        """Store replies by key; return those that are now stored. A key keeps its first
        reply, with which two processes that answer the same request continue.
        """


class Calls(AbstractContextManager):
    """An open call cache. `path`: a file, which several processes may use at once, and
    which stays intact if they are killed; None: in memory. The last replies are in the
    file PATH-wal beside it. Raises DataError for a damaged file or a full disk.
    """

    def __init__(self, path: Path | str | None = None):
        # JupyterLab runs a widget's callbacks in another thread: one at a time
        self._turn = Lock()
        # SQLite does not wait by itself when two processes turn the log on for the same
        # new file
        lock = locked(Path(f"{path}.lock")) if path else nullcontext()
        self._path = path
        with lock, database(path):
            self._file = sqlite3.connect(
                path or ":memory:",
                timeout=60,
                isolation_level=None,
                check_same_thread=False,
            )
            # others can read while one writes
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute(TABLE)
            # survives a crash of the process; a power cut may cost the last batches
            self._file.execute("PRAGMA synchronous=NORMAL")

    def __exit__(self, *_) -> None:
        self._file.close()

    def __len__(self) -> int:
        with self._turn:
            return self._file.execute("SELECT count(*) FROM calls").fetchone()[0]

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        with self._turn, database(self._path):
            return dict(self._file.execute(GET, (json.dumps(list(keys)),)).fetchall())

    def put_many(self, replies: Mapping[str, str]) -> dict[str, str]:
        with self._turn, database(self._path), self._file:
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany(PUT, replies.items())
        return self.get_many(replies)
