"""A run is read where nothing has changed that could change it, and only there."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from ircotlib.experiment.current import REPLAY, read_current

from ircotlib.experiment import backends, experiment, finished
from ircotlib.experiment import bench as setup
from ircotlib.experiment.compare import run_system
from ircotlib.experiment.runs import Run, read_about, write_about
from ircotlib.experiment.setup import open_setup
from ircotlib.files import sources
from ircotlib.files.paths import MODELS, PROMPTS, ROOT
from ircotlib.files.sources import LATER, hash_sources
from ircotlib.parameters import read_parameters
from ircotlib.prompting import examples, templates
from ircotlib.systems import all_systems
from ircotlib.systems.ircot import ircot_qa

S = all_systems()


@pytest.fixture
def bench(tmp_path, monkeypatch, laboratory):
    """Two questions; data, model, prompts and demonstrations are the test's own."""
    for module in (setup, backends):
        monkeypatch.setattr(module, "DATA", tmp_path / "data")
    for module in (sources, templates, examples):
        monkeypatch.setattr(module, "PROMPTS", tmp_path / "prompts")
    for place, name in ((PROMPTS, "prompts"), (MODELS / "mini-base", "model")):
        shutil.copytree(place, tmp_path / name)
    shutil.copytree(laboratory, tmp_path / "small")
    p = {"data_dir": str(tmp_path / "small"), "model": str(tmp_path / "model"), "dev": 0}
    p |= {"demonstrations": str(tmp_path / "prompts/laboratory"), "datasets": ["hotpotqa"]}
    p = read_parameters("mini", p | {"test": 2, "max_steps": 2, "distractors": [1]})
    return open_setup(p, "hotpotqa", "mine")


def has_been_read(bench, system=S["IRCoT QA"], **setting) -> bool:
    """Whether a system's run is read, and not played again."""
    played, play = [], experiment.play
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "play", lambda run: played.append(run) or play(run))
        run_system(bench, system, **{"k": 2, "m": 1} | setting)
    return not played


def reopened(bench, **changes):
    """The bench as a new cell opens it."""
    return open_setup(bench.parameters.change(**changes), "hotpotqa", "mine")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("name", ["IRCoT QA", "OneR", "SearChain"])
def test_a_current_run_is_read_and_its_table_is_the_one_that_was_played(bench, name):
    settings = {"IRCoT QA": {"k": 2, "m": 1}, "OneR": {"k": 2}, "SearChain": {}}
    played = run_system(bench, S[name], **settings[name])
    run = Run(bench, S[name], "test", settings[name])
    files = {path: path.read_bytes() for path in run.folder.iterdir()}
    for again in (bench, reopened(bench)):
        pd.testing.assert_frame_equal(read_current(Run(again, *run[1:])), played)
        pd.testing.assert_frame_equal(run_system(again, S[name], **settings[name]), played)
    scores = experiment.score_all(experiment.play(run))
    read = played[list(scores)]
    pd.testing.assert_frame_equal(read, scores)
    assert files == {path: path.read_bytes() for path in run.folder.iterdir()}


def test_what_is_edited_on_the_disk_is_seen(bench, tmp_path):
    edits = {
        "ours": ("prompts/ircot/cot.flan_t5.txt", "\n", " \n"),
        "demonstrations": (
            "prompts/laboratory/hotpotqa/gold_with_1_distractors_context_cot_qa_flan_t5.txt",
            "\n\nQ: ",
            "\n\nQ:  ",
        ),
        "the model": ("model/config.json", "{", "{ "),
        "a question": (
            "small/hotpotqa/hotpot_dev_distractor_v1.json",
            '"question": "',
            '"question": " ',
        ),
    }
    assert not has_been_read(bench)
    for what, (place, old, new) in edits.items():
        assert has_been_read(reopened(bench)), what
        edit(tmp_path / place, old, new)
        assert not has_been_read(reopened(bench)), what


def test_other_parameters_settings_versions_and_questions_are_seen(bench, monkeypatch):
    assert not has_been_read(bench) and has_been_read(bench)
    assert not has_been_read(bench, k=3) and not has_been_read(reopened(bench, seed=9))
    assert not has_been_read(reopened(bench, workers=1))  # run.json states all parameters
    assert not has_been_read(bench)  # the last one is in its folder
    assert not has_been_read(replace(bench, test=bench.test[:1]))
    assert not has_been_read(bench)
    monkeypatch.setattr(finished, "installed", lambda: {"tantivy": "0"})
    assert not has_been_read(bench) and has_been_read(bench)


def test_what_only_this_kernel_knows_is_played_again(bench, plugins):
    def mine(question, *, read, **options):
        return (yield from ircot_qa(question, read=read, **options))

    other_model = open_setup(
        bench.parameters.change(model="data/models/mini-large"), "hotpotqa", "x"
    )
    in_cell = replace(S["IRCoT QA"], name="Mine", program=mine, templates="ircot")
    for system in (in_cell, replace(S["IRCoT QA"], program=mine, templates="ircot")):
        assert not has_been_read(bench, system) and not has_been_read(bench, system)
    for changed in (replace(bench, model=other_model.model), replace(bench, test=bench.test[::-1])):
        assert not has_been_read(changed) and not has_been_read(changed)
    assert not has_been_read(bench) and has_been_read(bench)
    (plugins / "more.py").write_text(
        "from dataclasses import replace\nfrom ircotlib.systems import ircot\n"
        "SYSTEMS = (replace(ircot.SYSTEMS[0], name='Plugged'),)\n"
    )
    from ircotlib.files.plugins import import_plugins

    import_plugins.cache_clear()
    plugged = all_systems()["Plugged"]
    assert not has_been_read(bench, plugged, m=1) and not has_been_read(bench, plugged, m=1)


