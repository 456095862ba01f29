"""The notebooks and what their metadata say."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ircotlib.files.paths import NOTEBOOKS, figure_path


class About(NamedTuple):
    """What a notebook's metadata say about it, under "ircotlib".

    `makes`: its figures and tables (`figure_path`). `runs`: the notebooks whose runs it reads.
    `minutes`: how long it takes with the mini profile at first.
    """

    makes: Sequence[str] = ()
    runs: Sequence[str] = ()
    minutes: float = 1.0


def all_notebooks() -> list[str]:
    """The notebooks by name, in the order of their numbers."""
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def read_notebook(notebook: str) -> dict:
    """The content of a notebook."""
    return json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))


def about_notebook(notebook: str) -> About:
    """What a notebook makes and reads."""
    return About(**read_notebook(notebook)["metadata"].get("ircotlib", {}))


def made_by(notebook: str, profile: str, trial: str = "") -> list[Path]:
    """The figures and tables that a notebook makes with a profile, or in a trial of it."""
    return [figure_path(name, profile, trial) for name in about_notebook(notebook).makes]
