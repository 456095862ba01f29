"""Saves what can be read of a damaged call cache into a new one; nothing else may use it meanwhile.

ircotlib recover FILE
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from ircotlib.files.options import new_parser, refusing
from ircotlib.running.cache import Calls, is_sound

RANGE = "SELECT * FROM calls WHERE key >= ? AND key < ?"


def recover(path: Path) -> tuple[int, Path]:
    """Replace a damaged call cache by one with all its sound replies; return their number, and
    where the damaged file is now (ours).

    Raises FileNotFoundError if there is no such file, FileExistsError if an earlier damaged file is
    still there.
    """
    partial, damaged = (path.with_name(f"{path.name}.{end}") for end in ("partial", "damaged"))
    if not path.is_file():
        raise FileNotFoundError(f"{path}: found no such file, expected a call cache")
    if damaged.exists():
        raise FileExistsError(f"{damaged}: found an earlier damaged file; move it away first")
    partial.unlink(missing_ok=True)
    with Calls(partial) as calls:
        for replies in _read_sound(path):
            calls.put_many(replies)
        count = len(calls)
    for end in ("", "-wal", "-shm"):
        if (file := Path(f"{path}{end}")).exists():
            file.rename(f"{damaged}{end}")
    partial.rename(path)
    return count, damaged


def _read_sound(path: Path) -> Iterator[dict[str, str]]:
    """Yield the sound replies of a file in 4,096 groups, by the first three digits of their keys,
    so that a damaged place costs no more than the rest of its group.
    """
    connection = sqlite3.connect(path)
    connection.text_factory = bytes
    for number in range(16**3):
        found = {}
        try:
            for row in connection.execute(RANGE, (f"{number:03x}", f"{number:03x}g")):
                found |= _read_row(*row)
        except sqlite3.DatabaseError:
            pass  # keep what was read before the damaged place
        if found:
            yield found
    connection.close()


def _read_row(key: object, reply: object, *checksum: object) -> dict[str, str]:
    """A row of the table as {key: reply}, empty if it is not sound. In an older file, without
    checksums, a row counts as sound if its reply is JSON.
    """
    try:
        key, text = key.decode(), reply.decode()
        sound = is_sound(key, reply, *checksum) if checksum else json.loads(text) is not None
    except (AttributeError, ValueError, RecursionError):
        return {}
    return {key: text} if sound else {}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__)
    parser.add_argument("file", type=Path)
    path = parser.parse_args(arguments).file
    with refusing():
        count, damaged = recover(path)
    print(f"{path}: kept {count:,} replies; the damaged file is {damaged}")
