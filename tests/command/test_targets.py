"""Files and folders that a user names to be written: refused before any work, in one line, if they
cannot be, or if anything but a file of the same kind would be replaced.
"""

import lzma
import os
import runpy
import sys
import time

import pytest
from ircotlib.engine.exported import is_exported, write_exported

from ircotlib.__main__ import main
from ircotlib.command import figures
from ircotlib.engine.cache import Calls
from ircotlib.files import options, paths

COMMANDS = {
    "calls export": "calls export DATA/runs TARGET",
    "calls merge": "calls merge TARGET DATA/calls.sqlite",
    "figures --export": "figures --only 00_tour --export TARGET",
    "figures --calls --export": "figures --only 00_tour --calls TMP/a.xz --export TARGET",
    "plan --csv": "plan --only 00_tour --no-sample --csv TARGET",
    "laboratory": "laboratory TARGET",
    "laboratory --downloads": "laboratory TARGET --downloads --seed 3",
    "training.t5": "--out TARGET",
    "training.reader": "--out TARGET",
    "training.agent": "--out TARGET",
}
# what it is, in place of TARGET; and which commands may write there
ODD = {
    "nothing": ("", ()),
    "a device": ("/dev/full", ()),
    "a pipe": ("TMP/pipe", ()),
    "a text": ("TMP/notes.txt", ()),
    "a file as folder": ("TMP/notes.txt/new", ()),
    "what nobody may write": ("/proc/new.xz", ()),
    "a name that is too long": (f"TMP/{'x' * 250}.csv", ("training",)),
    "a folder with files": ("TMP/full", ()),
    "the data folder": ("DATA", ()),
    "the call cache": ("DATA/calls.sqlite", ("calls merge",)),
    "a table of a run": ("DATA/runs/mini/a/scores.csv", ()),
    "a folder of runs": ("DATA/runs/mine", ()),
    "executed notebooks": ("DATA/executed", ()),
    "a new name in the data folder": ("DATA/new", ("laboratory", "training")),
    "a kept table": ("ROOT/figures/ircot_table1.csv", ()),
    "an export": ("TMP/a.xz", ("calls export", "figures --export")),
    "a call cache": ("TMP/b.sqlite", ("calls merge",)),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with data/ and files of a user's own."""
    for module, name in ((paths, "DATA"), (options, "DATA"), (figures, "DATA")):
        monkeypatch.setattr(module, name, tmp_path / "data")
    (tmp_path / "data/runs/mini/a").mkdir(parents=True)
    (tmp_path / "data/runs/mini/a/scores.csv").write_text("id,kind\n")
    (tmp_path / "full").mkdir()
    for name in ("full/own.txt", "notes.txt"):
        (tmp_path / name).write_text("my notes")
    for path in (tmp_path / "data/calls.sqlite", tmp_path / "b.sqlite"):
        with Calls(path) as calls:
            calls.put_many({"k": '"paid for"'})
    head = {"profile": ["mini"], "seed": [0], "model": []}
    with Calls(tmp_path / "b.sqlite") as calls:
        write_exported(tmp_path / "a.xz", calls, head)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def all_in(folder) -> dict:
    """All names below a folder but of locks, with what files hold."""
    every = [path for path in sorted(folder.rglob("*")) if path.suffix != ".lock"]
    return {path: path.read_bytes() if path.is_file() else None for path in every}


def call(command: str, target: str, folder, monkeypatch) -> int:
    """Run a command up to its work; return its status."""

    def start(*_):
        raise SystemExit("began")

    monkeypatch.setattr("ircotlib.command.figures.regenerate", start)
    monkeypatch.setattr("ircotlib.command.plan.make_plan", start)
    monkeypatch.setattr("ircot_laboratory.make._write_dataset", start)
    monkeypatch.setattr("training.loop.run_command", start)
    places = {"TARGET": target, "DATA": f"{folder}/data", "TMP": str(folder), "ROOT": "."}
    arguments = COMMANDS[command].split()
    for name, place in places.items():
        arguments = [argument.replace(name, place) for argument in arguments]
    try:
        if not command.startswith("training"):
            return main(arguments)
        monkeypatch.setattr(sys, "argv", [command, *arguments])
        runpy.run_module(command, run_name="__main__")
    except SystemExit as ended:
        return ended.code
    return 0


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("command", COMMANDS)
def test_what_would_be_lost_or_cannot_be_written_is_refused_before_any_work(
    command, folder, monkeypatch, capsys
):
    pytest.importorskip("torch")
    monkeypatch.chdir(paths.ROOT)
    before, mode = all_in(folder), os.stat("/dev/full").st_mode
    wrong = {}
    for what, (target, allowed) in ODD.items():
        if command.startswith(tuple(allowed)) and not command.endswith("--calls --export"):
            continue
        started = time.monotonic()
        status = call(command, target, folder, monkeypatch)
        told = capsys.readouterr().err
        if (status, told.count("\n"), told[:7]) != (2, 1, "error: "):
            wrong[what] = status, told
        # the first call imports; the others are told within a second where nothing else runs
        assert what == "nothing" or time.monotonic() - started < 20
        assert all_in(folder) == before and os.stat("/dev/full").st_mode == mode, what
    assert wrong == {}


@pytest.mark.parametrize(
    ("command", "target"),
    [
        *(("figures --export", f"TMP/{name}") for name in ("a.xz", "new", "new/deep/b.xz")),
        ("figures --export", "TMP/data/mine.calls.xz"),
        ("plan --csv", "TMP/new/plan"),
        ("plan --csv", "TMP/data/plan.csv"),
        ("laboratory", "TMP/world"),
        ("laboratory", "TMP/data/laboratories/7"),
    ],
)
def test_what_is_its_own_or_new_is_written(command, target, folder, monkeypatch):
    target = target.replace("TMP", str(folder))
    assert call(command, target, folder, monkeypatch) == "began"


def test_an_export_is_known_by_its_content(folder):
    assert is_exported(folder / "a.xz")
    for content in (b"", b"my notes", lzma.compress(b"my notes"), lzma.compress(b"")):
        (folder / "other.xz").write_bytes(content)
        assert not is_exported(folder / "other.xz")
    (folder / "other.xz").write_bytes((folder / "a.xz").read_bytes()[:40])  # cut off
    assert not is_exported(folder / "other.xz")
