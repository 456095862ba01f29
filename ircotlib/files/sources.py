"""What decides a run besides data, models and parameters: the code, and the texts of prompts."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
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
    code = [*_list_all((PACKAGE, PACKAGE.parent / "ircot_laboratory", *code))]
    if any(max(times) / 1e9 > STARTED for _, _, *times in code):
        return None
    return _hash((*code, *_list_all((PROMPTS, PRICES, texts))))


def _list_all(places: Iterable[Path]) -> Iterator[tuple]:
    """The files at or below places, each with its size and the times at which it was changed."""
    walks = (os.walk(p) if p.is_dir() else [(p.parent, [], [p.name])] for p in places)
    for folder, folders, names in chain.from_iterable(walks):
        left_out = {"__pycache__", *(LATER if Path(folder) == PACKAGE else ())}
        folders[:] = sorted({*folders} - left_out)
        for path in (os.path.join(folder, name) for name in sorted(names)):
            about = os.stat(path)
            yield path, about.st_size, about.st_mtime_ns, about.st_ctime_ns


@lru_cache(maxsize=16)
def _hash(states: tuple) -> str:
    """A hash of the files that `_list_all` found: their names and contents."""
    content = hashlib.blake2b(digest_size=16)
    for path, *_ in states:
        content.update(repr((Path(path).parts[-2:], Path(path).read_bytes())).encode())
    return content.hexdigest()
