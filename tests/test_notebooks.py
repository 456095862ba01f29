"""Every notebook runs, and its outputs and figures are the same as the kept ones.

To run everything takes twenty minutes on two cores, mostly for generation. Therefore the notebooks
in PART run for some data sets or systems, and their results are compared with the same rows of the
kept ones; others run unchanged, with nbval or, if they need a model, in the kernel of the first.
`make notebooks` runs all of them whole.
"""

import ast
import os
import subprocess
import sys
from contextlib import contextmanager

import nbformat
import pandas
import pytest
from jupyter_core.utils import run_sync

from ircotlib.command.kernels import KEEP_MEMORY, THREAD, run_notebook
from ircotlib.files.notebooks import about_notebook, all_notebooks, made_by
from ircotlib.files.paths import FIGURES, NOTEBOOKS, PROFILES, ROOT
from ircotlib.parameters import read_parameters
from ircotlib.systems import all_systems

# from the smallest to the largest, and the one that is prompted as GPT3
SIZES = [f"data/models/mini-{size}" for size in ("base", "xxl", "causal")]
SYSTEMS = ["Direct Prompting", "CoT", "SearChain w/o IR", "SearChain", "NoR QA", "OneR QA"]
HEAD_TO_HEAD = {"head_to_head": ["musique"], "systems": [*SYSTEMS, "IRCoT QA"]}
MUSIQUE = {"datasets": ["musique"], "demonstration_sets": 1}
TUNED = {"ircot_k": [2]}  # what tuning chooses for MuSiQue; a larger K has longer prompts
PART: dict = {"00_programs": {"test": 8}, "00_tour": {}, "10_your_own": {}}
PART |= dict.fromkeys(("04_ircot", "08_factuality", "09_explorer"), MUSIQUE | TUNED)
PART |= {"06_scale": MUSIQUE | {"models": SIZES}, "12_baselines": MUSIQUE}
PART |= {"99_figures": MUSIQUE | TUNED | {"models": SIZES}}
CAUSAL = {"model": SIZES[-1], "style": "codex", "gpt3": ""}  # which takes a third of the time
PART |= {"07_ood": {"datasets": ["2wikimultihopqa", "musique"]} | CAUSAL}
PART |= {"05_laboratory": {"systems": ["OneR QA"]}, "11_searchain": MUSIQUE | {"test": 4}}
ABILITIES = {"abilities_test": 2, "abilities_seeds": 1, "head_to_head": ["musique"]}
PART |= {"15_abilities": ABILITIES | TUNED}
PART |= {"16_real_text": {"datasets": ["musique"]}}
PART |= dict.fromkeys(("13_head_to_head", "14_searchain_tables"), HEAD_TO_HEAD | TUNED)
REAL = ROOT.parent / "shared" / "data" / "outputs"
PART |= {"17_real_outputs": {"outputs": str(REAL)}}  # left out where these are absent
# tables whose rows change if only a part is run: only their columns are compared
OF_ALL = {"head_to_head_orders", "searchain_ablation", "searchain_cases", "searchain_claims"}
OF_ALL |= {f"abilities_{name}" for name in ("ceilings", "dials", "map", "parts")}
OF_ALL |= {"searchain_fig10", "searchain_tree", "searchain_comparisons"}
OF_ALL |= {"ircot_claims", "ircot_comparisons", "head_to_head_means"}
OF_ALL |= {"head_to_head_equal", "head_to_head_unparsed"}
OF_ALL |= {"ircot_table1", "ircot_table3"}  # whose rivals are those of 13_head_to_head
OF_ALL |= {"real_outputs_claims"}  # with the laboratory's differences, of whole runs
OF_ALL |= {f"searchain_table{n}" for n in range(4, 12)}
MINI = read_parameters("mini")
PATHS = {name: NOTEBOOKS / f"{name}.ipynb" for name in all_notebooks()}
NBVAL = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "-q"]
NBVAL += ["--nbval-cell-timeout=900", "-p", "no:cacheprovider", "-p", "no:xdist"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Run all notebooks into folders of their own; return the folder, with figures/ and data/."""
    folder = tmp_path_factory.mktemp("notebooks")
    own = {"IRCOT_DATA": str(folder / "data"), "IRCOT_FIGURES": str(folder / "figures")}
    with one_core(), pytest.MonkeyPatch.context() as patch:
        for name, value in (own | KEEP_MEMORY | {"IRCOT_BATCH": "1"}).items():
            patch.setenv(name, value)
        command = [*NBVAL, *(str(path) for name, path in PATHS.items() if name not in PART)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout[-6000:], done.stderr[-2000:])
        for name in filter(PART.__contains__, PATHS):  # in their order: some read others' runs
            if name == "17_real_outputs" and not REAL.is_dir():
                continue
            out = folder / f"data/executed/mini/{name}.ipynb"
            run_notebook(name, read_parameters("mini", PART[name]), PART[name], out)
        run_sync(THREAD.kernel.shutdown_kernel)(now=True)
    return folder


@contextmanager
def one_core():
    """Kernels use one core, as other tests use the rest: each process for the plays of 15_abilities
    would import everything again.
    """
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    if cores:
        os.sched_setaffinity(0, [min(cores)])
    yield
    if cores:
        os.sched_setaffinity(0, cores)


@pytest.mark.parametrize(
    ("name", "count"),
    [("00_tour", 1), ("05_laboratory", 4), ("09_explorer", 1), ("10_your_own", 1)]
    + [("15_abilities", 1)],
)
def test_marked_cells_reproduce(executed, name, count):
    """nbval has compared the other notebooks' cells. These depend on no data set or system."""
    made = nbformat.read(executed / f"data/executed/mini/{name}.ipynb", as_version=4).cells
    made = {cell.source: cell for cell in made}
    marked = [cell for cell in code_of(PATHS[name]) if "NBVAL_CHECK_OUTPUT" in cell.source]
    assert len(marked) == count
    for cell in marked:
        assert list(map(_text, made[cell.source].outputs)) == list(map(_text, cell.outputs))


def _text(output) -> str:
    return output.get("text") or output.data.get("text/markdown") or output.data["text/plain"]


@pytest.mark.parametrize("notebook", PATHS)
def test_kept_figures_are_those_of_the_notebooks(executed, notebook):
    """Figures from models may differ by rounding on another processor. They are compared with a
    tolerance, of two dev questions, and verdicts only by what they are about.
    """
    if notebook == "17_real_outputs" and not REAL.is_dir():
        pytest.skip("needs ../shared/data/outputs")
    for path in made_by(notebook, "mini"):
        now = executed / "figures" / read_parameters("mini", PART.get(notebook)).trial / path.name
        assert now.stat().st_size > 0
        if path.suffix != ".csv":
            continue
        kept, made = _rows(path, notebook), _rows(now, notebook)
        if path.stem in OF_ALL:
            assert [column for column in kept if column in made] == [*made]  # few: no intervals
            continue
        assert len(made) > 0
        atol = 14 if path.stem in ("ircot_tuning", "own_answers") else 6  # 15 questions
        lax = {"check_exact": False, "check_dtype": False, "atol": atol}
        pandas.testing.assert_frame_equal(kept, made, **lax)


def _rows(path, notebook: str) -> pandas.DataFrame:
    """The rows of a table that are about the data sets and models the notebook was run for."""
    table, part = pandas.read_csv(path), PART.get(notebook, {})
    for column in {"dataset", "demonstrations"} & {*table}:
        if datasets := part.get("datasets", part.get("head_to_head")):
            table = table[table[column].isin(datasets)]
    # systems chosen by name keep the order of all
    if "system" in table and "systems" in part and "head_to_head" in part:
        table = table[table["system"].isin(part["systems"])]
        by = [name for name in ("dataset", "system") if name in table]
        table = table.sort_values(by, kind="stable")
    if "ircot_k" in part and {"system", "k"} <= {*table}:
        tried = [] if path.stem == "ircot_tuning" else part["ircot_k"]  # a single one is not tuned
        other = table["system"].str.startswith("IRCoT") & ~table["k"].isin(tried)
        table = table[~other]
    if "demonstration_sets" in part:  # kept are the means over two, of twice the answers
        counts = ["n", "answers"] if "answers" in table else []
        table = table.drop(columns=[name for name in table if "deviation" in name] + counts)
    if "models" in part and path.stem.startswith(("ircot_fig08", "ircot_fig09")):
        table = table[table["model"].isin(part["models"])]
    if "model" in part and "model" in table:
        table = table[table["model"] == part["model"]]
    if "profile" in table:
        table = table[table["profile"] != "paper"]
    if "chain" in table:  # replies may differ, and so may the chosen question
        return table[["dataset", "system"]].reset_index(drop=True)
    # by comparison with systems that are left out, or of a benchmark
    judged = [
        name for name in table if name.startswith(("p_", "verdict", "seconds")) or name == "p"
    ]
    return table.drop(columns=judged).reset_index(drop=True)


def test_all_kept_figures_are_made_by_a_notebook_or_a_benchmark():
    profiles = [path.stem for path in PROFILES.glob("*.yaml")]
    made = {path for name in PATHS for profile in profiles for path in made_by(name, profile)}
    benched = "batching", "dense", "growth", "parse_rates", "systems", "workers"
    benches = {f"bench_{name}.csv" for name in benched}
    # head_to_head_dense: notebook 13 with two retrievers (docs/searchain.md)
    benches |= {"real_anchor_compared.csv"}
    # head_to_head_by_system: head_to_head_equal of the agent before (docs/agent.md)
    benches |= {"head_to_head_by_system.csv", "abilities_predicted.csv", "abilities_measured.csv"}
    drawn = "retrieval_scale", "reader_confidence", "head_to_head_dense", "real_anchor"
    for name in (*drawn, "abilities_map_fine"):
        benches |= {f"{name}.csv", f"{name}.png"}
    kept = {*FIGURES.glob("*.*")}
    beside = {path for path in kept if path.suffix in (".svg", ".pdf", ".tex")}
    assert {path.name for path in kept - beside - made} == benches
    assert {path.with_suffix(".md" if path.suffix == ".tex" else ".png") for path in beside} < kept


@pytest.mark.parametrize("name", PATHS)
def test_all_that_a_notebook_saves_goes_where_its_parameters_say(name):
    trees = [ast.walk(ast.parse(cell.source)) for cell in code_of(PATHS[name])]
    calls = [node for tree in trees for node in tree if isinstance(node, ast.Call)]
    saved = [node for node in calls if "save_" in ast.unparse(node.func)]
    assert all("p" in map(ast.unparse, node.args) for node in saved)
    stems = {path.rsplit(".", 1)[0] for path in about_notebook(name).makes}
    assert len(saved) == len(stems)


def code_of(path) -> list:
    cells = nbformat.read(path, as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", PATHS)
def test_notebooks_are_kept_executed_and_clean(name):
    code, text = code_of(PATHS[name]), PATHS[name].read_text(encoding="utf-8")
    assert any(cell.outputs for cell in code), "kept without outputs: run `make notebooks`"
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    [parameters] = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
    assert [line.split()[0] for line in parameters.source.splitlines()] == ["profile", "changes"]
    marked = [cell for cell in code if "NBVAL_CHECK_OUTPUT" in cell.source]
    assert about_notebook(name).runs or any(cell.outputs for cell in marked)
    assert str(ROOT) not in text and "/home/" not in text and len(text) < 1_100_000


@pytest.mark.parametrize("name", PATHS)
def test_notebooks_hold_no_machinery(name):
    cells = nbformat.read(PATHS[name], as_version=4).cells
    assert cells[0].source.startswith(f"# {name[:2]} · ")
    for word in ("**Question.**", "**Makes**", "**needs**", "**time**"):
        assert word in cells[0].source
    first = cells if name == "00_programs" else cells[:8]  # where programs grow, it is the last
    assert any(cell.source.startswith("## Finding") for cell in first)
    for cell in cells:
        # what docs/write_numbers.py writes into a sentence may be long
        lines = [line for line in cell.source.splitlines() if "<!--" not in line]
        assert max(map(len, lines), default=0) <= 100, cell.source
    for cell in code_of(PATHS[name]):
        statements = ast.parse(cell.source).body
        assert not any(isinstance(node, ast.ClassDef | ast.Try) for node in statements)
        imports = [node for node in statements if isinstance(node, ast.Import | ast.ImportFrom)]
        assert len(imports) == len(statements) or cell.source.count("\n") < 20, cell.source
        assert not [system for system in all_systems() if f'"{system}"' in cell.source]
