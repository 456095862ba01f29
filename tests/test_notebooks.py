"""Every notebook runs, and makes the figures and tables that are kept.

All run with the profile quick, for two data sets and few questions. nbval then compares
the marked cells: those that ask no model with the kept ones, of the profile mini or, on
real questions, sample; the others with those of the run before, from its replies. What
systems answer is held by tests/test_requests.py.
"""

import ast
import re
from itertools import product

import nbformat
import pytest

from ircotlib.command.figures import about_notebook, all_notebooks, made_by, tags
from ircotlib.files import FIGURES, NOTEBOOKS, ROOT
from ircotlib.parameters import all_profiles, read_parameters
from ircotlib.systems import all_systems
from tests.processes import run_python

PATHS = {name: NOTEBOOKS / f"{name}.ipynb" for name in all_notebooks()}
WITHOUT_MODEL = ("02_index",)
# that ask no model before their last marked cell
BEGINNINGS = ("00_programs", "01_corpora", "03_prompts")
REAL_TEXT = "12_real_text"
MARK = "NBVAL_CHECK_OUTPUT"
FEW = {"datasets": ["musique", "hotpotqa"], "head_to_head": ["musique", "eli5"]}
FEW |= {"models": ["data/models/mini-base", "data/models/mini-causal"], "ircot_k": [2]}
FEW |= {"dev": 2, "test": 6, "ood_test": 3, "head_to_head_test": 3}
BENCHES = {"bench_batching.csv", "bench_systems.csv", "retrieval_scale.csv"}
BENCHES |= {"head_to_head_second.csv"}  # of the second agent (docs/laboratory.md)


def run_in(folder, *command: str) -> None:
    """Run a module of Python with data and figures in a folder of their own."""
    own = {"IRCOT_DATA": f"{folder}/data", "IRCOT_FIGURES": f"{folder}/figures"}
    done = run_python("-m", *command, cwd=ROOT, IRCOT_BATCH="1", **own)
    assert done.returncode == 0, (done.stdout[-8000:], done.stderr[-4000:])


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The folder in which all notebooks have run."""
    folder = tmp_path_factory.mktemp("notebooks")
    changes = [f"--set={name}={value}" for name, value in FEW.items()]
    options = ["--profile", "quick", "--set=workers=1"]
    run_in(folder, "ircotlib", "figures", *options, *changes)
    return folder


def nbval(folder, paths: list) -> None:
    """Check copies of notebooks by nbval; those with marked cells end with the last."""
    (folder / "checked").mkdir(exist_ok=True)
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        marked = [at for at, cell in enumerate(notebook.cells) if MARK in cell.source]
        if path.stem not in WITHOUT_MODEL:
            del notebook.cells[marked[-1] + 1 :]
        nbformat.write(notebook, folder / "checked" / path.name)
    options = ["--nbval-lax", "--nbval-current-env", "-q", "-p", "no:cacheprovider"]
    checked = [f"{folder}/checked/{path.name}" for path in paths]
    run_in(folder, "pytest", *options, *checked)


@pytest.mark.parametrize("name", PATHS)
def test_every_notebook_runs_and_makes_what_it_says(executed, name):
    trial = read_parameters("quick", FEW).trial
    for path in made_by(name, "quick", trial):
        assert (executed / "figures" / trial / path.name).stat().st_size > 0


def test_without_a_model_marked_cells_and_files_are_the_kept_ones(executed):
    nbval(executed, [PATHS[name] for name in (*WITHOUT_MODEL, *BEGINNINGS)])
    for path in [path for name in WITHOUT_MODEL for path in made_by(name, "mini")]:
        made = executed / "figures" / path.name
        if path.suffix == ".csv":
            assert made.read_bytes() == path.read_bytes(), path.name


def test_marked_cells_give_the_same_again_from_the_same_replies(executed):
    marked = [n for n in PATHS if any(MARK in cell.source for cell in code_of(n))]
    others = [name for name in marked if name not in (*WITHOUT_MODEL, *BEGINNINGS)]
    assert len(others) > 5
    [folder] = (executed / "data/executed/quick/trials").iterdir()
    nbval(executed, [folder / f"{name}.ipynb" for name in others])


def test_on_real_questions_marked_cells_and_files_are_the_kept_ones(shared, tmp_path):
    """Of 12_real_text, whose outputs are kept for the profile sample."""
    notebook = nbformat.read(PATHS[REAL_TEXT], as_version=4)
    [parameters] = [cell for cell in notebook.cells if "parameters" in tags(cell)]
    assert parameters.source.startswith('profile = "sample"')
    parameters.source += f'\nchanges = {{"data_dir": "{shared}"}}'
    path = tmp_path / f"{REAL_TEXT}.ipynb"
    nbformat.write(notebook, path)
    nbval(tmp_path, [path])
    trial = read_parameters("sample", {"data_dir": str(shared)}).trial
    for kept in made_by(REAL_TEXT, about_notebook(REAL_TEXT).kept):
        if kept.suffix == ".csv":
            made = tmp_path / "figures" / trial / kept.name
            assert made.read_bytes() == kept.read_bytes(), kept.name


def code_of(name: str) -> list:
    cells = nbformat.read(PATHS[name], as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def test_all_kept_figures_are_made_by_a_notebook_or_a_benchmark():
    made = set()
    for name, profile in product(PATHS, all_profiles()):
        made |= {*made_by(name, profile)}
    kept = {*FIGURES.glob("*.*")}
    beside = {path for path in kept if path.suffix in (".svg", ".pdf")}
    others = {path.name for path in kept - beside - made}
    assert others <= BENCHES | {"real_anchor.csv"}
    assert {path.with_suffix(".png") for path in beside} < kept


@pytest.mark.parametrize("name", PATHS)
def test_notebooks_are_kept_executed_and_hold_no_machinery(name):
    cells, code = nbformat.read(PATHS[name], as_version=4).cells, code_of(name)
    text = PATHS[name].read_text(encoding="utf-8")
    outputs = [output for cell in code for output in cell.outputs]
    assert outputs, "kept without outputs: run `make notebooks`"
    assert not any(output.output_type == "error" for output in outputs)
    assert str(ROOT) not in text and "/home/" not in text and len(text) < 1_100_000
    assert "Empty DataFrame" not in text
    assert cells[0].source.startswith(f"# {name[:2]} · ")
    for word in ("**Question.**", "**Makes**", "**needs**", "**time**"):
        assert word in cells[0].source
    [parameters] = [cell.source for cell in code if "parameters" in tags(cell)]
    assert re.findall(r"(?m)^(\w+) =", parameters)[:2] == ["profile", "changes"]
    nodes = [node for cell in code for node in ast.walk(ast.parse(cell.source))]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    saves = ("save_figure", "save_table")
    saved = [call for call in calls if ast.unparse(call.func) in saves]
    assert all("p" in map(ast.unparse, call.args) for call in saved)
    for cell in code:
        assert max(map(len, cell.source.splitlines()), default=0) <= 88, cell.source
        statements = ast.parse(cell.source).body
        assert not any(isinstance(node, ast.ClassDef | ast.Try) for node in statements)
        assert cell.source.count("\n") < 32, cell.source
        named = [system for system in all_systems() if f'"{system}"' in cell.source]
        # whose rows name their own
        assert not named or name in ("13_real_outputs", "99_tables")
    stems = {path.rsplit(".", 1)[0] for path in about_notebook(name).makes}
    assert len(saved) == len(stems) or name == "99_tables"
