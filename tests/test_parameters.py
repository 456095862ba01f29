"""Parameters: a wrong one is one line that says where it is and what was expected."""

import re
from functools import partial

import pytest

from ircotlib import parameters
from ircotlib.errors import UserError
from ircotlib.experiment.setup import runs_folder
from ircotlib.files import PROFILES
from ircotlib.parameters import MAIN, OOD, SCALE, read_parameters, read_value
from ircotlib.systems import all_systems

WRONG = [
    ({"test": True}, "test: .* valid integer"),
    ({"dev": "x"}, "dev: .* valid integer"),
    ({"datasets": "hotpotqa"}, r"datasets: .* valid list, such as \[4\] or"),
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
    ({"server": "http://h:9"}, "server: set `model`, too, to the server's name for it"),
    ({"datasets": ["hotpot"]}, "datasets.0: found 'hotpot', expected one of hotpotqa$"),
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
    for name in ("server", "retriever", "retrievers"):
        for scheme in ("http", "https"):
            address = scheme + end
            value = [address] if name == "retrievers" else address
            with pytest.raises(UserError, match=f"^{name}.*: .*expected one ") as error:
                read_parameters("mini", {name: value})
            assert "secret" not in str(error.value)
            with pytest.raises(UserError) as error:
                MINI.change(**{name: value})
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


CHANGED = [
    {"model": "x"},
    {"model": "x", "agent": "y"},
    {"model": "x", "server": "http://h:1"},
    {"model": "x", "server": "http://h:1", "reader": "direct"},
    {"model": MINI.model, "server": "http://h:1"},
    {"gpt3": "x"},
]


@pytest.mark.parametrize("changes", CHANGED)
def test_a_change_means_the_same_wherever_it_is_made(changes):
    read = read_parameters("mini", changes)
    assert MINI.change(**changes).model_dump() == read.model_dump()
    assert read.for_agent().model == changes.get(
        "agent", changes.get("model", MINI.agent)
    )
    # as it is, on top of other changes
    assert read.change(**changes) == read.change(seed=0) == read


def test_a_profile_for_a_server_keeps_its_values_with_another_server(own_profile):
    lines = {"server": "http://h:1", "model": "x", "style": "agent", "reader": "cot"}
    own_profile(**lines)
    p = read_parameters("mine", {"server": "http://other:2"})
    assert (p.server, p.model, p.style) == ("http://other:2", "x", "agent")


NUMBERS = {  # a text after --set max_cost=, and its value
    "1e-1": 0.1,
    "1E2": 100,
    "1.5e+3": 1500,
    "0.5": 0.5,
    "-1e-1": "greater than or equal to 0",
    "1:30": "valid number",
    "1_000.5": "valid number",
    ".inf": "valid number",
    "1e999": "finite number",
}


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_are_those_of_json(text):
    changes = {"max_cost": read_value(text)}
    if isinstance(NUMBERS[text], str):
        with pytest.raises(UserError, match=f"max_cost: .*{NUMBERS[text]}"):
            read_parameters("mini", changes)
    else:
        assert read_parameters("mini", changes).max_cost == NUMBERS[text]


@pytest.mark.parametrize("text", ["12:30", "017", "0x1F", "1_000", "0b11", "+1", "1e3"])
def test_a_text_is_no_count(text):
    with pytest.raises(UserError, match="seed: Input should be a valid integer"):
        read_parameters("mini", {"seed": read_value(text)})


def test_a_comment_of_a_profile_is_none_of_its_values(own_profile):
    own_profile("# run at 12:30, 1e-1", seed="7  # 12:30", max_cost="1e-1")
    p = read_parameters("mine")
    assert (p.seed, p.max_cost) == (7, 0.1)


def test_the_command_that_gives_parameters_says_only_what_was_changed():
    assert MINI.command_line() == "--profile mini"
    changed = read_parameters("mini", {"ircot_k": [4], "data_dir": "a b"})
    options = "--profile mini --set 'data_dir=\"a b\"' --set 'ircot_k=[4]'"
    assert changed.command_line() == options


@pytest.fixture
def own_profile(tmp_path, monkeypatch):
    """own_profile(*lines, **values): a profile "mine" with these in place of mini's."""
    kept = (PROFILES / "mini.yaml").read_text().splitlines()
    monkeypatch.setattr(parameters, "PROFILES", tmp_path)

    def write(*lines: str, **values: str) -> None:
        lines += tuple(f"{name}: {value}" for name, value in values.items())
        others = [text for text in kept if text.partition(":")[0] not in values]
        (tmp_path / "mine.yaml").write_text("\n".join([*others, *lines]))

    return write


LINES = {  # of a profile, and what the error says of them
    "dev: x": "dev: .* valid integer",
    "datasets: [x]": "datasets.0: found 'x'",
    "- a": "not valid YAML",
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:20])
def test_a_wrong_line_of_a_profile_names_its_file(own_profile, tmp_path, line):
    name, colon, value = line.partition(": ")
    own_profile(**{name: value}) if colon else own_profile(line)
    with pytest.raises(UserError, match=LINES[line]) as error:
        read_parameters("mine")
    assert str(error.value).startswith(f"{tmp_path / 'mine.yaml'}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "# only a comment", "---\n...", "null", "text"])
def test_an_empty_profile_is_an_error_of_one_line(tmp_path, monkeypatch, text):
    (tmp_path / "mine.yaml").write_text(text)
    monkeypatch.setattr(parameters, "PROFILES", tmp_path)
    with pytest.raises(UserError, match="mine.yaml: found .*, expected lines as in"):
        read_parameters("mine")


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
