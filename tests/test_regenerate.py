"""Regenerating: parameters, errors, and what is stripped from kept notebooks."""

import re
import subprocess
import sys

import nbformat
import pytest

from ircotlib.experiment import prompt_path
from ircotlib.paths import NOTEBOOKS, PROFILES, ROOT
from ircotlib.regenerate import MAKES, choose_parameters, made_by, parse_change, read_profile, strip


def test_every_notebook_is_listed_and_every_listed_one_is_there():
    assert sorted(MAKES) == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def test_every_profile_fits_the_notebooks():
    for path in PROFILES.glob("*.yaml"):
        profile, parameters = read_profile(path.stem), choose_parameters(list(MAKES), path.stem, {})
        assert all(parameters[notebook]["profile"] == path.stem for notebook in MAKES)
        assert set(parameters["04_ircot"]) >= {
            name for name in profile if not re.match("models|scale_|ood_", name)
        } - {"seed"}
        assert "models" not in profile or parameters["06_scale"]["models"] == profile["models"]


def test_models_and_prompts_of_the_mini_profile_are_shipped():
    mini = read_profile("mini")
    for name in (mini["model"], *mini["models"]):
        assert (ROOT / name / "config.json").is_file(), name
    for dataset in mini["datasets"]:
        assert all(
            prompt_path(mini["demonstrations"], dataset, m, "cot", mini["style"]).is_file()
            for m in mini["distractors"]
        )


def test_what_a_notebook_makes_bears_the_profile_but_for_mini():
    assert [path.name for path in made_by("07_ood", "mini")][:2] == [
        "ircot_fig05_ood_recall.png",
        "ircot_fig05_ood_recall.csv",
    ]
    assert [path.name for path in made_by("06_scale", "paper")][
        -1
    ] == "ircot_fig09_scale_f1_paper.csv"
    assert [path.name for path in made_by("02_index", "mini")] == ["mini_oner_recall.csv"]
    assert made_by("05_laboratory", "mini") == []


def test_defaults_of_the_notebooks_are_the_mini_profile():
    import papermill

    mini = read_profile("mini")
    for notebook in MAKES:
        for name, parameter in papermill.inspect_notebook(
            str(NOTEBOOKS / f"{notebook}.ipynb")
        ).items():
            if name in mini and (notebook, name) != ("03_prompts", "distractors"):
                default = eval(parameter["default"])
                assert default == mini[name], (notebook, name)


def test_unknown_names_are_errors():
    with pytest.raises(
        ValueError,
        match="found parameter learning_rate, expected some of context_tokens, corpus, data_dir, ",
    ):
        choose_parameters(["00_tour"], "mini", {"learning_rate": 1})
    with pytest.raises(
        ValueError, match="found profile 'maxi', expected one of mini, paper, sample"
    ):
        read_profile("maxi")
    with pytest.raises(ValueError, match="expected name=value"):
        parse_change("seed")
    for arguments in (
        ["--only", "99_nothing"],
        ["--set", "nothing=1"],
        ["--profile", "maxi"],
        ["--save", "--profile", "sample"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ircotlib.regenerate", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert done.stderr.startswith("error: found ")


def test_changes_are_yaml_and_paths_become_absolute(tmp_path):
    assert parse_change("test=40") == ("test", 40)
    assert parse_change("oner_k=[5, 7]") == ("oner_k", [5, 7])
    assert parse_change("model=google/flan-t5-base") == ("model", "google/flan-t5-base")
    assert parse_change(f"data_dir={tmp_path}/../{tmp_path.name}") == ("data_dir", str(tmp_path))


def test_a_failing_notebook_is_reported_with_its_cell(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "ircotlib.regenerate", "--only", "00_tour", "--set", f"data_dir={tmp_path}"],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "IRCOT_DATA": str(tmp_path / "data"), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "notebook 00_tour failed in its code cell 4" in done.stderr
    assert (
        f"no questions of musique: looked for musique_ans_v1.0_dev.jsonl and dev_210.jsonl in {tmp_path}/musique"
        in done.stderr
    )


def test_strip_keeps_results_and_drops_the_volatile():
    notebook = nbformat.v4.new_notebook(
        metadata={
            "papermill": {"duration": 3},
            "kernelspec": {"name": "python3", "display_name": "Python 3"},
        }
    )
    cell = nbformat.v4.new_code_cell(
        "x", metadata={"execution": {"iopub.execute_input": "now"}, "tags": ["parameters"]}
    )
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stderr", text="50%"),
        nbformat.v4.new_output("stream", name="stdout", text="42"),
        nbformat.v4.new_output(
            "display_data",
            {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "bar"},
        ),
    ]
    notebook.cells = [
        cell,
        nbformat.v4.new_code_cell("y", metadata={"tags": ["injected-parameters"]}),
    ]
    (kept,) = strip(notebook).cells
    assert [output.get("text") for output in kept.outputs] == ["42"]
    assert kept.metadata == {"tags": ["parameters"]}
    assert set(notebook.metadata) == {"kernelspec"}
