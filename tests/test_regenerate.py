"""Regenerating: parameters, errors, and what is stripped from kept notebooks."""

import subprocess
import sys

import nbformat
import pytest

from ircotlib.paths import NOTEBOOKS, PROFILES
from ircotlib.regenerate import MAKES, choose_parameters, parse_change, read_profile, strip


def test_every_notebook_is_listed_and_every_listed_one_is_there():
    assert sorted(MAKES) == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def test_every_profile_fits_the_notebooks():
    for path in PROFILES.glob("*.yaml"):
        parameters = choose_parameters(list(MAKES), path.stem, {})
        assert all(parameters[notebook]["profile"] == path.stem for notebook in MAKES)
        assert set(parameters["04_ircot"]) >= set(read_profile(path.stem)) - {"seed"}


def test_defaults_of_the_notebooks_are_the_mini_profile():
    import papermill

    mini = read_profile("mini")
    for notebook in MAKES:
        for name, parameter in papermill.inspect_notebook(str(NOTEBOOKS / f"{notebook}.ipynb")).items():
            if name in mini and (notebook, name) != ("03_prompts", "distractors"):
                default = eval(parameter["default"])
                assert default == mini[name], (notebook, name)


def test_unknown_names_are_errors():
    with pytest.raises(ValueError, match="found parameter learning_rate, expected some of data_dir"):
        choose_parameters(["00_tour"], "mini", {"learning_rate": 1})
    with pytest.raises(ValueError, match="found profile 'maxi', expected one of mini, paper, sample"):
        read_profile("maxi")
    with pytest.raises(ValueError, match="expected name=value"):
        parse_change("seed")
    for arguments in (["--only", "99_nothing"], ["--set", "nothing=1"], ["--profile", "maxi"], ["--save", "--profile", "sample"]):
        done = subprocess.run([sys.executable, "-m", "ircotlib.regenerate", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("error: found ")


def test_changes_are_yaml_and_paths_become_absolute(tmp_path):
    assert parse_change("test=40") == ("test", 40)
    assert parse_change("oner_k=[5, 7]") == ("oner_k", [5, 7])
    assert parse_change("model=google/flan-t5-base") == ("model", "google/flan-t5-base")
    assert parse_change(f"data_dir={tmp_path}/../{tmp_path.name}") == ("data_dir", str(tmp_path))


def test_a_failing_notebook_is_reported_with_its_cell(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "ircotlib.regenerate", "--only", "00_tour", "--set", f"model={tmp_path}"],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "IRCOT_DATA": str(tmp_path / "data"), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "notebook 00_tour failed in its code cell 4" in done.stderr
    assert "expected config.json and *.safetensors" in done.stderr


def test_strip_keeps_results_and_drops_the_volatile():
    notebook = nbformat.v4.new_notebook(metadata={"papermill": {"duration": 3}, "kernelspec": {"name": "python3", "display_name": "Python 3"}})
    cell = nbformat.v4.new_code_cell("x", metadata={"execution": {"iopub.execute_input": "now"}, "tags": ["parameters"]})
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stderr", text="50%"),
        nbformat.v4.new_output("stream", name="stdout", text="42"),
        nbformat.v4.new_output("display_data", {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "bar"}),
    ]
    notebook.cells = [cell, nbformat.v4.new_code_cell("y", metadata={"tags": ["injected-parameters"]})]
    (kept,) = strip(notebook).cells
    assert [output.get("text") for output in kept.outputs] == ["42"]
    assert kept.metadata == {"tags": ["parameters"]}
    assert set(notebook.metadata) == {"kernelspec"}
