"""What was made of files is kept in memory, and made again once they change."""

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from pathlib import Path


def kept_until_changed(files: Callable[..., Iterable[Path]]) -> Callable:
    """As functools.cache, but the function is called again if one of `files(*arguments)`, or a file
    right in such a folder, has another time or size.
    """

    def keep(make: Callable) -> Callable:
        kept = lru_cache(maxsize=256)(lambda state, *arguments: make(*arguments))

        @wraps(make)
        def get(*arguments):
            return kept(tuple(map(_state, files(*arguments))), *arguments)

        return get

    return keep


def _state(path: Path) -> tuple:
    """What changes when a file, or one in a folder, is written."""
    there = [each.stat() for each in (path, *sorted(path.glob("*"))) if each.exists()]
    return tuple((about.st_mtime_ns, about.st_size) for about in there)
