"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from ircotlib.files import ROOT


def run_python(
    *words: str, cwd: Path | None = None, library: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess:
    """Run Python with the package in a folder, and without our IRCOT_ variables."""
    kept = {n: text for n, text in os.environ.items() if not n.startswith("IRCOT_")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env=kept | {"PYTHONPATH": str(library)} | variables,
        capture_output=True,
        text=True,
    )
