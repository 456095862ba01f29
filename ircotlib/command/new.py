"""Lays a folder to work in: the notebooks, the profiles, and a place for systems of your own.

ircotlib new FOLDER

Commands that are started in it, or below it, use its notebooks and profiles, read the plug-ins in
its folder plugins/, and write what they make into its data/ and figures/.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from ircotlib.errors import UserError
from ircotlib.files.options import new_parser, read_folder
from ircotlib.files.paths import INSTALLED, LAID, SHIPPED, check_writable, write_whole

PLUGINS = """Python files in this folder are plug-ins: each may end with SYSTEMS, DATASET or
RETRIEVERS. Templates of a file's systems are in prompts/<file>/. docs/systems.md describes both.
"""


def lay(folder: Path) -> None:
    """Lay a folder to work in. Raises UserError if it holds anything, or cannot be written to."""
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: found a folder with files, expected an empty one, or none yet")
    check_writable(folder)
    shutil.copytree(SHIPPED / "notebooks", folder / "notebooks", ignore=_is_hidden)
    write_whole(folder / "plugins" / "README.txt", PLUGINS)
    profiles = folder / Path(LAID).parent
    shutil.copytree(SHIPPED / Path(LAID).parent, profiles)  # last: it makes the folder a laid one


def _is_hidden(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(".")]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib new")
    parser.add_argument("folder", type=read_folder, help="empty, or not there yet")
    folder = parser.parse_args(arguments).folder
    if not INSTALLED:
        here = f"found a clone, {SHIPPED}, which is such a folder"
        raise UserError(f"{here}, expected an installed package: work in the clone")
    lay(folder)
    print(f"{folder}: cd there, then: ircotlib figures --profile quick, or jupyter lab notebooks")
