"""The benchmark of parse rates, with a shipped model instead of a server."""

from dataclasses import replace

import pytest

from bench import parse_rates
from ircotlib.experiment import backends
from ircotlib.experiment import bench as setup
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters
from ircotlib.systems import SEARCHAIN, all_systems, choose_systems


@pytest.fixture
def opened(tmp_path, monkeypatch, shared):
    monkeypatch.setattr(setup, "DATA", tmp_path)
    monkeypatch.setattr(backends, "DATA", tmp_path)
    changes = {"data_dir": str(shared), "dev": 0, "test": 3, "datasets": ["strategyqa"]}
    changes |= {"model": "data/models/mini-causal", "style": "codex"}
    return open_setup(read_parameters("sample", changes), "strategyqa", parse_rates.NAME)


def test_a_row_says_what_a_system_made_of_real_questions(opened):
    row = parse_rates.measure_parsed(opened, all_systems()["ReAct"], 8)
    assert (row["dataset"], row["system"], row["questions"]) == ("strategyqa", "ReAct", 3)
    assert row["parsed"] + row["said to be unparsed"] == 3 and row["silent"] == 0
    assert 3 * 7 <= row["calls"] <= 3 * 14 and 0 < row["tokens written"] <= 8 * row["calls"]


def test_questions_of_another_data_set_are_asked_over_the_same_paragraphs(opened):
    fever = parse_rates.open_with(opened, "fever", 2)
    assert len(fever.test) == 2 and fever.retriever is opened.retriever
    assert all("(SUPPORTS or REFUTES)?" in question.text for question in fever.test)
    row = parse_rates.measure_parsed(replace(fever, test=fever.test[:1]), all_systems()["CoT"], 8)
    assert (row["dataset"], row["questions"], row["silent"]) == ("fever", 1, 0)


def test_what_is_cut_is_what_the_systems_take():
    study = {system.name: system for system in choose_systems(study=SEARCHAIN)}
    assert {*parse_rates.CUT, *parse_rates.COSTLY, *parse_rates.ELSEWHERE} <= set(study)
    for name, setting in parse_rates.CUT.items():
        assert all(study[name].defaults[key] > value for key, value in setting.items())
