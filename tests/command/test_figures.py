"""Figures: notebooks run with a profile's parameters; errors, interrupts; outputs."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial

import nbformat
import psutil
import pytest

from ircotlib.command import figures
from ircotlib.command.figures import about_notebook, all_notebooks, made_by
from ircotlib.files import NOTEBOOKS, ROOT
from ircotlib.parameters import read_parameters

MINI = read_parameters("mini")
NEW = nbformat.v4


@pytest.fixture
def notebooks(tmp_path, monkeypatch):
    """notebooks(name=[sources]): notebooks of these cells in place of the shipped."""
    monkeypatch.setattr(figures, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(figures, "DATA", tmp_path / "data")
    monkeypatch.setattr(os, "environ", os.environ.copy())

    def write(runs=(), tagged=(), **named):
        for name, sources in named.items():
            cells = [NEW.new_code_cell(source) for source in sources]
            for tag in tagged:
                cells.append(NEW.new_code_cell("1", metadata={"tags": [tag]}))
            metadata = {"language_info": {"name": "python"}, "ircotlib": {"runs": runs}}
            notebook = NEW.new_notebook(cells=cells, metadata=metadata)
            nbformat.write(notebook, tmp_path / f"{name}.ipynb")

    return write


def read_executed(tmp_path, name: str, trial: str = "") -> list:
    path = tmp_path / "data/executed/mini" / trial / f"{name}.ipynb"
    return nbformat.read(path, as_version=4).cells


def shown_last(tmp_path, name: str) -> str:
    """What the last cell of an executed notebook shows."""
    return read_executed(tmp_path, name)[-1].outputs[0].data["text/plain"]


def test_runs_are_read_of_notebooks_that_read_none():
    """Which run first, in any order."""
    names = all_notebooks()
    assert names == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    read = {earlier for name in names for earlier in about_notebook(name).runs}
    assert read < {name for name in names if not about_notebook(name).runs}


def test_figures_are_named_by_the_profile_unless_mini():
    assert made_by("07_ood", "mini")[0].name == "ircot_fig05_ood_recall.png"
    assert made_by("06_scale", "paper")[0].name == "ircot_fig08_scale_recall_paper.png"


def test_a_notebook_that_reads_runs_waits_for_them(notebooks, tmp_path, capsys):
    made = str(tmp_path / "made")
    wait = f"import time, pathlib\ntime.sleep(1)\npathlib.Path({made!r}).touch()"
    look = f"import os, pathlib\nassert pathlib.Path({made!r}).exists()\nos.getpid()"
    notebooks(a_04=[wait])
    notebooks(["a_04"], b_08=[look])
    figures.regenerate(MINI, ["a_04", "b_08"], {"seed": 0}, jobs=2)
    assert re.findall(r"(\w+) +wrote", capsys.readouterr().out) == ["a_04", "b_08"]
    source = read_executed(tmp_path, "b_08")[0].source
    assert 'changes = {"seed": 0}' in source and 'profile = "mini"' in source
    assert not psutil.pid_exists(int(shown_last(tmp_path, "b_08")))  # its kernel


WORK = """
import numpy, os
from joblib import Parallel, delayed
for _ in range(2):
    Parallel(2, backend="loky")(delayed(sum)(numpy.ones(10**6)) for n in range(4))
