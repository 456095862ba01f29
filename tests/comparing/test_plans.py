"""What notebooks say in their cells tagged `plan`: a notebook of one's own is checked, planned and
run without a line elsewhere, and no such cell opens data or imports torch.
"""

import re
import subprocess
import sys

import nbformat
import pytest
from ircotlib.experiment.checks import check_notebooks
from ircotlib.experiment.plans import read_all_comparisons, read_comparisons

from ircotlib.__main__ import main
from ircotlib.errors import UserError
from ircotlib.experiment.compare import Comparison
from ircotlib.files.notebooks import all_notebooks
from ircotlib.files.paths import ROOT
from ircotlib.parameters import read_parameters
from ircotlib.results.runs import read_runs

NOTEBOOKS = "ircotlib.files.notebooks.NOTEBOOKS", "ircotlib.command.kernels.NOTEBOOKS"
FEW = {"model": "simulated", "datasets": ["musique"], "dev": 4, "test": 6, "distractors": []}
FEW |= {"oner_k": [5], "ircot_k": [2, 4]}
SET = [f"--set={name}={value}" for name, value in FEW.items()]
PAGE = (ROOT / "docs/runs.md").read_text(encoding="utf-8").split("## A notebook of your own")[1]
PARAMETERS, PLAN, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """write(plan, run): the notebook 20_mine of docs/runs.md, with these cells, and no other."""
    for name in NOTEBOOKS:
        monkeypatch.setattr(name, tmp_path)

    def write(plan: str = PLAN, run: str = "found = study.run()\nlen(found.scores)"):
        new = nbformat.v4
        cells = [new.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})]
        cells += [new.new_code_cell(plan, metadata={"tags": ["plan"]}), new.new_code_cell(run)]
        language = {"language_info": {"name": "python"}}
        nbformat.write(new.new_notebook(cells=cells, metadata=language), tmp_path / "20_mine.ipynb")
        return tmp_path / "20_mine.ipynb"

    return write


def test_a_notebook_of_ones_own_is_checked_planned_and_run(write, capsys):
    write()
    [study] = read_comparisons("20_mine", "mini", FEW)
    assert study.sets == 1 and [s.name for s in study.systems] == ["OneR QA", "IRCoT QA"]
    assert [(run.system.name, run.part, run.size) for run in study.runs] == [
        ("OneR QA", "test", 6),
        ("IRCoT QA", "dev", 4),
        ("IRCoT QA", "dev", 4),
        ("IRCoT QA", "test", 6),
    ]
    p = read_parameters("mini", FEW)
    assert [*check_notebooks(p, FEW, ["20_mine"])] == ["20_mine"]
    assert main(["plan", "--only", "20_mine", "--questions", "2", *SET]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "20_mine" in line)
    assert row.split()[1:3] == ["4", "20"]  # runs and answers
    assert main(["figures", "--only", "20_mine", *SET]) == 0
    assert set(read_runs(p, "20_mine")["system"]) == {"OneR QA", "IRCoT QA"}


def test_what_it_lacks_is_told_before_it_runs(write, tmp_path):
    write()
    (empty := tmp_path / "empty").mkdir()
    other = {"model": "data/models/mini-base", "demonstrations": str(empty)}
    for changes, problem in (
        ({"dev": 0}, "dev: found 0, and 2 settings of IRCoT QA in 20_mine"),
        (other, "20_mine: OneR QA on musique: no prompt file"),
    ):
        changes = FEW | {"distractors": [1]} | changes
        with pytest.raises(UserError, match=problem):
            check_notebooks(read_parameters("mini", changes), changes, ["20_mine"])
    write(PLAN + "1 / 0")
    with pytest.raises(RuntimeError, match="^notebook 20_mine, cell 2: found ZeroDivisionError"):
        read_comparisons("20_mine", "mini", FEW)


def test_comparisons_in_lists_and_dicts_are_found_once(write):
    write(PLAN + "both = [study, {'again': study}]\nfor other in both:\n    last = other")
    assert len(read_comparisons("20_mine", "mini", FEW)) == 1


def test_plans_of_all_notebooks_are_read_without_data_or_models():
    """In a process of its own; under three seconds, most of which is importing."""
    code = f"""
import sys
from ircotlib.experiment.plans import read_all_comparisons
compared, _ = read_all_comparisons("mini", {{}}, {all_notebooks()})
benches = [b for several in compared.values() for one in several for b in one.benches]
print([b.test for b in benches if b.test or b.retriever or b.model or b.calls], len(benches))
print([name for name in ("torch", "transformers", "tantivy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    opened, heavy = done.stdout.splitlines()
    assert heavy == "[]" and opened.startswith("[] ") and int(opened.split()[1]) > 40


def test_every_notebook_that_tunes_or_tests_says_it_as_a_comparison():
    compared, left_out = read_all_comparisons("mini", {}, all_notebooks())
    says = {name for name, several in compared.items() if several}
    for name in all_notebooks():
        cells = nbformat.read(ROOT / f"notebooks/{name}.ipynb", as_version=4).cells
        runs = any(re.search(r"\.run\(\)", cell.source) for cell in cells)
        assert not runs or name in says
        assert not any("compare_systems(" in c.source for c in cells if c.cell_type == "code")
    left_out = [line for line in left_out if not line.startswith("17_real_outputs")]  # the user's
    assert left_out == [] and all(
        isinstance(one, Comparison) for several in compared.values() for one in several
    )
