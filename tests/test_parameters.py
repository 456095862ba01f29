"""Parameters: a wrong one is one line that says where it is and what was expected."""

import re
from functools import partial

import pytest

from ircotlib import parameters
from ircotlib.errors import UserError
from ircotlib.experiment.setup import runs_folder
from ircotlib.files import PROFILES
from ircotlib.parameters import MAIN, OOD, SCALE, read_parameters
from ircotlib.systems import all_systems

WRONG = [
    ({"test": True}, "test: .* valid integer"),
    ({"dev": "x"}, "dev: .* valid integer"),
    ({"datasets": "hotpotqa"}, "datasets: .* valid list"),
    ({"datasets": ["x"]}, "datasets.0: found 'x', expected one of hotpotqa, "),
    ({"datasets": []}, "datasets: .* at least 1 item"),
    ({"prices": [1]}, "prices: .* at least 2 items"),
    ({"style": "gpt"}, "style: found 'gpt', expected one of flan_t5, codex, agent"),
    ({"retriever": "es"}, "retriever: unknown retriever, expected one of embedded"),
    ({"context_tokens": 50}, "context_tokens: found 50, expected more than 200"),
    ({"ircot_k": [2, True]}, "ircot_k.1: .* valid integer"),
    ({"ircott_k": [2]}, "unknown parameter 'ircott_k', expected ircot_k$"),
    ({"workers": 0}, "workers.*: .* greater than or equal to 1"),
    ({"test": 0, "dev": -1}, "dev: .*; test: "),
]


@pytest.mark.parametrize(
    ("changes", "message"), WRONG, ids=[str(wrong) for wrong, _ in WRONG]
)
def test_a_wrong_parameter_is_one_line(changes, message):
    for change in (lambda **of: read_parameters("mini", of), MINI.change):
        with pytest.raises(UserError, match=message) as error:
            change(**changes)
        assert "\n" not in str(error.value)


MINI = read_parameters("mini")
SECRETS = ("://ann:secret@host", "://host/v1?key=secret", "://host/#secret")


@pytest.mark.parametrize("end", SECRETS)
def test_the_password_or_key_in_an_address_is_refused_and_not_shown(end):
    for name in ("server", "retriever"):
        for scheme in ("http", "https"):
            with pytest.raises(UserError, match=f"^{name}: .*expected one ") as error:
                read_parameters("mini", {name: scheme + end})
            assert "secret" not in str(error.value)


def test_a_grid_is_that_of_the_profile_else_that_of_the_paper():
    paper = read_parameters("paper")
    assert MINI.grid("ircot", "k", [1]) == [2, 4]
    assert MINI.grid("ircot", "k", [1], SCALE) == [2]
    assert paper.grid("oner", "m", [1]) == [1, 2, 3]
    assert MINI.grid("oner", "m", [1], OOD) == [1]
    assert MINI.grid("mine", "k", (3, 4), MAIN) == [3, 4]
    assert MINI.grid("mine", "k", (3, 4), OOD) == [3]  # it is not tuned
    for system in all_systems().values():
        for name, values in system.grid.items():
            assert paper.grid(system.module, name, values, SCALE) == list(values)


def test_behind_a_server_the_profiles_values_for_local_models_do_not_hold():
    served = read_parameters("paper", {"server": "http://host:1", "model": "x"})
    assert (served.style, served.reader, served.models) == ("codex", "cot", ["x"])
    assert served.for_agent() == served and MINI.for_agent().model == MINI.agent
    # it answers everywhere
    assert read_parameters("mini", {"model": "x"}).for_agent().model == "x"


def test_the_command_that_gives_parameters_says_only_what_was_changed():
    assert MINI.command_line() == "--profile mini"
    changed = read_parameters("mini", {"ircot_k": [4], "data_dir": "a b"})
    options = "--profile mini --set 'data_dir=\"a b\"' --set 'ircot_k=[4]'"
    assert changed.command_line() == options


LINES = {  # of a profile, and what the error says of them
    "dev: x": "dev: .* valid integer",
    "datasets: [x]": "datasets.0: found 'x'",
    "- a": "not valid YAML",
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:20])
def test_a_wrong_line_of_a_profile_names_its_file(tmp_path, monkeypatch, line):
    kept = (PROFILES / "mini.yaml").read_text().splitlines()
    kept = [text for text in kept if not text.startswith(f"{line.partition(':')[0]}:")]
    (tmp_path / "mine.yaml").write_text("\n".join([*kept, line]))
    monkeypatch.setattr(parameters, "PROFILES", tmp_path)
    with pytest.raises(UserError, match=LINES[line]) as error:
        read_parameters("mine")
    assert str(error.value).startswith(f"{tmp_path / 'mine.yaml'}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("profile", ["maxi", "mini.yaml", "é x"])
def test_an_unknown_profile_is_an_error(profile):
    message = "unknown profile .*, expected one of mini, paper, quick"
    with pytest.raises(UserError, match=message):
        read_parameters(profile)


NAMES = ["", "..", "../mini", "/etc", "a" * 300, "a\0", "a\u202e"]


@pytest.mark.parametrize("name", NAMES)
def test_profiles_and_experiments_have_names_that_folders_can_have(name):
    for use in (read_parameters, partial(runs_folder, MINI)):
        with pytest.raises(UserError, match="found the .*, expected a letter or digit"):
            use(name)


TWO = ["musique", "iirc"]
SERVED = {"model": "a/b", "server": "http://h:8000"}


@pytest.mark.parametrize(
    ("changes", "trial"),
    [
        ({"ircot_k": [4]}, "ircot_k=4"),
        ({"test": 7, "datasets": TWO}, r"datasets=musique\+iirc,test=7"),
        ({"data_dir": "../my data"}, "data_dir=..-my-data-[0-9a-f]{6}"),
        (SERVED, "model=a-b,server=http-h-8000-[0-9a-f]{6}"),
    ],
)
def test_changed_parameters_name_the_folder_of_what_they_make(changes, trial):
    p = read_parameters("mini", changes)
    assert re.fullmatch(f"trials/{trial}", p.trial)
    assert read_parameters("mini", dict(reversed(changes.items()))).trial == p.trial
    # what notebooks and claims derive from them is of the same trial
    others = (p.for_agent(), p.other_reader(), p.out_of_distribution(), p.change(k=3))
    assert {other.trial for other in others} == {p.trial}
