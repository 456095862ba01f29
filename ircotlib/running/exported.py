"""Exported calls: the replies that some runs need, in one compressed file to publish with a paper,
and a call cache that plays with them.

The file is lines of JSON, compressed by xz, which adds a checksum: first what made the replies,
then a pair of reply and key for each. The pairs are sorted: equal replies make equal files, and
similar ones compress well.
"""

import json
import lzma
import os
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.files.checksums import one_line
from ircotlib.files.paths import resolve, write_partial
from ircotlib.running.cache import Calls

FORM, VERSION = "ircotlib calls", 1  # begin the first line
LONGEST = 1_000_000  # characters of the first line
# what a process plays with: exported calls, keys to ask for again, a cache for replies that are
# used (`Replaying`)
EXPORTED, AGAIN, USED = "IRCOT_CALLS", "IRCOT_AGAIN", "IRCOT_USED"


def write_exported(path: Path, calls: Calls, about: Mapping) -> None:
    """Write all replies of a call cache into a file. `about`: what made them."""
    pairs = sorted((reply, key) for page in calls.pages() for key, reply in page.items())
    first = {FORM: VERSION, "replies": len(pairs)} | about
    with write_partial(path) as partial, lzma.open(partial, "wt", encoding="utf-8") as file:
        for line in (first, *pairs):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_exported(path: Path) -> tuple[dict, Calls]:
    """What made the replies of a file, and the replies, in memory. Raises UserError if there is no
    such file, DataError if it is damaged or another one.
    """
    if not path.is_file():
        raise UserError(f"{path}: found no such file, expected one that `calls export` wrote")
    calls = Calls()
    calls.path = str(path)  # errors name it
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            about = json.loads(file.readline(LONGEST))
            if about.get(FORM) != VERSION:
                raise ValueError(f"{FORM} {about.get(FORM)}")
            while lines := list(islice(file, 10_000)):
                calls.put_many({key: reply for reply, key in map(json.loads, lines)})
        if len(calls) != about["replies"]:
            raise ValueError(f"{len(calls)} of {about['replies']} replies")
    except (lzma.LZMAError, EOFError, LookupError, ValueError, AttributeError, TypeError,
            RecursionError, sqlite3.Error) as error:  # fmt: skip
        found = f"found no whole file of exported calls ({one_line(error)})"
        expected = f"expected version {VERSION}, as `ircotlib calls export` writes it"
        raise DataError(f"{path}: {found}, {expected}; get the file again") from None
    return about, calls


@dataclass
class Replaying:
    """A call cache that plays with exported calls, or notes which replies are used.

    `own`: the cache of this machine, which keeps what is asked for. `exported`: replies that come
    before its own; None: there are none. `again`: keys that are asked for once more although there
    are replies, which stay the ones that count. `used`: a cache for all replies that are read, and
    for those that came to `again`. `remedy`: what to do if a reply is missing, because it may not
    be asked for; "": it may.
    """

    own: Calls
    exported: Calls | None = None
    again: frozenset[str] = frozenset()
    used: Calls | None = None
    remedy: str = ""

    @property
    def path(self) -> str:
        """The file in which other processes find the same replies; "": there is none."""
        return self.own.path if self.exported is None else ""

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        """As of Calls."""
        wanted = {*keys} - self.again
        replies = {} if self.exported is None else self.exported.get_many(wanted)
        replies |= self.own.get_many(wanted - replies.keys())
        if self.used is not None:
            self.used.put_many(replies)
        return replies

    def put_many(self, replies: Mapping[str, str]) -> dict[str, str]:
        """As of Calls."""
        once_more = {key: replies[key] for key in self.again & replies.keys()}
        if self.used is not None:
            self.used.put_many(once_more)
        self.again -= once_more.keys()
        self.own.put_many({key: replies[key] for key in replies.keys() - once_more.keys()})
        return {**replies, **self.get_many(replies)}

    def check_missing(self, keys: Collection[str]) -> None:
        """Raise Unavailable if replies to these keys may not be asked for."""
        if self.remedy and (missing := {*keys} - self.again):
            files = [calls.path for calls in (self.exported, self.own) if calls is not None]
            found = f"found {len(missing)} requests without a reply in {' or '.join(files)}"
            raise Unavailable(f"{found}, the first {min(missing)}; {self.remedy}")


@cache  # one connection a process and file
def open_calls(path: Path) -> Calls | Replaying:
    """The call cache of this process: a file, and what the environment names to play with."""
    files = {name: Path(resolve(os.environ.get(name, ""))) for name in (EXPORTED, AGAIN, USED)}
    calls = Replaying(Calls(path))
    if os.environ.get(EXPORTED):
        _, calls.exported = read_exported(files[EXPORTED])
        calls.remedy = "leave --calls out, so that the model is asked, or use the data, parameters "
        calls.remedy += "and versions with which the file was made"
    if os.environ.get(AGAIN):
        calls.again = frozenset(files[AGAIN].read_text().split())
    if os.environ.get(USED):
        calls.used = Calls(files[USED])
    return calls.own if calls.exported is calls.used is None else calls
