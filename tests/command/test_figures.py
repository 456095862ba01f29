"""Regenerating: what notebooks make and need, the order, errors, interrupts, what is kept."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import nbformat
import psutil
import pytest
from ircotlib.experiment.checks import check_places
from ircotlib.experiment.current import REPLAY
from ircotlib.experiment.plans import read_comparisons
from jupyter_core.utils import run_sync

from ircotlib.command import figures, kernels
from ircotlib.command.kernels import run_notebooks
from ircotlib.files import paths
from ircotlib.files.notebooks import about_notebook, all_notebooks, made_by
from ircotlib.files.paths import NOTEBOOKS, PROFILES, ROOT
from ircotlib.parameters import read_parameters
from ircotlib.prompting.demonstrations import prompt_path

MINI = read_parameters("mini")
COMMAND = [sys.executable, "-m", "ircotlib", "figures"]


@pytest.mark.parametrize("name", all_notebooks())
def test_the_top_of_a_notebook_says_what_its_metadata_say(name):
    """`ircotlib figures` reads the metadata, people read the top."""
    about = about_notebook(name)
    [first, *_] = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    _, makes, needs, time = re.split(r"\*\*(?:Makes|needs|time)\*\*", first.source)
    files = re.findall(r"`figures/([\w<>]+)\.\{?([\w,]+)\}?`", " ".join(makes.split()))
    assert about.makes == [f"{stem}.{end}" for stem, ends in files for end in ends.split(",")]
    runs = needs if "the runs of" in " ".join(needs.split()) else ""
    assert about.runs == re.findall(r"`(\d\d_\w+)`", runs)
    # that of real outputs compares nothing
    compared = read_comparisons(name, "mini", {}) if name != "17_real_outputs" else []
    used = {bench.parameters.model for one in compared for bench in one.benches}
    assert (MINI.agent in used) == bool(re.search(r"the\s+agent", needs))
    assert (used > {MINI.model, MINI.models[0]}) == ("models of several sizes" in needs)
    assert ("minute" in time.partition(";")[0]) == (about.minutes >= 1)


def test_the_figures_come_last_and_what_reads_runs_reads_those_of_earlier_notebooks():
    names = all_notebooks()
    assert names == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    assert names[-1] == "99_figures" and about_notebook("99_figures").runs
    for name in names:
        assert all(earlier in names and earlier < name for earlier in about_notebook(name).runs)


def test_notebooks_begin_when_the_runs_they_read_are_there_the_most_read_first():
    begun, ended, looks = [], [], []

    def run(name):
        begun.append((name, {*ended}))
        time.sleep(1.2 if name == "04_ircot" else 0.05)  # there is a look every second
        ended.append(name)
        return 1.0

    names = ["00_tour", "01_corpora", "04_ircot", "08_factuality", "13_head_to_head", "99_figures"]
    done = dict(run_notebooks(names, run, jobs=1, look=looks.append))
    assert [name for name, _ in begun][:3] == ["04_ircot", "13_head_to_head", "01_corpora"]
    assert {*done} == {*names} and len(looks) >= len(names)
    assert looks[0] == ["04_ircot"] and max(map(len, looks)) == 1
    before = dict(begun)
    assert "04_ircot" in before["08_factuality"] <= {*names} - {"99_figures"}
    assert {"04_ircot", "13_head_to_head"} <= before["99_figures"]


def test_the_bar_tells_what_notebooks_do_and_how_long_the_rest_takes(tmp_path, capsys):
    bar = figures.Bar({"04_ircot": 30.0, "13_head_to_head": 70.0, "99_figures": 0.5}, tmp_path)
    (tmp_path / "1").write_text("13_head_to_head, runs: 1,000 of 2,000, fever test CoT: 40 of 100")
    (tmp_path / "2").write_text("fever corpus: 10 of 20")  # of another process
    bar.started, bar.printed = bar.started - 600, bar.printed - 31
    bar.ended.add("04_ircot")
    bar.look(["13_head_to_head"])
    assert bar.bar.n == 30 + 35
    told = "13_head_to_head, runs: 1,000 of 2,000, fever test CoT: 40 of 100; about 5 min left\n"
    assert capsys.readouterr().err == told
    (tmp_path / "1").write_text("13_head_to_head, runs: 1 of 50")  # its next comparison
    bar.look(["13_head_to_head"])
    assert bar.bar.n == 65 and not capsys.readouterr().err
    (tmp_path / "1").unlink()
    bar.ended.add("13_head_to_head")
    bar.printed -= 31
    bar.look(["99_figures"])  # compares no systems, and all minutes but its own are over
    assert capsys.readouterr().err == "99_figures\n"


def test_after_a_notebook_that_fails_none_is_begun():
    begun = []

    def run(name):
        begun.append(name)
        raise RuntimeError(name)

    with pytest.raises(RuntimeError, match="05_laboratory"):
        list(run_notebooks(["05_laboratory", "01_corpora", "02_index", "99_figures"], run, jobs=1))
    assert "99_figures" not in begun and len(begun) < 3


def test_notebooks_share_a_kernel_but_no_names(tmp_path, monkeypatch):
    monkeypatch.setattr("ircotlib.command.kernels.NOTEBOOKS", tmp_path)
    source = "print('left' in globals())\nimport os\nleft = os.getpid()\nleft"
    cell = nbformat.v4.new_code_cell(source)
    metadata = {"language_info": {"name": "python"}}
    notebook, made = nbformat.v4.new_notebook(cells=[cell], metadata=metadata), []
    for name in ("first", "second", "after it was killed"):
        if len(made) == 2:
            killed = psutil.Process(int(made[0].outputs[1].data["text/plain"]))
            killed.kill()
            killed.wait()
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
        executed = tmp_path / "executed" / f"{name}.ipynb"
        kernels.run_notebook(name, read_parameters("mini"), {}, executed)
        made.append(nbformat.read(executed, as_version=4).cells[-1])
    run_sync(kernels.THREAD.kernel.shutdown_kernel)(now=True)
    printed, process = zip(*(cell.outputs for cell in made), strict=True)
    assert [output.text for output in printed] == ["False\n"] * 3
    assert process[0].data == process[1].data != process[2].data
    assert [cell.execution_count for cell in made] == [2, 2, 2]  # after the parameters


NAMED = {"display_name": "Python 3", "language": "python"}
SPECS = {
    "another interpreter": {"argv": ["/usr/bin/false", "-f", "{connection_file}"]},
    "an old format": {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{}"]},
    "another language": {"argv": ["R", "--slave"], "language": "R"},
    "no kernelspec": 5,
}


@pytest.mark.parametrize("spec", SPECS)
def test_the_kernel_is_that_of_this_interpreter_whatever_is_registered(spec, tmp_path, monkeypatch):
    registered = tmp_path / "kernels/python3/kernel.json"
    registered.parent.mkdir(parents=True)
    registered.write_text(json.dumps(NAMED | SPECS[spec] if spec != "no kernelspec" else 5))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(kernels, "THREAD", threading.local())
    cell = nbformat.v4.new_code_cell("import sys\nsys.executable")
    metadata = {"language_info": {"name": "python"}}
    metadata["kernelspec"] = {"name": "python3", "display_name": "Python"}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=metadata), tmp_path / "a.ipynb")
    kernels.run_notebook("a", MINI, {}, tmp_path / "executed.ipynb")
    run_sync(kernels.THREAD.kernel.shutdown_kernel)(now=True)
    [*_, cell] = nbformat.read(tmp_path / "executed.ipynb", as_version=4).cells
    assert cell.outputs[0].data["text/plain"] == repr(sys.executable)


def test_cells_about_mini_are_left_out_with_another_profile_or_changes(tmp_path, monkeypatch):
    monkeypatch.setattr("ircotlib.command.kernels.NOTEBOOKS", tmp_path)
    new, tags = nbformat.v4, {"tags": ["mini"]}
    cells = [new.new_markdown_cell("any"), new.new_markdown_cell("**On `mini`** …", metadata=tags)]
    cells += [new.new_code_cell("1 + 1"), new.new_code_cell("2 + 2", metadata=tags)]
    language = {"language_info": {"name": "python"}}
    nbformat.write(new.new_notebook(cells=cells, metadata=language), tmp_path / "own.ipynb")
    for profile, changes, all_cells in (
        ("mini", {}, True),
        ("mini", {"test": 7}, False),
        ("sample", {}, False),
        ("mini", {"workers": 2, "seed": MINI.seed}, True),  # which changes no outcome
    ):
        p = read_parameters(profile, changes)
        kernels.run_notebook("own", p, changes, executed := tmp_path / "executed.ipynb")
        made = [cell.source for cell in nbformat.read(executed, as_version=4).cells]
        assert ("2 + 2" in made) == ("**On `mini`** …" in made) == all_cells, (profile, changes)
        assert "1 + 1" in made and "any" in made
    run_sync(kernels.THREAD.kernel.shutdown_kernel)(now=True)


def test_models_and_prompts_of_the_mini_profile_are_shipped():
    for path in PROFILES.glob("*.yaml"):
        assert read_parameters(path.stem).profile == path.stem
    mini = read_parameters("mini")
    check_places(mini)
    for name in (mini.model, *mini.models):
        assert (ROOT / name / "config.json").is_file(), name
    for dataset in mini.datasets:
        for m in mini.distractors:
            prompt_path(mini.demonstrations, dataset, "cot", mini.style, m)


def test_what_a_notebook_makes_bears_the_profile_but_for_mini_and_chooses_it():
    assert made_by("07_ood", "mini")[0].name == "ircot_fig05_ood_recall.png"
    of_paper = made_by("06_scale", "paper")
    assert of_paper[0].name == "ircot_fig08_scale_recall_paper.png"
    for profile in ("mini", "sample"):
        assert made_by("02_index", profile)[0].name == f"{profile}_oner_recall.csv"
    assert figures.choose_notebooks([], MINI) == all_notebooks()
    chosen = figures.choose_notebooks(["ircot_fig09_scale_f1", "00_tour"], MINI)
    assert chosen == ["00_tour", "06_scale"]
    assert figures.choose_notebooks(["ircot_table1", "99_figures"], MINI) == ["99_figures"]


@pytest.mark.parametrize("changes", [{}, {"workers": 1}, {"seed": 1, "k": 9}, {"judged": 3}])
def test_the_command_tells_what_a_notebook_made_and_where(changes, tmp_path, monkeypatch, capsys):
    p = read_parameters("mini", changes)

    def run(*_):
        made = tmp_path / p.trial / "ircot_fig04_f1.csv"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text("")
        os.utime(made, (time.time() + 1,) * 2)  # the clock of files is a coarse one
        yield "04_ircot", 1.0

    monkeypatch.setattr(os, "environ", {**os.environ})
    for module in (paths, figures):
        monkeypatch.setattr(module, "FIGURES", tmp_path)
    monkeypatch.setattr(figures, "run_notebooks", run)
    figures.regenerate(p, ["04_ircot"], changes)
    executed, *lines, last = capsys.readouterr().out.splitlines()
    assert executed.endswith(f"executed/mini/{p.trial}/04_ircot.ipynb".replace("//", "/"))
    assert p.trial == "" or (last.startswith("a trial, in ") and f"{tmp_path / p.trial} " in last)
    lines = [line.split() for line in (lines if p.trial else [*lines, last])]
    made = [" ".join(line[:-1]) for line in lines if line[-1].endswith("ircot_fig04_f1.csv")]
    assert made == ["wrote"] and len(lines) == len(about_notebook("04_ircot").makes)
    assert {" ".join(line[:-1]) for line in lines} == {"wrote", "not made"}


def test_replaying_all_is_told_to_kernels_and_their_stderr_is_shown(monkeypatch):
    monkeypatch.setenv(REPLAY, "")
    told = []
    monkeypatch.setattr(figures, "regenerate", lambda *_: told.append(os.environ[REPLAY]))
    for words in ([], ["--replay"]):
        figures.main(["--only", "03_prompts", *words])
    assert told == ["", "1"]


def test_a_cell_that_fails_is_one_line_with_its_notebook_and_message(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "laboratory").write_text("a file in the place of a folder")
    env = os.environ | {"PYTHONPATH": str(ROOT), "IRCOT_DATA": str(data)}
    env |= {"HOME": "/nonexistent", "LANG": "C", "TZ": "Pacific/Auckland"}
    command = [*COMMAND, "--only", "01_corpora"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "error: notebook 01_corpora, code cell 4: NotADirectoryError" in done.stderr
    assert f"traceback in {data}/executed/mini/01_corpora.ipynb" in done.stderr
    assert (data / "executed/mini/01_corpora.ipynb").is_file()


def test_one_interrupt_ends_it_at_once_and_its_kernels_too(tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT), "IRCOT_DATA": str(tmp_path / "data")}
    changes = ("dev=0", "oner_k=[5]", "ircot_k=[2]", "distractors=[1]", "test=30")
    command = [*COMMAND, "--only", "04_ircot", *(f"--set={change}" for change in changes)]
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # else ignored in background
    options = {"preexec_fn": heeded, "env": env, "start_new_session": True}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)
    deadline = time.monotonic() + 120
    try:
        while not any((tmp_path / "data").glob("runs/*/*/*/*/*/predictions.jsonl")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        kernels = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert kernels and process.returncode == 130 and time.monotonic() - started < 5
    told = [line for line in errors.splitlines() if line and not line.startswith("04_ircot")]
    assert len(told) == 1 and told[0].startswith("interrupted: ")
    assert not psutil.wait_procs(kernels, timeout=15)[1]


def test_strip_keeps_results_and_drops_the_volatile():
    new = nbformat.v4
    tagged = {"execution": {"iopub.execute_input": "now"}, "tags": ["parameters"]}
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "bar"}
    cell = new.new_code_cell("x", metadata=tagged)
    written = {"stderr": "50%", "stdout": "42"}.items()
    cell.outputs = [new.new_output("stream", name=name, text=text) for name, text in written]
    cell.outputs.append(new.new_output("display_data", widget))
    injected = new.new_code_cell("y", metadata={"tags": ["injected-parameters"]})
    kept = {"ircotlib": {"makes": []}, "kernelspec": {"name": "python3", "display_name": "Python"}}
    notebook = new.new_notebook(cells=[cell, injected], metadata=kept | {"papermill": {}})
    figures.strip(notebook)
    [cell] = notebook.cells
    assert [output.get("text") for output in cell.outputs] == ["42"]
    assert cell.metadata == {"tags": ["parameters"]} and notebook.metadata == kept
