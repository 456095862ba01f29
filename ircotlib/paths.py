"""Where things lie. Both folders can be moved by an environment variable, for example to try something without touching the kept figures."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("IRCOT_DATA", ROOT / "data"))  # corpora, indexes, runs, calls.sqlite, executed notebooks
FIGURES = Path(os.environ.get("IRCOT_FIGURES", ROOT / "figures"))
NOTEBOOKS = ROOT / "notebooks"
PROFILES = ROOT / "profiles"
PROMPTS = ROOT / "prompts"
REPORTED = ROOT / "data" / "reported.csv"
MODELS = ROOT / "data" / "models"  # the shipped ones


def resolve(path: str) -> str:
    """A path given relative to the repository made absolute where it exists there; anything else (a hub id, an absolute path) as it is."""
    return str(ROOT / path) if path and (ROOT / path).exists() else path