@pytest.mark.parametrize("name", ["predictions.jsonl", "scores.csv", "run.json"])
def test_a_damaged_run_is_played_again(bench, name):
    assert not has_been_read(bench)
    folder = next((bench.runs / "test").iterdir())
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    assert not has_been_read(bench) and has_been_read(bench)
    (folder / name).unlink()
    assert not has_been_read(bench) and has_been_read(bench)


def test_a_run_whose_replies_are_gone_or_differ_is_played_again(bench, tmp_path):
    """Such as one that was copied here from another machine."""
    assert not has_been_read(bench) and has_been_read(bench)
    bench.calls._connection.execute("DELETE FROM calls")
    assert not has_been_read(bench) and has_been_read(bench)
    folder = next((bench.runs / "test").iterdir())
    lines = (folder / "predictions.jsonl").read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"answer": "another"})
    (folder / "predictions.jsonl").write_text("\n".join(lines) + "\n")
    write_about(folder, {k: v for k, v in read_about(folder).items() if k != "files"})
    assert not has_been_read(bench) and has_been_read(bench)


def test_replaying_all_says_what_differs(bench, monkeypatch, capsys):
    assert not has_been_read(bench)
    monkeypatch.setenv(REPLAY, "1")
    capsys.readouterr()
    assert not has_been_read(bench) and "differ" not in capsys.readouterr().err
    folder = next((bench.runs / "test").iterdir())
    lines = (folder / "predictions.jsonl").read_text().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | {"answer": "another"})
    (folder / "predictions.jsonl").write_text("\n".join(lines) + "\n")
    write_about(folder, {k: v for k, v in read_about(folder).items() if k != "files"})
    assert not has_been_read(bench)
    told = capsys.readouterr().err
    assert "IRCoT QA k=2 m=1: replayed, 1 of 2 predictions differ from those kept" in told
    assert "before 'another'" in told


def test_what_was_edited_while_a_run_was_played_is_not_taken_for_what_made_it(bench, monkeypatch):
    hashes = iter(["one", "two"])
    for module in (experiment, finished):
        monkeypatch.setattr(module, "find_sources", lambda *_, **__: next(hashes, "two"))
    assert not has_been_read(bench)
    assert not has_been_read(bench) and has_been_read(bench)


PLAY = """
import sys
from pathlib import Path
from ircotlib import all_systems, open_setup, read_parameters, run_system
from ircotlib.experiment import experiment

p = read_parameters("mini", {"data_dir": sys.argv[1], "distractors": [], "extractor": ""})
bench = open_setup(p.change(model=sys.argv[2], max_steps=1, dev=0, test=2), "hotpotqa", "mine")
played, play = [], experiment.play
experiment.play = lambda run: played.append(run) or play(run)
for word in sys.argv[3:]:
    if word == "run":
        run_system(bench, all_systems()["IRCoT QA"], k=2)
        print("played" if played else "read")
        played.clear()
    else:
        Path(word).write_text(Path(word).read_text() + "# edited\\n")
"""


def test_edited_code_is_seen_by_the_next_process_and_distrusted_by_a_running_one(
    tmp_path, laboratory
):
    for name in ("ircotlib", "ircot_laboratory", "profiles", "prompts"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "data").mkdir()
    for name in ("prices.csv", "downloads.csv"):
        shutil.copy(ROOT / "data" / name, tmp_path / "data")

    def run(*words) -> list[str]:
        command = [sys.executable, "-c", PLAY, str(laboratory), str(MODELS / "mini-base"), *words]
        own = {"PYTHONPATH": str(tmp_path), "IRCOT_DATA": str(tmp_path / "data")}
        streams = {"capture_output": True, "text": True}
        done = subprocess.run(command, env=os.environ | own, cwd=tmp_path, **streams)
        assert not done.returncode, done.stderr[-2000:]
        return done.stdout.split()

    program, figure = (f"{tmp_path}/ircotlib/{n}.py" for n in ("systems/ircot", "results/shown"))
    assert run("run", "run") == ["played", "read"]
    # no run depends on a figure; what a process has loaded may be older than a program
    words = run("run", figure, "run", program, "run", "run")
    assert words == ["read", "read", "played", "played"]
    assert run("run", "run") == ["played", "read"]


def test_rooms_that_no_run_uses_are_left_out_of_the_hash():
    """What a run imports is in the hash; the same files give the same hash."""
    code = "import sys, ircotlib.experiment.runs\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    rooms = {name.split(".")[1] for name in loaded.stdout.split() if name.startswith("ircotlib.")}
    assert {"running", "systems", "prompting"} <= rooms and not rooms & {*LATER}
    assert hash_sources(PROMPTS) == hash_sources(PROMPTS) != hash_sources(ROOT / "README.md")
