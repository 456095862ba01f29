"""Saves what can be read of a damaged call cache into a new one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from ircotlib.errors import UserError
from ircotlib.playing.cache import Calls, is_sound


def recover(path: Path) -> tuple[int, Path]:
    """Replace a damaged call cache by one with all its sound replies; return their number, and
    where the damaged file is now. Raises UserError, and leaves the file as it is, for a file
    without one, which is no call cache; also for no file, or an earlier damaged one.
    """
    partial, damaged = (path.with_name(f"{path.name}.{end}") for end in ("partial", "damaged"))
    if not path.is_file():
        raise UserError(f"{path}: found no such file, expected a call cache")
    if damaged.exists():
        raise UserError(f"{damaged}: found an earlier damaged file; move it away first")
    partial.unlink(missing_ok=True)
    with Calls(partial) as calls:
        for replies in _read_sound(path):
            calls.put_many(replies)
        count = len(calls)
    if not count:
        partial.unlink()
        nothing = f"{path}: found no reply that can be read, expected a call cache"
        raise UserError(f"{nothing}; to have a new one, move it away. The file was not changed.")
    for end in ("", "-wal", "-shm"):
        if (file := Path(f"{path}{end}")).exists():
            file.rename(f"{damaged}{end}")
    partial.rename(path)
    return count, damaged


def _read_sound(path: Path) -> Iterator[dict[str, str]]:
    """The sound replies in 4,096 groups, by three digits of their keys: SQLite reads a table up to
    the first damaged page, so each such page costs no more than a group.
    """
    query = "SELECT key, reply, checksum FROM calls WHERE key >= ? AND key < ?"
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        for number in range(16**3):
            replies = {}
            with suppress(sqlite3.DatabaseError):  # what was read before the damaged page is kept
                for row in connection.execute(query, (f"{number:03x}", f"{number:03x}g")):
                    key, reply, checksum = row
                    if is_sound(key.decode(errors="replace"), reply, checksum):
                        replies[key.decode()] = reply.decode()
            if replies:
                yield replies
