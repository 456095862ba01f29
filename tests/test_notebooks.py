"""Every notebook runs, and its outputs and figures are the same as the kept ones.

To run everything takes twenty minutes on two cores, mostly for generation. Therefore the notebooks
in WHOLE run unchanged, with nbval; those in PART run for some data sets or systems, and their
results are compared with the same rows of the kept ones. `make notebooks` runs all of them whole.
"""

import json
import subprocess
import sys

import nbformat
import pandas
import pytest
from jupyter_core.utils import run_sync

from ircotlib.command.figures import (
    KEEP_MEMORY,
    THREAD,
    about_notebook,
    all_notebooks,
    made_by,
    run_notebook,
)
from ircotlib.files.paths import FIGURES, NOTEBOOKS, ROOT
from ircotlib.parameters import read_parameters

# from the smallest to the largest, and the one that is prompted as GPT3
SIZES = [f"data/models/mini-{size}" for size in ("base", "xxl", "causal")]
PART = {
    "04_ircot": {"datasets": ["musique"]},
    "05_laboratory": {"systems": ["OneR QA"]},
    "07_ood": {"datasets": ["2wikimultihopqa", "musique"]},
    "06_scale": {"datasets": ["musique"], "models": SIZES},
    "08_factuality": {"datasets": ["musique"]},
    "09_explorer": {"datasets": ["musique"]},
    "99_figures": {"datasets": ["musique"], "models": SIZES},
}
SYSTEMS = ["Direct Prompting", "CoT", "SearChain w/o IR", "SearChain", "NoR QA", "OneR QA"]
HEAD_TO_HEAD = {"head_to_head": ["musique"], "systems": [*SYSTEMS, "IRCoT QA"]}
PART |= {
    "11_searchain": {"datasets": ["musique"], "test": 4},
    "12_baselines": {"datasets": ["musique"]},
    "13_head_to_head": HEAD_TO_HEAD,
    "14_searchain_tables": HEAD_TO_HEAD,
}
# tables whose rows change if only a part is run: only their columns are compared
OF_ALL = {"head_to_head_orders", "searchain_ablation", "searchain_cases", "searchain_claims"}
OF_ALL |= {"searchain_fig10", "searchain_tree", *(f"searchain_table{n}" for n in range(4, 12))}
WHOLE = [name for name in all_notebooks() if name not in PART]
PATHS = [NOTEBOOKS / f"{name}.ipynb" for name in all_notebooks()]
NBVAL = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "-q"]
NBVAL += ["--nbval-cell-timeout=900", "-p", "no:cacheprovider", "-p", "no:xdist"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Run all notebooks into folders of their own; return the folder, with figures/ and data/."""
    folder = tmp_path_factory.mktemp("notebooks")
    places = {"IRCOT_DATA": str(folder / "data"), "IRCOT_FIGURES": str(folder / "figures")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (places | KEEP_MEMORY | {"IRCOT_BATCH": "1"}).items():
            patch.setenv(name, value)
        command = [*NBVAL, *(str(NOTEBOOKS / f"{name}.ipynb") for name in WHOLE)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout[-6000:], done.stderr[-2000:])
        for name, changes in PART.items():
            out = folder / f"data/executed/mini/{name}.ipynb"
            run_notebook(name, read_parameters("mini", changes), changes, out)
        run_sync(THREAD.kernel.shutdown_kernel)(now=True)
    return folder


@pytest.mark.parametrize(("name", "count"), [("05_laboratory", 4), ("09_explorer", 1)])
def test_marked_cells_reproduce(executed, name, count):
    """nbval has compared the cells of WHOLE. None of these depends on data sets or systems."""
    places = NOTEBOOKS / f"{name}.ipynb", executed / f"data/executed/mini/{name}.ipynb"
    kept, made = (nbformat.read(path, as_version=4).cells for path in places)
    made = [cell for cell in made if "injected-parameters" not in cell.metadata.get("tags", [])]
    marked = [cell for cell in kept if "NBVAL_CHECK_OUTPUT" in cell.source]
    assert len(marked) == count
    for cell in marked:
        (again,) = [other for other in made if other.source == cell.source]
        assert [_text(output) for output in again.outputs] == [_text(o) for o in cell.outputs]


def _text(output) -> str:
    return output.get("text") or output.data.get("text/markdown") or output.data["text/plain"]


@pytest.mark.parametrize("notebook", all_notebooks())
def test_kept_figures_are_those_of_the_notebooks(executed, notebook):
    """Figures from models may differ by rounding on another processor. They are compared with a
    tolerance, of two dev questions, and verdicts only by what they are about.
    """
    for path in made_by(notebook, "mini"):
        now = executed / "figures" / path.name
        assert now.stat().st_size > 0
        if path.suffix == ".csv":
            kept, made = _rows(path, notebook), _rows(now, notebook)
            if path.stem in OF_ALL:
                assert list(made) == list(kept)
                continue
            assert len(made) > 0
            atol = 14 if path.stem in ("ircot_tuning", "own_answers") else 6  # 15 questions
            how = {"check_exact": False, "check_dtype": False, "atol": atol}
            pandas.testing.assert_frame_equal(kept, made, **how)


def _rows(path, notebook: str) -> pandas.DataFrame:
    """The rows of a table that are about the data sets and models the notebook was run for."""
    table, part = pandas.read_csv(path), PART.get(notebook, {})
    for column in ("dataset", "demonstrations"):
        datasets = part.get("datasets", part.get("head_to_head"))
        if column in table and datasets:
            table = table[table[column].isin(datasets)]
    if "system" in table and "head_to_head" in part:  # systems chosen by name keep the order of all
        table = table[table["system"].isin(part["systems"])]
        table = table.sort_values(["dataset", "system"], kind="stable")
    if "models" in part and path.stem.startswith(("ircot_claims", "ircot_fig08", "ircot_fig09")):
        table = table[table["model"].isin(part["models"])]
    if "profile" in table:
        table = table[table["profile"] != "paper"]
    if "chain" in table:  # replies may differ, and so may the chosen question
        return table[["dataset", "system"]].reset_index(drop=True)
    # by comparison with systems that are left out, or of a benchmark
    judged = [name for name in table if name.startswith(("p_", "verdict", "seconds"))]
    return table.drop(columns=[*judged, *({"p"} & {*table})]).reset_index(drop=True)


def test_all_kept_figures_are_made_by_a_notebook_or_a_benchmark():
    made = {path.name for name in all_notebooks() for path in made_by(name, "mini")}
    made |= {path.name for name in all_notebooks() for path in made_by(name, "sample")}
    others = {path.name for path in FIGURES.iterdir()} - made
    benches = {"bench_batching.csv", "bench_dense.csv", "bench_systems.csv"}
    benches |= {"bench_parse_rates.csv"}
    # head_to_head_dense: notebook 13 with two retrievers (docs/searchain.md)
    for name in ("retrieval_scale", "reader_confidence", "head_to_head_dense"):
        benches |= {f"{name}.csv", f"{name}.png"}
    assert others == benches


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_are_kept_executed_and_clean(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    kept = "kept without outputs: run `make notebooks`"
    assert any(cell.outputs for cell in code), kept
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    (parameters,) = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
    assert [line.split(" = ")[0] for line in parameters.source.splitlines()] == [
        "profile",
        "changes",
    ]
    marked = [cell for cell in code if "NBVAL_CHECK_OUTPUT" in cell.source]
    assert about_notebook(path.stem).runs or any(cell.outputs for cell in marked)
    text = json.dumps(notebook)
    assert str(ROOT) not in text and "/home/" not in text
    assert path.stat().st_size < 600_000


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_hold_no_machinery(path):
    notebook = nbformat.read(path, as_version=4)
    assert notebook.cells[0].source.startswith(f"# {path.stem[:2]} · ")
    for word in ("**Question.**", "**Makes**", "**needs**", "**time**"):
        assert word in " ".join(notebook.cells[0].source.split())
    for cell in notebook.cells:
        assert max(map(len, cell.source.splitlines())) <= 100, cell.source
        if cell.cell_type == "code":
            assert cell.source.count("\n") < 20, cell.source
            assert not any(line.startswith(("class ", "try:")) for line in cell.source.splitlines())
    assert any(cell.source.startswith("## What we see") for cell in notebook.cells[-3:])


def test_notebooks_name_no_system_in_their_code():
    from ircotlib.systems import all_systems

    for path in PATHS:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                named = [name for name in all_systems() if f'"{name}"' in cell.source]
                assert not named, (path.stem, cell.source)