os.getpid()
"""


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs /dev/shm")
def test_the_workers_of_a_notebook_leave_nothing_in_memory(notebooks, tmp_path, capfd):
    notebooks(a=[WORK])
    figures.regenerate(MINI, ["a"], {})
    of_kernel = re.compile(f"[-_]{shown_last(tmp_path, 'a')}[-_]")
    deadline = time.monotonic() + 30
    while left := list(filter(of_kernel.search, os.listdir("/dev/shm"))):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    assert "leaked" not in capfd.readouterr().err


def test_after_a_notebook_that_fails_none_begins(notebooks, tmp_path):
    notebooks(a_04=["1", "raise ValueError('no such thing')"])
    notebooks(["a_04"], b_08=["1"])
    error = "notebook a_04: ValueError: no such thing; traceback in /"
    with pytest.raises(RuntimeError, match=error):
        figures.regenerate(MINI, ["a_04", "b_08"], {})
    assert not (tmp_path / "data/executed/mini/b_08.ipynb").exists()


def test_a_kernel_that_dies_is_named_by_its_notebook(notebooks, tmp_path):
    notebooks(a_04=["6 * 7", "import os\nos.kill(os.getpid(), 9)"])
    error = f"notebook a_04: Kernel died; .* are in {tmp_path}/data/executed"
    with pytest.raises(RuntimeError, match=error):
        figures.regenerate(MINI, ["a_04"], {})
    assert read_executed(tmp_path, "a_04")[1].outputs[0].data["text/plain"] == "42"


def test_the_kernel_is_that_of_this_interpreter_whatever_is_registered(
    notebooks, tmp_path, monkeypatch
):
    registered = tmp_path / "kernels/python3/kernel.json"
    registered.parent.mkdir(parents=True)
    kernel = {"display_name": "3", "language": "python", "argv": ["/usr/bin/false"]}
    registered.write_text(json.dumps(kernel))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    notebooks(a=["import sys\nsys.executable"])
    figures.regenerate(MINI, ["a"], {})
    assert shown_last(tmp_path, "a") == repr(sys.executable)


def test_cells_about_mini_are_left_out_with_changes(notebooks, tmp_path):
    for changes, count in ({"workers": 2}, 2), ({"test": 7}, 1):
        notebooks(tagged=["mini"], a=["1 + 1"])
        p = read_parameters("mini", changes)
        figures.regenerate(p, ["a"], changes)
        made = read_executed(tmp_path, "a", p.trial)
        assert sum("injected" not in str(cell.metadata) for cell in made) == count


COMMAND = """
import sys
from pathlib import Path
from ircotlib.__main__ import main
from ircotlib.command import figures
figures.NOTEBOOKS, figures.DATA = Path(sys.argv[1]), Path(sys.argv[1]) / "data"
sys.exit(main(["figures", "--jobs", "2"]))
"""
NOTE = """
import os, pathlib, time
pathlib.Path({!r}).write_text(str(os.getpid()))
time.sleep(60)
"""


def test_one_interrupt_ends_it_at_once_and_its_kernels_too(notebooks, tmp_path):
    begun, ends = tmp_path / "begun", tmp_path / "ends"
    notebooks(**{"00_waits": [NOTE.format(str(begun))]})
    notebooks(**{"01_ends": [NOTE.format(str(ends))]})
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        # else ignored in background
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    try:
        while not begun.exists() or not ends.exists() or not ends.read_text():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        kernels = psutil.Process(process.pid).children(recursive=True)
        os.kill(int(ends.read_text()), signal.SIGKILL)  # at the same time
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert kernels and process.returncode == 130
    assert errors.strip().splitlines()[-1].startswith("interrupted: ")
    assert not psutil.wait_procs(kernels, timeout=15)[1]


def test_saved_notebooks_have_results_but_nothing_volatile(notebooks, tmp_path):
    tagged = {"execution": {"iopub.execute_input": "now"}, "tags": ["parameters"]}
    cell = NEW.new_code_cell("x", metadata=tagged)
    for name, text in (("stderr", "50%"), ("stdout", "42")):
        cell.outputs.append(NEW.new_output("stream", name=name, text=text))
    view = {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "bar"}
    cell.outputs.append(NEW.new_output("display_data", view))
    injected = NEW.new_code_cell("y", metadata={"tags": ["injected-parameters"]})
    executed = NEW.new_notebook(cells=[cell, injected], metadata={"papermill": {}})
    nbformat.write(executed, tmp_path / "executed.ipynb")
    notebooks(**{"00_mine": ["x"]})
    about = nbformat.read(tmp_path / "00_mine.ipynb", as_version=4).metadata
    figures.save_executed("00_mine", tmp_path / "executed.ipynb")
    saved = nbformat.read(tmp_path / "00_mine.ipynb", as_version=4)
    [cell] = saved.cells
    assert [output.get("text") for output in cell.outputs] == ["42"]
    assert cell.metadata == {"tags": ["parameters"]} and saved.metadata == about
