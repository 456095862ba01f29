"""Regenerating: parameters, errors, interrupts, and what is removed from kept notebooks."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import nbformat
import psutil
import pytest
from jupyter_core.utils import run_sync

from ircotlib.command.checks import check_places
from ircotlib.command.figures import (
    OWN,
    all_notebooks,
    choose_notebooks,
    made_by,
    reads_runs,
    run_notebook,
    run_notebooks,
    strip,
)
from ircotlib.files.options import parse_change
from ircotlib.files.paths import NOTEBOOKS, PROFILES, ROOT
from ircotlib.parameters import read_parameters
from ircotlib.prompting.demonstrations import prompt_path

COMMAND = [sys.executable, "-m", "ircotlib", "figures"]


def regenerate(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    env = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, env=env
    )


def test_notebooks_run_in_the_order_of_their_numbers_and_figures_come_last():
    names = all_notebooks()
    assert names == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    last = ["08_factuality", "09_explorer", "14_searchain_tables", "99_figures"]
    assert [name for name in names if reads_runs(name)] == last
    assert names[-1] == "99_figures"


def test_notebooks_that_read_runs_wait_for_the_others():
    begun, ended = [], []

    def run(name):
        begun.append((name, len(ended)))
        time.sleep(0.05)
        ended.append(name)
        return 1.0

    done = dict(run_notebooks(["99_figures", "00_tour", "01_corpora"], run, jobs=2))
    assert list(done) == ["00_tour", "01_corpora", "99_figures"]
    assert begun[-1] == ("99_figures", 2)


def test_notebooks_share_a_kernel_but_no_names(tmp_path, monkeypatch):
    monkeypatch.setattr("ircotlib.command.figures.NOTEBOOKS", tmp_path)
    source = "print('left' in globals())\nimport os\nleft = os.getpid()\nleft"
    language = {"language_info": {"name": "python"}}
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source)], metadata=language
    )
    made = []
    for name in ("first", "second", "after it was killed"):
        if len(made) == 2:
            killed = psutil.Process(int(made[0].outputs[1].data["text/plain"]))
            killed.kill()
            killed.wait()
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
        run_notebook(name, read_parameters("mini"), {}, tmp_path / "executed" / f"{name}.ipynb")
        made.append(nbformat.read(tmp_path / "executed" / f"{name}.ipynb", as_version=4).cells[-1])
    run_sync(OWN.kernel.shutdown_kernel)(now=True)
    printed, process = zip(*(cell.outputs for cell in made), strict=True)
    assert [one.text for one in printed] == ["False\n"] * 3
    assert process[0].data == process[1].data != process[2].data
    assert [cell.execution_count for cell in made] == [2, 2, 2]  # after the parameters


def test_after_a_notebook_that_fails_none_is_begun():
    begun = []

    def run(name):
        begun.append(name)
        raise RuntimeError(name)

    with pytest.raises(RuntimeError, match="00_tour"):
        list(run_notebooks(["00_tour", "01_corpora", "02_index", "99_figures"], run, jobs=1))
    assert "99_figures" not in begun and len(begun) < 3


def test_models_and_prompts_of_the_mini_profile_are_shipped():
    mini = read_parameters("mini")
    check_places(mini)
    for name in (mini.model, *mini.models):
        assert (ROOT / name / "config.json").is_file(), name
    for dataset in mini.datasets:
        for m in mini.distractors:
            prompt_path(mini.demonstrations, dataset, "cot", mini.style, m)


def test_what_a_notebook_makes_bears_the_profile_but_for_mini():
    assert [path.name for path in made_by("07_ood", "mini")][:2] == [
        "ircot_fig05_ood_recall.png",
        "ircot_fig05_ood_recall.csv",
    ]
    paper = [path.name for path in made_by("06_scale", "paper")]
    assert paper[2:] == [
        "ircot_fig09_scale_f1_paper.png",
        "ircot_fig09_scale_f1_paper.csv",
    ]
    made = [path.stem for path in made_by("02_index", "sample")]
    assert made == ["sample_oner_recall", *2 * ["sample_oner_recall_by_retriever"]]
    assert made_by("05_laboratory", "mini") == []


def test_a_notebook_is_chosen_by_its_name_or_by_a_figure_that_it_makes():
    makes = {name: made_by(name, "mini") for name in all_notebooks()}
    assert choose_notebooks([], makes) == all_notebooks()
    assert choose_notebooks(["ircot_fig09_scale_f1", "00_tour"], makes) == ["00_tour", "06_scale"]
    for number in range(1, 7):
        assert choose_notebooks([f"ircot_table{number}"], makes) == ["99_figures"]
    with pytest.raises(ValueError, match="found --only fig9, expected one of 00_tour, .*or a fig"):
        choose_notebooks(["fig9"], makes)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--only", "98_nothing"],
        ["--set", "nothing=1"],
        ["--set", "seed"],
        ["--set", "ircot_k=[2"],
        ["--set", "test=-5"],
        ["--set", "data_dir=/nonexistent"],
        ["--set", "demonstrations=nowhere"],
        ["--profile", "maxi"],
        ["--profile", "../../escape"],
        ["--save", "--profile", "sample"],
        ["--save", "--set", "test=4"],
        ["--jobs", "0"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_one_line_before_any_work(arguments, tmp_path):
    done = regenerate(*arguments, IRCOT_DATA=str(tmp_path / "data"))
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("error: ")
    assert "found" in done.stderr and "expected" in done.stderr
    assert not (tmp_path / "data").exists()


def test_changes_are_yaml_and_only_places_are_paths(tmp_path, monkeypatch):
    assert parse_change("test=40") == ("test", 40)
    assert parse_change("oner_k=[5, 7]") == ("oner_k", [5, 7])
    assert parse_change("model=google/flan-t5-base") == ("model", "google/flan-t5-base")
    assert parse_change("server=http://127.0.0.1:8000") == ("server", "http://127.0.0.1:8000")
    assert parse_change("question=Who: 'a' #1?") == ("question", "Who: 'a' #1?")
    assert parse_change(f"data_dir={tmp_path}/../{tmp_path.name}") == ("data_dir", str(tmp_path))
    (tmp_path / "full").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse_change("corpus=full") == ("corpus", "full")
    assert parse_change("data_dir=full") == ("data_dir", str(tmp_path / "full"))


def test_a_cell_that_fails_is_one_line_with_its_notebook_and_message(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "laboratory").write_text("a file in the place of a folder")
    done = regenerate("--only", "01_corpora", IRCOT_DATA=str(data))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "error: notebook 01_corpora, code cell 4: NotADirectoryError" in done.stderr
    assert f"traceback in {data}/executed/mini/01_corpora.ipynb" in done.stderr
    assert (data / "executed/mini/01_corpora.ipynb").is_file()


def test_one_interrupt_ends_it_at_once_and_its_kernels_too(tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT), "IRCOT_DATA": str(tmp_path / "data")}
    command = [*COMMAND, "--only", "04_ircot", "--set", "dev=0", "--set", "oner_k=[5]"]
    command += ["--set", "ircot_k=[2]", "--set", "distractors=[1]", "--set", "test=30"]
    how = {"stderr": subprocess.PIPE, "text": True, "env": env, "start_new_session": True}
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # else ignored in background
    process = subprocess.Popen(command, preexec_fn=heeded, **how)
    try:
        wait_for(lambda: any((tmp_path / "data").glob("runs/*/*/*/*/*/predictions.jsonl")), 120)
        kernels = children_of(process.pid)
        assert kernels
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130 and time.monotonic() - started < 5
    assert errors.strip() == ("interrupted: all replies so far are kept; the same command goes on")
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in kernels), 15)


def wait_for(condition, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def children_of(pid: int) -> list[str]:
    """The child processes of a process; the test is skipped if there is no /proc."""
    tasks = f"/proc/{pid}/task"
    if not os.path.isdir(tasks):
        pytest.skip("needs /proc to see the kernels")
    found = []
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/children") as file:
            found += file.read().split()
    return found


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


def test_profiles_are_checked_and_say_what_they_set():
    for path in PROFILES.glob("*.yaml"):
        assert read_parameters(path.stem).profile == path.stem
