"""Parameters: each wrong one is a single line that says where it is and what was expected."""

import re

import pytest

from ircotlib import parameters
from ircotlib.command.options import parse_changes
from ircotlib.errors import UserError
from ircotlib.files import PROFILES
from ircotlib.parameters import (
    MAIN,
    NO_RUN,
    OOD,
    SCALE,
    WITHOUT_EFFECT,
    Parameters,
    read_parameters,
)
from ircotlib.retrieval import retriever_name
from ircotlib.systems import all_systems

WRONG = [
    ({"test": True}, "test: .* valid integer, found True"),
    ({"dev": "x"}, "dev: .* valid integer, found 'x'"),
    ({"chat": 2}, "chat: .* valid boolean, found 2"),
    ({"datasets": "hotpotqa"}, "datasets: .* valid list, found 'hotpotqa'"),
    ({"datasets": ["musique", "musique"]}, "datasets: found .*, expected each value once"),
    ({"datasets": ["x"]}, "datasets.0: found 'x', expected one of hotpotqa, "),
    ({"datasets": []}, "datasets: .* at least 1 item"),
    ({"systems": ["NoR QA", "x"]}, "systems.1: found 'x', expected one of NoR QA, OneR, "),
    ({"models": [""]}, "models.0: .* at least 1 character, found ''"),
    ({"prices": [1]}, r"prices: .* at least 2 items .*, found \[1\]"),
    ({"max_cost": "3"}, "max_cost: .* valid number, found '3'"),
    ({"style": "gpt"}, "style: found 'gpt', expected one of flan_t5, codex, agent"),
    ({"reader": "foo"}, "reader: .* 'cot' or 'direct', found 'foo'"),
    ({"retriever": "es"}, "retriever: expected one of embedded"),
    ({"context_tokens": 50}, "context_tokens: found 50, expected more than 200"),
    ({"oner_k": 5}, "oner_k: .* valid list, found 5"),
    ({"ircot_k": [2, True]}, "ircot_k.1: .* valid integer, found True"),
    ({"ircott_k": [2]}, "found the parameter 'ircott_k', expected ircot_k$"),
    ({"worlds": [[1, 2]]}, r"worlds.0: .* at least 3 items .*, found \[1, 2\]"),
    ({"workers": 0}, "workers.*: .* greater than or equal to 1, found 0"),
    ({"test": 0, "dev": -1}, "dev: .*, found -1; test: .*, found 0"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[str(wrong) for wrong, _ in WRONG])
def test_a_wrong_parameter_is_one_line(changes, message):
    for check in (lambda: read_parameters("mini", changes), lambda: MINI.change(**changes)):
        with pytest.raises(UserError, match=message) as error:
            check()
        assert "\n" not in str(error.value)


def test_a_password_is_neither_accepted_nor_shown():
    with pytest.raises(UserError, match="retriever: expected one of embedded") as error:
        read_parameters("mini", {"retriever": "http://me:secret@host:9200"})
    assert "secret" not in str(error.value)


def test_retrievers_are_named_without_their_places():
    names = {"embedded": "BM25", "http://host:9200": "BM25, Elasticsearch"}
    names |= {"dense:/a/b/all-MiniLM-L6-v2": "dense: all-MiniLM-L6-v2", "hybrid:x": "hybrid: x"}
    p = read_parameters("mini", {"retrievers": list(names)})
    assert [retriever_name(retriever) for retriever in p.retrievers] == list(names.values())


MINI = read_parameters("mini")


def test_a_grid_is_that_of_the_profile_else_that_of_the_paper():
    paper = read_parameters("paper")
    assert MINI.grid("ircot", "k", [1]) == [2, 4] and MINI.grid("ircot", "k", [1], SCALE) == [2]
    assert paper.grid("oner", "m", [1]) == [1, 2, 3] and MINI.grid("oner", "m", [1], OOD) == [1]
    assert MINI.grid("mine", "k", (3, 4), MAIN) == [3, 4]
    assert MINI.grid("mine", "k", (3, 4), OOD) == [3]  # it is not tuned
    for system in all_systems().values():
        for name, values in system.grid.items():
            assert paper.grid(system.module, name, values, SCALE) == list(values)


def test_a_run_as_the_released_program_is_a_profile():
    released, paper = read_parameters("released"), read_parameters("paper")
    assert (released.released, released.max_steps) == (True, 10)
    same = {"released": False, "max_steps": 8, "profile": "paper"}
    assert released.change(**same) == paper


def test_behind_a_server_the_profiles_values_for_local_models_do_not_hold():
    served = read_parameters("paper", {"server": "http://host:1", "model": "x"})
    assert (served.style, served.reader, served.models) == ("codex", "cot", ["x"])
    assert served.for_agent() == served and MINI.for_agent().model == MINI.agent


def test_the_command_that_gives_parameters_says_only_what_was_changed():
    assert MINI.command_line() == "--profile mini"
    changed = read_parameters("mini", {"ircot_k": [4], "data_dir": "a b"})
    assert changed.command_line() == "--profile mini --set 'data_dir=\"a b\"' --set 'ircot_k=[4]'"


LINES = {  # of a profile, and what the error says of them
    "dev: 030": "dev: .* valid integer, found '030'",
    "datasets: [x]": "datasets.0: found 'x'",
    "- a": "found no YAML",
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:20])
def test_a_wrong_line_of_a_profile_is_one_line_with_its_file(tmp_path, monkeypatch, line):
    kept = (PROFILES / "mini.yaml").read_text().splitlines()
    kept = [text for text in kept if not text.startswith(f"{line.partition(':')[0]}:")]
    (tmp_path / "mine.yaml").write_text("\n".join([*kept, line]))
    monkeypatch.setattr(parameters, "PROFILES", tmp_path)
    with pytest.raises(UserError, match=LINES[line]) as error:
        read_parameters("mine")
    assert str(error.value).startswith(f"{tmp_path / 'mine.yaml'}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("profile", ["maxi", "", "../mini", "mini.yaml", "/etc/passwd"])
def test_a_profile_that_is_not_there(profile):
    with pytest.raises(UserError, match="found the profile .*, expected one of mini, paper, quick"):
        read_parameters(profile)


@pytest.mark.parametrize(
    ("changes", "trial"),
    [
        ({"ircot_k": [4]}, "ircot_k=4"),
        ({"test": 7, "datasets": ["musique", "iirc"]}, r"datasets=musique\+iirc,test=7"),
        ({"data_dir": "../my data"}, "data_dir=..-my-data-[0-9a-f]{6}"),
        ({"model": "a/b", "server": "http://h:8000"}, "model=a-b,server=http-h-8000-[0-9a-f]{6}"),
    ],
)
def test_changed_parameters_name_the_folder_of_what_they_make(changes, trial):
    p = read_parameters("mini", changes)
    assert re.fullmatch(f"trials/{trial}", p.trial)
    assert read_parameters("mini", dict(reversed(changes.items()))).trial == p.trial
    # what notebooks and claims derive from them is of the same trial
    for derived in (p.for_agent(), p.other_reader(), p.out_of_distribution(), p.change(k=3)):
        assert derived.trial == p.trial


@pytest.mark.parametrize("changes", [{}, {"workers": 2}, {"prices": [1.0, 2.0]}, MINI.model_dump()])
def test_what_changes_no_outcome_is_no_trial(changes):
    p = read_parameters("mini", changes)
    assert p.trial == p.change(dev=0).trial == p.for_agent().trial == ""
    assert {*WITHOUT_EFFECT} < {*NO_RUN} <= {*Parameters.model_fields}


def test_changes_are_read_from_the_command_line_by_the_same_rules():
    assert parse_changes(["ircot_k=[4]", "seed=1"]) == {"ircot_k": [4], "seed": 1}
    with pytest.raises(UserError, match="seed: .* valid integer, found 'x'"):
        read_parameters("mini", parse_changes(["seed=x"]))
