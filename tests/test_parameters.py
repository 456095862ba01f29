"""Parameters: a wrong one is one line that says where it is and what was expected."""

import re
from functools import partial

import pytest

from ircotlib import parameters
from ircotlib.errors import UserError
from ircotlib.experiment.setup import runs_folder
from ircotlib.parameters import MAIN, OOD, SCALE, read_parameters, read_value
from ircotlib.systems import all_systems

WRONG = [
    ({"test": True}, "test: .* valid integer"),
    ({"datasets": "hotpotqa"}, "datasets: .* valid list"),
    (
        {"datasets": ["x"]},
        "datasets.0: unknown data set 'x', expected one of hotpotqa, ",
    ),
    ({"datasets": []}, "datasets: .* at least 1 item"),
    ({"prices": [1]}, "prices: .* at least 2 items"),
    ({"style": "gpt"}, "style: Input should be 'flan_t5', 'codex' or 'agent'"),
    ({"retriever": "es"}, "retriever: unknown retriever, expected one of embedded"),
    ({"context_tokens": 50}, "context_tokens: found 50, expected more than 200"),
    ({"ircot_k": [2, True]}, "ircot_k.1: .* valid integer"),
    ({"ircott_k": [2]}, "unknown parameter 'ircott_k', expected ircot_k$"),
    ({"workers": 0}, "workers.*: .* greater than or equal to 1"),
    ({"test": 0, "dev": -1}, "dev: .*; test: "),
    ({"server": "http://h:9"}, "server: set `model`, too, to the server's name for it"),
    ({"RELEASED": True}, "unknown parameter 'RELEASED', expected released$"),
    ({"released": "True"}, "released: .* valid boolean$"),
    ({"server": "http://[::1", "model": "x"}, "^server: not a valid address, expected"),
    ({"server": "http://h:99999", "model": "x"}, "^server: Port out of range"),
    ({"datasets": ["hotpot"]}, "datasets.0: .* 'hotpot', expected one of hotpotqa$"),
]


MINI = read_parameters("mini")
# two ways to change parameters
CHANGES = (lambda **changes: read_parameters("mini", changes), MINI.change)


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[str(w) for w, _ in WRONG])
def test_a_wrong_parameter_is_one_line(changes, message):
    for change in CHANGES:
        with pytest.raises(UserError, match=message) as error:
            change(**changes)
        assert "\n" not in str(error.value)


SECRETS = ("://ann:secret@host", "://host/v1?key=secret", "://host/#secret")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("end", SECRETS)
def test_the_password_or_key_in_an_address_is_refused_and_not_shown(scheme, end):
    address = scheme + end
    wrong = {"server": address, "retriever": address, "retrievers": [address]}
    for name, value in wrong.items():
        for change in CHANGES:
            with pytest.raises(UserError, match=f"^{name}.*: .*expected one ") as error:
                change(**{name: value})
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
    agent = served.change(style="agent")  # another server changes nothing else
    assert agent.change(server="http://other:2").style == "agent"


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
    model = changes.get("model", MINI.agent)
    assert read.for_agent().model == changes.get("agent", model)
    # as it is, on top of other changes
    assert read.change(**changes) == read.change(seed=0) == read


OTHER_KINDS = [("seed", "1.0"), ("seed", "1e3"), ("seed", "yes"), ("test", '"7"')]
OTHER_KINDS += [("max_cost", "-0.1")]
OTHER_KINDS += [("model", "2026-01-02"), ("model", "017"), ("model", "no")]
OTHER_KINDS += [("released", "1"), ("chat", '"true"'), ("models", "[no, 7]")]


@pytest.mark.parametrize(("name", "text"), OTHER_KINDS)
def test_what_yaml_reads_as_another_kind_of_value_is_refused(name, text):
    with pytest.raises(UserError, match=f"^{name}.*: Input should be "):
        read_parameters("mini", {name: read_value(text)})


def test_integers_are_decimal():
    assert [read_value(text) for text in ("017", "-1", "1_000")] == [17, -1, 1000]
    assert read_value("[1e-1, 2E3, 1.5]") == [0.1, 2000.0, 1.5]
    for text in ("12:30", "1:30.5", ".inf"):
        with pytest.raises(UserError, match=f"not valid YAML .*'{text}'"):
            read_value(text)


def test_the_command_that_gives_parameters_says_only_what_was_changed():
    assert MINI.command_line() == "--profile mini"
    changed = read_parameters("mini", {"ircot_k": [4], "data_dir": "a b"})
    options = "--profile mini --set 'data_dir=\"a b\"' --set 'ircot_k=[4]'"
    assert changed.command_line() == options


EMPTY = ["", "# only a comment", "---\n...", "null", "text"]
PROFILES_OF = [(text, "found .*, expected lines as in") for text in EMPTY]
PROFILES_OF += [("dev: x", "dev: .* valid integer"), ("- a\nb: 1", "not valid YAML")]
PROFILES_OF += [("datasets: [x]", "datasets.0: unknown data set")]
PROFILES_OF += [("released:", "released: .* valid boolean")]
PROFILES_OF += [("dev: 1\ntest: 2\ndev: 3", "found 'dev' twice")]
PROFILES_OF += [("3: 4", "unknown parameter 3, expected"), ("a: " + "[" * 5000, "")]


@pytest.mark.parametrize(("text", "says"), PROFILES_OF)
def test_a_wrong_profile_names_its_file(tmp_path, monkeypatch, text, says):
    (tmp_path / "mine.yaml").write_text(text)
    monkeypatch.setattr(parameters, "PROFILES", tmp_path)
    with pytest.raises(UserError, match=f"^{tmp_path}/mine.yaml: .*{says}") as error:
        read_parameters("mine")
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
