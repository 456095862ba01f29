"""Parameters: each wrong one is a single line that says what was found and expected."""

import pytest

from ircotlib import parameters
from ircotlib.errors import UserError
from ircotlib.files.options import parse_changes
from ircotlib.files.paths import PROFILES
from ircotlib.parameters import MAIN, OOD, SCALE, grid_names, parameter_names, read_parameters
from ircotlib.retrieval import retriever_name
from ircotlib.systems import all_systems

WRONG = [
    ({"test": True}, "test: found True, expected"),
    ({"dev": "x"}, "dev: found 'x', expected a whole number"),
    ({"timeout": "x"}, "timeout: found 'x', expected a number"),
    ({"timeout": 1e308}, "timeout: found 1e.308, expected .* 86400"),
    ({"timeout": 86401.0}, "timeout: found 86401.0, expected"),
    ({"timeout": float("nan")}, "timeout: found nan, expected"),
    ({"max_steps": 10**12}, "max_steps: found 1000000000000, expected .* 1000"),
    ({"max_steps": 0}, "max_steps: found 0, expected"),
    ({"chat": 2}, "chat: found 2, expected true or false"),
    ({"datasets": "hotpotqa"}, "datasets: found 'hotpotqa', expected a list"),
    ({"datasets": ["musique", "musique"]}, "datasets: found .*, expected each value once"),
    ({"datasets": ["x"]}, "datasets: found 'x', expected some of hotpotqa, "),
    ({"systems": ["x"]}, "systems: found 'x', expected some of NoR QA, OneR, "),
    ({"models": [""]}, "models: found '', expected a text that is not empty"),
    ({"prices": [1]}, r"prices: found \[1\], expected a list of at least 2"),
    ({"style": "gpt"}, "style: found 'gpt', expected some of flan_t5, codex, agent"),
    ({"reader": "foo"}, "reader: found 'foo', expected 'cot' or 'direct'"),
    ({"retriever": "es"}, "retriever: found 'es', expected one of embedded, dense:FOLDER"),
    ({"retrievers": ["embedded", "x:y"]}, "retrievers: found 'x:y', expected one of embedded"),
    ({"context_tokens": 50}, "context_tokens: found 50, expected more than 200"),
    ({"oner_k": 5}, "oner_k: found 5, expected a list"),
    ({"ircot_k": [2, 2]}, r"ircot_k: found \[2, 2\], expected each value once"),
    ({"ircot_k": [2, True]}, "ircot_k: found True, expected a whole number"),
    ({"ircott_k": [2]}, "found the parameter 'ircott_k', expected ircot_k$"),
    ({"learning": 1}, "found the parameter 'learning', expected abilities_seeds, "),
    ({"worlds": [[1, 2]]}, r"worlds: found .*, expected one more entry"),
    ({"data_dir": 5}, "data_dir: found 5, expected a text"),
    ({"workers": 0}, "workers: found 0, expected auto, a number from 1 to 1024, or ray:"),
    ({"workers": "ray"}, "workers: found 'ray', expected auto, a number"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[str(wrong) for wrong, _ in WRONG])
def test_a_wrong_parameter_is_one_line(changes, message):
    with pytest.raises(ValueError, match=message) as error:
        read_parameters("mini", changes)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=message):
        read_parameters("mini").change(**changes)


def test_several_wrong_parameters_are_all_said():
    with pytest.raises(ValueError, match="dev: found -1, .*; test: found 0, "):
        read_parameters("mini", {"test": 0, "dev": -1})


def test_a_password_is_neither_accepted_nor_shown():
    with pytest.raises(ValueError, match="without user and password") as error:
        read_parameters("mini", {"retriever": "http://me:secret@host:9200"})
    assert "secret" not in str(error.value)


def test_retrievers_are_named_without_their_places():
    names = {
        "embedded": "BM25",
        "http://host:9200": "BM25, Elasticsearch",
        "dense:/a/b/all-MiniLM-L6-v2": "dense: all-MiniLM-L6-v2",
        "hybrid:models/x": "hybrid: x",
        "colbert:colbert-ir/colbertv2.0": "colbert: colbertv2.0",
    }
    p = read_parameters("mini", {"retrievers": list(names)})
    assert [retriever_name(retriever) for retriever in p.retrievers] == list(names.values())


