"""Every notebook runs on the mini profile, in order, and its marked cells give what is kept
(nbval).
"""

import json
import os
import subprocess
import sys

import nbformat
import pytest

from ircotlib.paths import FIGURES, NOTEBOOKS, ROOT
from ircotlib.regenerate import MAKES, made_by

PATHS = [NOTEBOOKS / f"{name}.ipynb" for name in MAKES]
SIDE = ("05_laboratory", "06_scale", "07_ood")  # run beside the others: they make what they need


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Run all notebooks with nbval, some beside the others, into folders of their own; return
    pytest's results and the folder of the figures.
    """
    folder = tmp_path_factory.mktemp("notebooks")
    env = os.environ | {
        "IRCOT_DATA": str(folder / "data"),
        "IRCOT_FIGURES": str(folder / "figures"),
        "IRCOT_BATCH": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval-lax",
        "--nbval-current-env",
        "--nbval-cell-timeout=900",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    runs = []
    for paths in (
        [path for path in PATHS if path.stem in SIDE],
        [path for path in PATHS if path.stem not in SIDE],
    ):
        log = folder / f"{len(runs)}.log"
        with log.open("w") as output:
            runs.append(
                (
                    subprocess.Popen(
                        [*command, *map(str, paths)],
                        cwd=ROOT,
                        env=env,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                    ),
                    log,
                )
            )
    return [(run.wait(), log.read_text()) for run, log in runs], folder / "figures"


def test_notebooks_run_and_their_marked_cells_reproduce(executed):
    for status, log in executed[0]:
        assert status == 0, log[-8000:]


def test_notebooks_make_their_figures(executed):
    _, figures = executed
    for notebook in MAKES:
        for path in made_by(notebook, "mini"):
            assert (figures / path.name).stat().st_size > 0


def test_kept_figures_are_those_of_the_notebooks(executed):
    """Figures from models may differ by a rounding on another processor; they are compared with a
    tolerance.
    """
    pandas = pytest.importorskip("pandas")
    _, figures = executed
    for path in (
        path for notebook in MAKES for path in made_by(notebook, "mini") if path.suffix == ".csv"
    ):
        kept, made = (pandas.read_csv(folder / path.name) for folder in (FIGURES, figures))
        pandas.testing.assert_frame_equal(kept, made, check_exact=False, atol=6)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_are_kept_executed_and_clean(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any(cell.outputs for cell in code), "kept without outputs: run `make notebooks`"
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in code) == 1
    assert (
        any("NBVAL_CHECK_OUTPUT" in cell.source and cell.outputs for cell in code)
        or path.stem == "10_figures"
    )
    text = json.dumps(notebook)
    assert str(ROOT) not in text and "/home/" not in text
    assert path.stat().st_size < 600_000


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_hold_no_machinery(path):
    notebook = nbformat.read(path, as_version=4)
    assert notebook.cells[0].source.startswith(f"# {path.stem[:2]} · ")
    for word in ("**Question.**", "**Makes**", "**needs**", "**time**"):
        assert word in notebook.cells[0].source
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.source.count("\n") <= 20, cell.source
            assert not any(line.startswith(("class ", "try:")) for line in cell.source.splitlines())
    assert any(cell.source.startswith("## What we see") for cell in notebook.cells[-3:])
