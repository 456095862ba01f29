"""Folders of environment variables are the same for child processes; files are written
whole.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ircotlib.files import ROOT, locked, resolve, writing

SHOW = "from ircotlib.files import DATA, FIGURES; print(DATA, FIGURES)"
SHOW_BOTH = f"""
import subprocess, sys
{SHOW}
print(subprocess.check_output([sys.executable, "-c", {SHOW!r}], text=True, cwd=sys.argv[1]), end="")
"""


@pytest.mark.parametrize(
    ("given", "data", "figures"),
    [
        ({"IRCOT_DATA": ""}, ROOT / "data", ROOT / "figures"),
        (
            {"IRCOT_DATA": "mine", "IRCOT_FIGURES": "/tmp/drawn"},
            "here/mine",
            "/tmp/drawn",
        ),
        ({"IRCOT_FIGURES": "~/drawn"}, ROOT / "data", "home/drawn"),
    ],
)
def test_folders_are_relative_to_where_the_command_was_started(
    tmp_path, given, data, figures
):
    """This also holds for a child process in another folder, such as a notebook."""
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    unset = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("IRCOT_")
    }
    shown = subprocess.check_output(
        [sys.executable, "-c", SHOW_BOTH, str(tmp_path / "elsewhere")],
        text=True,
        cwd=tmp_path / "here",
        env=unset | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path / "home")} | given,
    )
    assert shown.splitlines() == [f"{tmp_path / data} {tmp_path / figures}"] * 2
    assert resolve("~/x") == str(Path.home() / "x") and resolve("data") == str(
        ROOT / "data"
    )


def test_a_file_or_a_folder_is_replaced_only_when_it_is_whole(tmp_path):
    for path, write in (
        (tmp_path / "deep" / "file", lambda new, text: new.write_text(text)),
        (
            tmp_path / "folder",
            lambda new, text: (new.mkdir(), (new / text).write_text(text)),
        ),
    ):
        with writing(path) as new:
            write(new, "first")
        with pytest.raises(KeyboardInterrupt), writing(path) as new:
            write(new, "second")
            raise KeyboardInterrupt
        kept = (
            path.read_text()
            if path.is_file()
            else [each.name for each in path.iterdir()]
        )
        assert kept in ("first", ["first"])
        with writing(path) as new:
            write(new, "third")
        kept = (
            path.read_text()
            if path.is_file()
            else [each.name for each in path.iterdir()]
        )
        assert kept in ("third", ["third"])
    named = pytest.raises(OSError, match="No space left on device: .*/table'")
    with named, writing(tmp_path / "table"), open("/dev/full", "w") as full:
        full.write("x" * 99_999)
    with pytest.raises(OSError), writing(tmp_path / "folder") as new:
        new.write_text("a file never takes the place of a folder")
    assert (tmp_path / "folder/third").is_file()
    assert {path.name for path in tmp_path.rglob("*")} == {
        "deep",
        "file",
        "folder",
        "third",
    }


def test_only_one_holds_a_lock_at_a_time(tmp_path):
    held = []

    def hold():
        with locked(tmp_path / "deep" / "lock"):
            held.append("begin")
            time.sleep(0.1)
            held.append("end")

    threads = [threading.Thread(target=hold) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held == ["begin", "end"] * 3
