"""Claims the folder that a training writes, before torch is imported."""

import argparse
from pathlib import Path

from ircotlib.errors import DataError

CHECKPOINT = "checkpoint.pt"


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add the option --out."""
    about = "folder of the model and its checkpoint: new, empty, or of the same training"
    parser.add_argument("--out", type=_read_out, required=True, help=about)


def _read_out(text: str) -> Path:
    folder = Path(text)
    try:
        claim(folder)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return folder


def claim(folder: Path) -> None:
    """Raise ValueError if a folder has files but no checkpoint, so that no model is overwritten.
    `Training.restore` checks which training the checkpoint belongs to.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / CHECKPOINT).is_file():
        expected = "name a new or an empty folder"
        raise DataError(f"{folder}: holds files that are no unfinished training: {expected}")
