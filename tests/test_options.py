"""Changes of parameters on the command line, and errors of one line."""

import shlex

import pytest

from ircotlib.errors import UserError
from ircotlib.files import ROOT
from ircotlib.options import parse_changes, say_error
from ircotlib.parameters import read_parameters


def test_an_error_is_one_line_of_plain_text(capsys):
    assert say_error(UserError("found\n\x1b[2J"), 1) == 1
    assert capsys.readouterr().err == "error: found \\x1b[2J\n"


CHANGES = [
    ("test=40", ("test", 40)),
    ("oner_k=[5, 7]", ("oner_k", [5, 7])),
    ("model=google/flan-t5-base", ("model", "google/flan-t5-base")),
    ("server=http://127.0.0.1:8000", ("server", "http://127.0.0.1:8000")),
    ("corpus=full", ("corpus", "full")),  # no path, though a folder has that name
    ("data_dir=full", ("data_dir", "FOLDER/full")),
    ("further=full", ("further", "FOLDER/full")),
    ("data_dir=FOLDER/full/..", ("data_dir", "FOLDER")),
    ("model=ROOT/data", ("model", "data")),
    ("data_dir='FOLDER/full'", ("data_dir", "FOLDER/full")),
    ('dtype="float16"  # half', ("dtype", "float16")),
]


@pytest.mark.parametrize(("text", "change"), CHANGES)
def test_only_places_are_paths(tmp_path, monkeypatch, text, change):
    (tmp_path / "full").mkdir()
    monkeypatch.chdir(tmp_path)
    given = text.replace("FOLDER", str(tmp_path)).replace("ROOT", str(ROOT))
    [(name, value)] = parse_changes([given]).items()
    if isinstance(value, str):
        value = value.replace(str(tmp_path), "FOLDER")
    assert (name, value) == change


def test_the_parameters_of_a_run_can_be_given_again():
    p = read_parameters("mini", {"agent": 'a #b: "c"', "seed": 7})
    [_, _, *options] = shlex.split(p.command_line())
    assert read_parameters("mini", parse_changes(options[1::2])) == p
