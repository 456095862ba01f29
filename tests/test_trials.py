"""Trials: what changed parameters make never replaces what a profile makes as it is shipped."""

import re

import pandas as pd
import pytest
from ircotlib.experiment.identity import identity

from ircotlib.experiment.setup import change_model
from ircotlib.files import paths
from ircotlib.parameters import WITHOUT_EFFECT, Parameters, read_parameters
from ircotlib.results.figures import save_figure, subplots
from ircotlib.results.head_to_head import for_head_to_head
from ircotlib.results.markdown import save_table

LONG = "Which of the two labels was founded first, and by whom of its three founders?"
SERVED = {"model": "a/b", "server": "http://127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("profile", "changes", "name"),
    [
        ("mini", {"ircot_k": [4]}, "ircot_k=4"),
        ("mini", {"test": 7, "datasets": ["musique", "iirc"]}, r"datasets=musique\+iirc,test=7"),
        ("mini", {"model": "simulated", "dials": {"knows": 0.3}}, "dials=.*,model=simulated.*"),
        ("mini", {"agent": "", "both_readers": False}, "agent=,both_readers=False"),
        ("mini", {"distractors": []}, "distractors="),
        ("sample", {"seed": 3}, "seed=3"),
        ("mini", {"data_dir": "../my data"}, "data_dir=..-my-data-[0-9a-f]{6}"),
        ("mini", {"model": "data/models/agent"}, "model=data-models-agent-[0-9a-f]{6}"),
        (
            "mini",
            {"question": LONG},
            "question=Which-of-the-two-labels-was-founded-first[^ ]+-[0-9a-f]{6}",
        ),
        ("mini", {"question": "誰?"}, "question=--[0-9a-f]{6}"),
        ("mini", SERVED, "model=a-b,server=http-127.0.0.1-8000-v1-[0-9a-f]{6}"),
    ],
)
def test_changed_parameters_name_the_folder_of_what_they_make(profile, changes, name):
    p = read_parameters(profile, changes)
    assert re.fullmatch(f"trials/{name}", p.trial) and len(p.trial.encode()) < 80
    assert read_parameters(profile, dict(reversed(changes.items()))).trial == p.trial
    # what notebooks and claims derive from them is of the same trial
    for derived in (p.for_agent(), p.other_reader(), p.out_of_distribution(), for_head_to_head(p)):
        assert derived.trial == p.trial
    assert Parameters(**p.model_dump()).trial == "" and "trial" not in str(p.model_dump())


def test_other_values_are_other_trials():
    texts = [LONG, f"{LONG}?", "a b", "a-b", "a+b", "A b", "a\tb", "誰?", "何?"]
    assert len({read_parameters("mini", {"question": text}).trial for text in texts}) == len(texts)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"workers": 2},
        {"in_flight": 2, "timeout": 9.0},
        {"prices": [1.0, 2.0]},
        {"seed": read_parameters("mini").seed, "profile": "mini"},
        read_parameters("mini").model_dump(),
    ],
)
def test_what_changes_no_outcome_is_no_trial(changes):
    p = read_parameters("mini", changes)
    shipped = read_parameters("mini")
    assert p.trial == "" and identity(p) == identity(shipped)
    # the notebooks' own changes, of what is shipped, are none either
    for own in (p.change(dev=0), p.for_agent(), change_model(p, p.models[0])):
        assert own.trial == ""


def test_nothing_without_effect_is_part_of_what_identifies_a_run():
    assert not {*WITHOUT_EFFECT} & {*identity(read_parameters("mini"))}
    assert {*WITHOUT_EFFECT} <= {*Parameters.model_fields}


@pytest.mark.parametrize("profile", ["mini", "sample", "paper"])
def test_a_trial_leaves_kept_figures_as_they_are(profile, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    table = pd.DataFrame({"a": [1]})
    shipped, changed = read_parameters(profile), read_parameters(profile, {"test": 7})
    save_figure(subplots()[0], table, "drawn", shipped)
    save_table(table, "told", "Kept.", shipped)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert len(kept) == 6
    figure = subplots()[0]
    save_figure(figure, table + 1, "drawn", changed)
    save_table(table + 1, "told", "Changed.", changed)
    assert {path: path.read_bytes() for path in kept} == kept
    assert figure.get_supxlabel() == f"profile {profile}; with test=7"
    made = {path.name for path in (tmp_path / "trials/test=7").iterdir()}
    assert made == {path.name for path in kept}
