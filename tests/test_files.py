"""Folders of environment variables hold for child processes; files are whole."""

from pathlib import Path

import pytest

from ircotlib.files import ROOT, resolve, writing
from tests.processes import run_python

SHOW = "from ircotlib.files import DATA, FIGURES; print(DATA, FIGURES, flush=True)"
SHOW_BOTH = f"""
import os, subprocess, sys
{SHOW}
from ircotlib.files import environment
own = os.environ | environment()
subprocess.run([sys.executable, "-c", {SHOW!r}], cwd=sys.argv[1], env=own)
"""


@pytest.mark.parametrize(
    ("given", "data", "figures"),
    [
        ({"IRCOT_DATA": ""}, ROOT / "data", ROOT / "figures"),
        ({"IRCOT_DATA": "mine", "IRCOT_FIGURES": "/tmp/f"}, "here/mine", "/tmp/f"),
        ({"IRCOT_FIGURES": "~/drawn"}, ROOT / "data", "home/drawn"),
    ],
)
def test_folders_are_relative_to_where_the_command_was_started(
    tmp_path, given, data, figures
):
    """This also holds for a child process in another folder, such as a notebook."""
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    words = "-c", SHOW_BOTH, str(tmp_path / "elsewhere")
    own = {"HOME": str(tmp_path / "home"), **given}
    printed = run_python(*words, cwd=tmp_path / "here", **own).stdout.splitlines()
    assert printed == [f"{tmp_path / data} {tmp_path / figures}"] * 2
    assert resolve("~/x") == str(Path.home() / "x")
    assert resolve("data") == str(ROOT / "data")


@pytest.mark.parametrize("within", ["", "deep"])
def test_a_file_or_a_folder_is_replaced_only_when_it_is_whole(tmp_path, within):
    def write(text: str, error: type[BaseException] | None = None) -> None:
        with writing(path) as new:
            (new / within).parent.mkdir(exist_ok=True)
            (new / within).write_text(text)
            if error:
                raise error

    path = tmp_path / "new" / "name"
    write("first")
    with pytest.raises(KeyboardInterrupt):
        write("second", KeyboardInterrupt)
    assert (path / within).read_text() == "first"
    write("third")
    assert (path / within).read_text() == "third"
    assert list(path.parent.iterdir()) == [path]


def test_a_disk_that_is_full_and_a_file_for_a_folder_leave_what_there_was(tmp_path):
    (tmp_path / "folder").mkdir()
    named = pytest.raises(OSError, match="No space left on device: .*/table'")
    with named, writing(tmp_path / "table"), open("/dev/full", "w") as full:
        full.write("x" * 99_999)
    with pytest.raises(OSError), writing(tmp_path / "folder") as new:
        new.write_text("a file never takes the place of a folder")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]
    assert (tmp_path / "folder").is_dir()
