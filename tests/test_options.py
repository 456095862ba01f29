"""Changes of parameters on the command line, and errors of one line."""

import shlex

import pytest

from ircotlib.errors import UserError
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
    ("corpus=full", ("corpus", "full")),
    ("data_dir=a #b: c", ("data_dir", "a #b: c")),
    ("data_dir='a b'", ("data_dir", "a b")),
    ('dtype="float16"  # half', ("dtype", "float16")),
]


@pytest.mark.parametrize(("text", "change"), CHANGES)
def test_texts_are_taken_as_written_and_all_else_is_yaml(text, change):
    assert parse_changes([text]) == dict([change])


def test_the_parameters_of_a_run_can_be_given_again():
    p = read_parameters("mini", {"agent": 'a #b: "c"', "seed": 7})
    [_, _, *options] = shlex.split(p.command_line())
    assert read_parameters("mini", parse_changes(options[1::2])) == p
