"""Claims the folder that a training writes, before torch is imported."""

import argparse
from pathlib import Path

from ircotlib.files.options import read_folder
from ircotlib.files.paths import check_own, check_writable

CHECKPOINT = "checkpoint.pt"


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add the option --out."""
    about = "folder of the model and its checkpoint: empty, not there yet, or of the same training"
    parser.add_argument("--out", type=_read_out, required=True, help=about)


def _read_out(text: str) -> Path:
    folder = read_folder(text)
    try:
        claim(folder)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return folder


def claim(folder: Path) -> None:
    """Raise ValueError if a folder has files but no checkpoint, so that no model is overwritten, or
    cannot be written to. Whose the checkpoint is, `Training.restore` checks.
    """
    check_own(folder, CHECKPOINT, "unfinished training")
    check_writable(folder, "--out")
