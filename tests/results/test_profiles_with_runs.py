"""Which profile's runs are looked at: in 09_explorer and on the page of 08_factuality."""

import os
from itertools import count

import nbformat
import pytest

from ircotlib.experiment import bench as setup
from ircotlib.experiment.runs import NONE_SUITS
from ircotlib.files.paths import NOTEBOOKS
from ircotlib.parameters import read_parameters
from ircotlib.results import runs
from ircotlib.results.runs import with_runs

MINI = read_parameters("mini")
QUICK, SAMPLE = read_parameters("quick"), read_parameters("sample")
TRIAL = read_parameters("quick", {"seed": 9})


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        ([], MINI),
        ([MINI], MINI),
        ([QUICK], QUICK),
        ([MINI, QUICK], MINI),
        ([SAMPLE, QUICK], QUICK),  # the newest
        ([QUICK, SAMPLE], SAMPLE),
        ([TRIAL], MINI),  # of no profile as it is shipped
        ([QUICK, TRIAL], QUICK),
    ],
)
def test_the_profile_that_has_runs_is_taken_and_told(ran, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("IRCOT_BATCH", "")
    for module in (setup, runs):
        monkeypatch.setattr(module, "DATA", tmp_path)
    (tmp_path / "runs/gone/04_ircot-12345678").mkdir(parents=True)  # whose profile was removed
    clock = count(1)
    for p in ran:
        folder = setup.runs_folder(p, "04_ircot")
        for dataset in p.datasets:
            (folder / dataset / "test").mkdir(parents=True)
            (folder / dataset / "test" / NONE_SUITS).write_text("")
        os.utime(folder, (next(clock),) * 2)
    assert with_runs(MINI, "04_ircot") == expected
    told = capsys.readouterr().out
    assert told.count("\n") == (expected != MINI) and (expected.profile in told or not told)
    assert with_runs(MINI, "13_head_to_head") == MINI  # of which there are none
    monkeypatch.setenv("IRCOT_BATCH", "1")
    assert with_runs(MINI, "04_ircot") == MINI  # a command makes what it was asked for


@pytest.mark.parametrize(
    ("name", "box"), [("08_factuality", "annotate"), ("09_explorer", "explore")]
)
def test_the_box_needs_no_cell_but_that_of_the_imports(name, box):
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    [shown] = [cell for cell in code if f"{box}_box(" in cell.source]
    page = [cell for cell in code if "results" not in cell.metadata.get("tags", [])]
    assert page.index(shown) == 2  # after the parameters and the imports
