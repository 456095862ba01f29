"""Where things lie. Both folders can be moved by an environment variable, for example to try
something without touching the kept figures.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# corpora, indexes, runs, calls.sqlite, executed notebooks
DATA = Path(os.environ.get("IRCOT_DATA", ROOT / "data"))
FIGURES = Path(os.environ.get("IRCOT_FIGURES", ROOT / "figures"))
NOTEBOOKS = ROOT / "notebooks"
PROFILES = ROOT / "profiles"
PROMPTS = ROOT / "prompts"
REPORTED = ROOT / "data" / "reported.csv"
MODELS = ROOT / "data" / "models"  # the shipped ones


@contextmanager
def write_folder(folder: Path, about: str, kind: str) -> Iterator[Path]:
    """A folder to write in, beside the one named, whose place it takes in the end, whole or not at
    all.

    Raises ValueError when the one named has files, but not the file `about` that every such folder
    has; `kind`: what it is, for the error.
    """
    if folder.exists() and not (folder / about).is_file() and any(folder.iterdir()):
        raise ValueError(
            f"{folder} holds files that are no {kind}: it needs a folder of its own, empty or not there yet"
        )
    partial, replaced = (
        folder.with_name(folder.name + suffix) for suffix in (".partial", ".replaced")
    )
    for left_over in (partial, replaced):
        shutil.rmtree(left_over, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    if folder.exists():
        folder.rename(replaced)
    partial.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)


def resolve(path: str) -> str:
    """A path given relative to the repository made absolute where it exists there; anything else (a
    hub id, an absolute path) as it is.
    """
    return str(ROOT / path) if path and (ROOT / path).exists() else path
