"""Claims the folder that a training writes, before torch is imported."""

import argparse
from pathlib import Path

CHECKPOINT = "checkpoint.pt"


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add the option --out."""
    what = "folder of the model and its checkpoint: new, empty, or of the same training"
    parser.add_argument("--out", type=claim, required=True, help=what)


def claim(path: str | Path) -> Path:
    """The folder, unless it has files but no checkpoint, so that no model is
    overwritten. `Training.restore` checks which training the checkpoint belongs to.
    """
    folder = Path(path)
    has_files = folder.exists() and any(folder.iterdir())
    if has_files and not (folder / CHECKPOINT).is_file():
        raise argparse.ArgumentTypeError(
            f"{folder}: holds files that are no unfinished training: "
            "name a new or an empty folder"
        )
    return folder