@pytest.mark.parametrize("profile", ["maxi", "", "../mini", "mini.yaml", "/etc/passwd"])
def test_a_profile_that_is_not_there(profile):
    with pytest.raises(
        ValueError, match="found the profile .*, expected one of imported, mini, paper, quick, rel"
    ):
        read_parameters(profile)


def test_a_grid_is_that_of_the_profile_else_that_of_the_paper():
    mini, paper = read_parameters("mini"), read_parameters("paper")
    assert mini.grid("ircot", "k", [1]) == [2, 4] and mini.grid("ircot", "k", [1], SCALE) == [2]
    assert paper.grid("oner", "m", [1]) == [1, 2, 3] and mini.grid("oner", "m", [1], OOD) == [1]
    assert mini.grid("mine", "k", (3, 4), MAIN) == [3, 4]
    assert mini.grid("mine", "k", (3, 4), OOD) == [3]  # it is not tuned
    for system in all_systems().values():
        for name, values in system.grid.items():
            assert paper.grid(system.module, name, values) == list(values)
            assert paper.grid(system.module, name, values, SCALE) == list(values)
    assert {"ircot_k", "scale_oner_k", "ood_ircot_k"} <= set(grid_names()) < set(parameter_names())


def test_a_run_as_the_released_program_is_a_profile():
    released, paper = read_parameters("released"), read_parameters("paper")
    assert (released.released, released.max_steps) == (True, 10)
    assert (paper.released, paper.max_steps) == (False, 8)
    same = {"released": False, "max_steps": 8, "profile": "paper"}
    assert released.change(**same) == paper


def test_the_command_that_gives_parameters_says_only_what_was_changed():
    assert read_parameters("mini").command_line() == "--profile mini"
    changed = read_parameters("mini", {"ircot_k": [4], "data_dir": "a b"})
    assert changed.command_line() == "--profile mini --set 'data_dir=\"a b\"' --set 'ircot_k=[4]'"


BELOW = len((PROFILES / "mini.yaml").read_text().splitlines()) + 1  # the first line below mini's
WRONG_LINES = {  # of a profile, and what the error says of them
    "dev: 030": "dev: found '030', expected a whole number",
    "test: 1:30": "test: found '1:30', expected a whole number",
    "test: 0x10": "test: found '0x10'",
    "test: 40\ntest: 50": f"found the name 'test' in line {BELOW}, expected a name",
    "12: 3": f"found the name 12 in line {BELOW}",
    "null: 3": f"found the name None in line {BELOW}",
    "profile: sample": "found the parameter 'profile', expected none",
    "test: -1": "test: found -1, expected greater than or equal to 1",
    "timeout: yes": "timeout: found True, expected a number",
    "max_cost: '3'": "max_cost: found '3', expected a number",
    "datasets: [x]": "datasets: found 'x'",
    "dials: {knows: 0.5}": "found dials and no simulated reader",
    "test: " + "[" * 3000: "found no YAML",
    "test: 2024-99-99": "found no YAML (month must be in 1..12)",
    "worlds: [[030, 5, 5]]": "worlds: found '030', expected a whole number",
}


@pytest.mark.parametrize("line", WRONG_LINES, ids=lambda line: line[:20])
def test_a_wrong_line_of_a_profile_is_one_line_with_its_file(tmp_path, monkeypatch, line):
    """On the command line the same value is refused by the same rule."""
    name, _, value = line.partition(": ")
    kept = (PROFILES / "mini.yaml").read_text().splitlines()
    kept = [text for text in kept if not text.startswith(f"{name}:")]
    (tmp_path / "mine.yaml").write_text("\n".join([*kept, line]))
    monkeypatch.setattr(parameters, "PROFILES", tmp_path)
    with pytest.raises(UserError) as error:
        read_parameters("mine")
    assert str(error.value).startswith(f"{tmp_path / 'mine.yaml'}: {WRONG_LINES[line]}")
    assert "\n" not in str(error.value)
    if name.isidentifier() and "\n" not in value:
        monkeypatch.undo()
        with pytest.raises(UserError):
            read_parameters("mini", parse_changes([f"{name}={value}"]))
