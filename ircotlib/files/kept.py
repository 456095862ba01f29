"""What was made of files is kept in memory, and made again once they change."""

import os
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path


def kept_until_changed(files: Callable[..., Iterable[Path]]) -> Callable:
    """As functools.cache, but the function is called again if one of `files(*arguments)`, or a file
    right in such a folder, has another size or time. Only the latest value is kept.
    """

    def keep(make: Callable) -> Callable:
        kept = {}

        @wraps(make)
        def get(*arguments):
            now = [*map(_state, files(*arguments))]
            before, value = kept.get(arguments, (None, None))
            if before != now:
                kept.pop(arguments, None)
                value = None  # there may be no room for two
                value = make(*arguments)
                made = None in now  # perhaps by this call
                kept[arguments] = [*map(_state, files(*arguments))] if made else now, value
            return value

        return get

    return keep


def _state(path: Path) -> object:
    """What changes when a file, or one in a folder, is written; None if it is not there."""
    try:
        if not path.is_dir():
            return path.stat().st_size, path.stat().st_mtime_ns
        found = [(entry.name, entry.stat()) for entry in os.scandir(path) if entry.is_file()]
    except OSError:
        return None
    return sorted((name, about.st_size, about.st_mtime_ns) for name, about in found)
