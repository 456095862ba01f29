"""Commands: errors of one line, exit statuses, help, what `ask` and `systems` print."""

import json
import shlex
import subprocess
import sys
from importlib.metadata import version
from unittest import mock

import pytest

from ircotlib.__main__ import COMMANDS, main
from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.parameters import Parameters
from ircotlib.systems import all_systems


class BadRequest(Exception):
    """As libraries of servers raise: of no class that is known here."""


# a command line, and words of its error
WRONG = """
figure | 'figure', expected one of figures, ask
figures --seed 1 | --seed
figures --only 98_nothing | '98_nothing' (choose from
figures --profile ../../escape | the profile '../../escape'
figures --save --set test=4 | --save
figures --save --profile quick | --save
figures --set released=x | released: Input should be a valid boolean
ask \udce9 | found no question, expected one in UTF-8
figures --set seed | found --set 'seed'
figures --set seed=x | seed: Input should be a valid integer
figures --set server=http://u:secret@host | server: not a valid address
ask Who? --set server=http://h:1/v1?key=secret | server: not a valid address
fetch --set retriever=http://u:secret@host | retriever: unknown retriever
ask Who? --set server=http://127.0.0.1:1 | server: set `model`, too
figures --set 'dtype=!!python/object/apply:os.system [id]' | not valid YAML
ask | required: question
ask Who? --sytem X | --sytem X
ask Who? --system SearChains | unknown system 'SearChains'
ask Who? --set model=TMP/empty | TMP/empty: found
ask ' ' | found no question
ask Who? --set datasets=[own] --set data_dir=TMP/empty | error: no questions of
systems x | unrecognized
laboratory | a folder or --prompts
"""
LINES = [line.split(" | ") for line in WRONG.strip().splitlines()]


@pytest.mark.parametrize(("line", "words"), LINES, ids=[line for line, _ in LINES])
def test_a_wrong_command_line_is_one_line(line, words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path / "data")
    monkeypatch.setenv("IRCOT_BATCH", "1")
    (tmp_path / "empty").mkdir()
    try:
        status = main(shlex.split(line.replace("TMP", str(tmp_path))))
    except SystemExit as ended:
        status = ended.code
    error = capsys.readouterr().err.replace(str(tmp_path), "TMP")
    assert status in (1, 2) and words in error.splitlines()[-1]
    assert "Traceback" not in error and "secret" not in error
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_names_it_and_shows_an_example(capsys, name):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert ended.value.code == 0 and lines[0].startswith(f"usage: ircotlib {name} ")
    assert any(line.startswith(f"ircotlib {name}") for line in lines)
    if any(line.startswith("  --profile") for line in lines):
        assert "mini, paper, quick, released, sample (profiles/)" in " ".join(lines)
    assert main(["--help"]) == main([]) == 0
    assert f"\nircotlib {name} " in capsys.readouterr().out


def test_the_version_is_the_installed_one(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{version('ircotlib')}\n"


def test_parameters_are_listed_with_defaults_and_meanings(capsys):
    assert main(["parameters"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in Parameters.model_fields.keys() - {"profile"}:
        [at] = [n for n, line in enumerate(lines) if line.startswith(f"{name}: ")]
        assert "  # " in lines[at] or lines[at - 1].startswith("# ")
    assert "seed: int = 0  # for drawing dev and test questions" in lines
    assert "\n".join(lines) in Parameters.__doc__  # and by help(Parameters)


FAILURES = {  # an error of a library, and the line that is printed
    KeyError("gone"): "KeyError: 'gone' (",
    OSError(28, "No space left on device", "/full/x"): "[Errno 28] No space left on de",
    BadRequest("400, bad\nrequest"): "BadRequest: 400, bad request (IRCOT_TRACEBACK",
}


@pytest.mark.parametrize("error", FAILURES, ids=repr)
def test_any_error_of_a_library_is_a_line(monkeypatch, capsys, error):
    fails = mock.Mock(side_effect=error)
    monkeypatch.setattr("ircotlib.systems.all_systems", fails)
    assert main(["systems"]) == 1
    words = capsys.readouterr().err
    assert words.startswith(f"error: {FAILURES[error]}") and words.count("\n") == 1
    monkeypatch.setenv("IRCOT_TRACEBACK", "1")
    assert main(["systems"]) == 1
    words = capsys.readouterr().err
    assert "Traceback (most" in words and f"\nerror: {FAILURES[error]}" in words


def test_the_exit_status_distinguishes_wrong_options_from_failures(monkeypatch, capsys):
    for kind in (UserError, DataError, Unavailable, ImportError):
        fails = mock.Mock(side_effect=kind("x\ny"))
        monkeypatch.setattr("ircotlib.command.views.systems", fails)
        assert main(["systems"]) == (2 if kind is UserError else 1)
        assert capsys.readouterr().err.count("\n") == 1


def test_the_list_has_every_system(capsys):
    assert main(["systems"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = all_systems()
    assert [line[:28].strip() for line in lines] == [*names]
    [ircot] = [line.split() for line in lines if line.startswith("IRCoT QA  ")]
    assert ircot[:6] == ["IRCoT", "QA", "IRCoT", "k=2,4,6,8", "m=1,2,3", "cot"]
    assert " ".join(ircot[6:]) == names["IRCoT QA"].paper


def test_questions_about_ones_own_file_are_answered(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("ircotlib.experiment.setup.DATA", tmp_path / "data")
    paragraphs = [{"title": name, "text": f"{name} is old."} for name in ("Ann", "Bob")]
    row = {"id": "1", "question": "Who?", "answers": ["Ann"], "paragraphs": paragraphs}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row) + "\n")
    changes = [f"data_dir={tmp_path}", "model=data/models/mini-base"]
    changes += ["datasets=[own]", "dev=0", "distractors=[]"]
    options = [f"--set={change}" for change in changes]
    assert main(["ask", "Who: is 'Ann' #1?", "--system", "OneR QA", *options]) == 0
    name, retrieved, *_, answer = capsys.readouterr().out.strip().split("\n")
    assert name == "OneR QA, mini-base"
    assert retrieved == "1. looks up “Who: is 'Ann' #1?” → Ann"
    assert answer.startswith("OneR QA answers: ")


ENDS = {  # of the output: closed, read to the end or not, in another encoding
    "PYTHON -m ircotlib systems >&-": "",
    "PYTHON -u -m ircotlib systems | true": "",
    "PYTHONIOENCODING=latin-1 PYTHON -m ircotlib figures --help": "",
    "PYTHONIOENCODING=ascii PYTHON -c 'PRINTS'": "\\u201c",
}
PRINTS = """
import ircotlib.command.views as views
from ircotlib.__main__ import main
views.systems = lambda _: print("\u201c")
main(["systems"])
"""


@pytest.mark.parametrize(("line", "printed"), ENDS.items())
def test_output_goes_wherever_it_goes_without_a_traceback(line, printed):
    line = line.replace("PYTHON ", f"'{sys.executable}' ").replace("PRINTS", PRINTS)
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert not done.returncode and not done.stderr
    assert printed in done.stdout
