"""Folders set by an environment variable are the same for child processes; a process that waits for
a lock says so.
"""

import os
import subprocess
import sys
import threading

import pytest

from ircotlib.annotate.judgements import read_judgements
from ircotlib.files import paths
from ircotlib.files.checksums import read_whole
from ircotlib.files.paths import ROOT, benchmark_table, hold_lock, read_bytes
from ircotlib.files.tables import read_table

SHOW = "from ircotlib.files.paths import DATA, FIGURES; print(DATA, FIGURES)"
SHOW_BOTH = f"""
import subprocess, sys
{SHOW}
print(subprocess.check_output([sys.executable, "-c", {SHOW!r}], text=True, cwd=sys.argv[1]), end="")
"""


@pytest.mark.parametrize(
    ("given", "data", "figures"),
    [
        ({}, ROOT / "data", ROOT / "figures"),
        ({"IRCOT_DATA": ""}, ROOT / "data", ROOT / "figures"),
        ({"IRCOT_DATA": "mine", "IRCOT_FIGURES": "../drawn"}, "here/mine", "drawn"),
        ({"IRCOT_FIGURES": "/tmp/drawn"}, ROOT / "data", "/tmp/drawn"),
    ],
)
def test_folders_are_relative_to_where_the_command_was_started(tmp_path, given, data, figures):
    """This also holds for a child process in another folder, such as a notebook."""
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    unset = {name: value for name, value in os.environ.items() if not name.startswith("IRCOT_")}
    shown = subprocess.check_output(
        [sys.executable, "-c", SHOW_BOTH, str(tmp_path / "elsewhere")],
        text=True,
        cwd=tmp_path / "here",
        env=unset | {"PYTHONPATH": str(ROOT)} | given,
    )
    assert shown.splitlines() == [f"{tmp_path / data} {tmp_path / figures}"] * 2


def test_who_waits_for_a_lock_says_so(tmp_path, capsys):
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with hold_lock(tmp_path / "lock", "the corpus"):
            taken.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()
    taken.wait()
    threading.Timer(0.5, done.set).start()
    with hold_lock(tmp_path / "lock", "the corpus", patience=0.1):
        assert done.is_set()
    expected = f"waiting for another process to make the corpus ({tmp_path / 'lock'})\n"
    assert capsys.readouterr().err == expected
    with hold_lock(tmp_path / "lock", "the corpus"):
        pass
    assert capsys.readouterr().err == ""
    other.join()


READERS = [read_bytes, lambda pipe: read_table(pipe, {"a": None})]
READERS += [lambda pipe: read_whole(pipe, [0, 0], "again")]
READERS += [lambda pipe: read_judgements(pipe.stem, pipe.parent)]


@pytest.mark.parametrize("read", READERS)
def test_nothing_waits_for_a_pipe_in_the_place_of_a_file(tmp_path, read):
    os.mkfifo(pipe := tmp_path / "ada.jsonl")
    # if it was read, this would end the wait, with an empty text
    threading.Thread(target=pipe.write_bytes, args=(b"",), daemon=True).start()
    with pytest.raises((OSError, ValueError), match="a pipe or a device"):
        read(pipe)


def test_the_table_of_a_benchmark_is_ones_own_or_the_kept_one(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    kept = benchmark_table("bench_systems")
    assert kept == ROOT / "figures/bench_systems.csv" and kept.is_file()
    own = tmp_path / kept.name
    own.write_text("")
    assert benchmark_table("bench_systems") == own
