"""What decides a run besides data, models and parameters: the code, and the texts of prompts."""

import hashlib
import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from pathlib import Path

from ircotlib import STARTED
from ircotlib.files.paths import HERE, PRICES, PROMPTS

PACKAGE = HERE.parents[1]
LATER = ("annotate", "command", "comparing", "explore", "results")  # rooms that no run uses


def hash_sources(texts: Path, code: tuple[Path, ...] = ()) -> str | None:
    """A hash of all files of code that can change a run, of our prompts and prices, of a folder of
    `texts`, which are read anew when they are used, and of more `code`. None if some code was
    written after this process had begun: what is loaded here may be older.
    """
    all_code = PACKAGE, PACKAGE.parent / "ircot_laboratory", *code
    loaded = [*chain.from_iterable(map(_list, all_code))]
    if any(max(times) / 1e9 > STARTED for _, _, *times in loaded):
        return None
    return _hash((*loaded, *chain.from_iterable(map(_list, (PROMPTS, PRICES, texts)))))


def _list(place: Path | os.DirEntry) -> Iterator[tuple]:
    """The files at or below a place, each with its size and the times at which it was changed."""
    if place.is_dir():
        left_out = LATER if Path(place) == PACKAGE else ()
        for entry in sorted(os.scandir(place), key=attrgetter("name")):
            if entry.name != "__pycache__" and entry.name not in left_out:
                yield from _list(entry)
    elif place.is_file():
        about = place.stat()
        yield os.fspath(place), about.st_size, about.st_mtime_ns, about.st_ctime_ns


@lru_cache(maxsize=16)
def _hash(states: tuple) -> str:
    """A hash of the files that `_list` found: their names and contents."""
    content = hashlib.blake2b(digest_size=16)
    for path, *_ in states:
        content.update(repr((Path(path).parts[-2:], Path(path).read_bytes())).encode())
    return content.hexdigest()
