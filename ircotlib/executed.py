"""Executed notebooks as they are kept: without what changes from run to run."""

from pathlib import Path
from typing import TYPE_CHECKING

from ircotlib.paths import NOTEBOOKS, write_whole

if TYPE_CHECKING:
    import nbformat


def strip(notebook: "nbformat.NotebookNode") -> "nbformat.NotebookNode":
    """Remove what changes from run to run: papermill's traces, times, widget state, progress
    output, and machine-bound warnings.
    """
    kept = ("kernelspec", "language_info")
    notebook.metadata = {n: notebook.metadata[n] for n in kept if n in notebook.metadata}
    notebook.metadata.get("language_info", {}).pop("version", None)
    cells = notebook.cells
    notebook.cells = [c for c in cells if "injected-parameters" not in c.metadata.get("tags", [])]
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata.tags} if cell.metadata.get("tags") else {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _is_volatile(output)]
    return notebook


def _is_volatile(output: "nbformat.NotebookNode") -> bool:
    widget = "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    return widget or (output.output_type == "stream" and output.name == "stderr")


def save_executed(notebook: str, executed: Path) -> None:
    """Put an executed notebook, stripped, in the place of its source."""
    import nbformat  # takes two seconds to import

    stripped = strip(nbformat.read(executed, as_version=4))
    write_whole(NOTEBOOKS / f"{notebook}.ipynb", nbformat.writes(stripped) + "\n")
