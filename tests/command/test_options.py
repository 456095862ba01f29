"""Changes of parameters on the command line, and errors of one line."""

import json
import shlex

import pytest

from ircotlib.command.options import TEXTS, parse_change, parse_changes, say_error
from ircotlib.errors import Unavailable
from ircotlib.files import ROOT
from ircotlib.parameters import Parameters, read_parameters


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left\non device"), "OSError: [Errno 28] No space left on device"),
        (Unavailable("no\nserver"), "no server"),
        (ValueError("found \x1b[2J\x07\u202e1"), "found [2J 1"),
        ("the key sk-123456789 is wrong", "the key … is wrong"),
    ],
)
def test_an_error_is_one_line_of_plain_text_without_keys(capsys, monkeypatch, error, line):
    monkeypatch.setenv("ANY_API_KEY", "sk-123456789\n")
    assert say_error(error, 1) == 1
    assert capsys.readouterr().err == f"error: {line}\n"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("test=40", ("test", 40)),
        ("test=030", ("test", "030")),  # not 24
        ("oner_k=[5, 7]", ("oner_k", [5, 7])),
        ("model=google/flan-t5-base", ("model", "google/flan-t5-base")),
        ("server=http://127.0.0.1:8000", ("server", "http://127.0.0.1:8000")),
        ("corpus=full", ("corpus", "full")),  # no path, though there is a folder of that name
        ("data_dir=full", ("data_dir", "FOLDER/full")),
        ("data_dir=FOLDER/full/..", ("data_dir", "FOLDER")),
        ("model=ROOT/data", ("model", "data")),
        ("data_dir='FOLDER/full'", ("data_dir", "FOLDER/full")),
        ('dtype="float16"  # half', ("dtype", "float16")),
    ],
)
def test_changes_are_yaml_or_texts_and_only_places_are_paths(tmp_path, monkeypatch, text, change):
    (tmp_path / "full").mkdir()
    monkeypatch.chdir(tmp_path)
    name, value = parse_change(text.replace("FOLDER", str(tmp_path)).replace("ROOT", str(ROOT)))
    changed = value.replace(str(tmp_path), "FOLDER") if isinstance(value, str) else value
    assert (name, changed) == change


ODD = ["Which song is # 1 in 1999?", "a #b", "key: value", "|", "> a", "*a", "[1", "{a", "@a", "~"]
ODD += ["!!python/object/apply:os.system [id]", "- a", "null", "true", "1.5", "030", "2024-99-99"]
ODD += ["'a", '"a" or "b"?', "誰? 😀", "a\\b", "a, b", "x" * 5000]


def test_the_parameters_that_are_texts_are_known():
    fields = Parameters.model_fields.items()
    texts = {name for name, field in fields if field.annotation is str and name != "profile"}
    assert texts == TEXTS


@pytest.mark.parametrize("odd", ODD)
def test_a_text_is_as_it_is_or_quoted(odd):
    for given in (odd, json.dumps(odd, ensure_ascii=False), f"""'{odd.replace("'", "''")}'"""):
        assert parse_change(f"data_dir={given}") == ("data_dir", odd)
    p = read_parameters("mini", {"agent": odd})
    [_, _, *options] = shlex.split(p.command_line())
    assert read_parameters("mini", parse_changes(options[1::2])) == p
