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
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ircotlib.data import excerpt
from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.files.checksums import one_line
from ircotlib.files.paths import check_target, resolve, write_partial
from ircotlib.playing.cache import Calls

FORM, VERSION = "ircotlib calls", 1  # begin the first line
LONGEST = 1_000_000  # characters of the first line
# what a process plays with: exported calls, keys to ask for again, a cache for replies that are
# used (`Replaying`)
EXPORTED, ASK_AGAIN, USED = "IRCOT_CALLS", "IRCOT_AGAIN", "IRCOT_USED"
LEAVE_OUT = (
    "leave --calls out, so that the model is asked, or use the data, parameters and versions with "
    "which the file was made"
)


class About(BaseModel):
    """The first line of exported calls: what made the replies; beside it versions of packages."""

    model_config = ConfigDict(strict=True, extra="allow")
    __pydantic_extra__: dict[str, list[str]]

    replies: int
    profile: list[str]
    seed: list[int]
    model: list[Annotated[list[str], Field(min_length=2, max_length=2)]]  # name, fingerprint


def check_export(path: Path) -> None:
    """Raise UserError if replies cannot be exported to a path (`check_target`)."""
    check_target(path, "exported calls", ".calls.xz", is_exported)


def is_exported(path: Path) -> bool:
    """Whether a file begins as `write_exported` does."""
    with path.open("rb") as file, suppress(lzma.LZMAError, EOFError):
        return lzma.LZMAFile(file).read(len(FORM) + 2) == f'{{"{FORM}'.encode()
    return False


def write_exported(path: Path, calls: Calls, about: Mapping) -> None:
    """Write all replies of a call cache into a file. `about`: what made them."""
    pairs = sorted((reply, key) for page in calls.pages() for key, reply in page.items())
    first = {FORM: VERSION, "replies": len(pairs)} | about
    with write_partial(path) as partial, lzma.open(partial, "wt", encoding="utf-8") as file:
        for line in (first, *pairs):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_exported(path: Path) -> tuple[dict, Calls]:
    """What made the replies of a file, and the replies, in memory, once all of it is checked.
    Raises UserError if there is no such file, DataError if it is damaged or another one.
    """
    if not path.is_file():
        raise UserError(f"{path}: found no such file, expected one that `calls export` wrote")
    calls = Calls()
    calls.path = str(path)  # errors name it
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            about = json.loads(file.readline(LONGEST))
            if (version := about.pop(FORM, None)) != VERSION:
                raise ValueError(f"{FORM} {version}")
            about = About.model_validate(about).model_dump()
            while lines := list(islice(file, 10_000)):
                calls.put_many(dict(map(_read_pair, lines)))
        if len(calls) != about["replies"]:
            raise ValueError(f"{len(calls)} of {about['replies']} replies")
    except (lzma.LZMAError, EOFError, LookupError, ValueError, AttributeError, TypeError,
            RecursionError, sqlite3.Error) as error:  # fmt: skip
        found = f"found no whole file of exported calls ({one_line(error)})"
        expected = f"expected version {VERSION}, as `ircotlib calls export` writes it"
        raise DataError(f"{path}: {found}, {expected}; get the file again") from None
    return about, calls


def _read_pair(line: str) -> tuple[str, str]:
    """The key and the reply of a line. Raises ValueError if one is no text, or the reply no JSON,
    which no backend could read.
    """
    reply, key = json.loads(line)
    if not (isinstance(reply, str) and isinstance(key, str)):
        raise ValueError(f"found {excerpt(line)}, expected a reply and a key, both texts")
    json.loads(reply)
    return key, reply


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
    files = {name: Path(resolve(os.environ.get(name, ""))) for name in (EXPORTED, ASK_AGAIN, USED)}
    named = {name for name in files if os.environ.get(name)}
    calls = Calls(path)
    if not {EXPORTED, USED} & named:
        return calls
    exported = read_exported(files[EXPORTED])[1] if EXPORTED in named else None
    again = frozenset(files[ASK_AGAIN].read_text().split()) if ASK_AGAIN in named else frozenset()
    used = Calls(files[USED]) if USED in named else None
    remedy = "" if exported is None else LEAVE_OUT
    return Replaying(calls, exported, again, used, remedy)
