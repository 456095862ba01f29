"""Comparisons: what is tuned, what is tested, and which runs are read afterwards."""

from dataclasses import replace

import pandas as pd
import pytest

from ircotlib.errors import UserError
from ircotlib.experiment.compare import compare, run_system
from ircotlib.experiment.setup import open_setup
from ircotlib.experiment.stored import read_about
from ircotlib.parameters import OOD
from ircotlib.results.runs import read_costs, read_runs
from ircotlib.systems import all_systems

S = all_systems()


def test_tuning_takes_the_best_and_of_equals_the_smaller(p):
    def tuned(values):
        changed = p.change(oner_k=values, dev=12)
        found = compare([open_setup(changed, "hotpotqa", "04_ircot")], [S["OneR"]])
        return found.chosen["k"].item(), found.tuning

    best, table = tuned([1, 5])
    assert best == 5 and list(table["k"]) == [1, 5]
    assert table["value"][0] < table["value"][1]
    best, table = tuned([600, 601])  # both retrieve the whole corpus
    assert best == 600 and table["value"][0] == table["value"][1]
    best, table = tuned([7])
    assert best == 7 and table.empty


def test_tuning_without_dev_questions_is_an_error(opened):
    with pytest.raises(UserError, match="hotpotqa has no dev questions for the 2 s"):
        compare([replace(opened, dev=())], [S["OneR"]])
    bare = replace(opened, dev=[replace(question, gold=()) for question in opened.dev])
    with pytest.raises(
        UserError, match="no dev questions with gold .* of OneR: set dev"
    ):
        compare([bare], [S["OneR QA"], S["OneR"]])
    assert not opened.runs.exists() and len(opened.calls) == 0  # before any run


def test_systems_are_tuned_and_run_with_every_demonstration_set(p):
    p = p.change(ircot_k=[2], oner_k=[1, 3], distractors=[1, 2], dev=2, test=3)
    setup = open_setup(p, "hotpotqa", "04_ircot")
    systems = [S[name] for name in ("NoR QA", "OneR", "IRCoT QA")]
    found = compare([setup], systems, sets=3)
    sets = found.scores.groupby("system", sort=False)["demonstration_set"].nunique()
    assert dict(sets) == {"NoR QA": 3, "OneR": 0, "IRCoT QA": 3}
    assert set(found.tuning["system"]) == {"OneR", "IRCoT QA"}
    assert list(found.chosen["system"]) == ["NoR QA", "OneR", "IRCoT QA"]
    for other in (p.change(seed=1), p.change(datasets=["hotpotqa", "musique"])):
        with pytest.raises(FileNotFoundError, match="found no test runs"):
            read_runs(other, "04_ircot")
    columns = ["system", "id", "demonstration_set", "f1", "recall", "metric"]
    read, run = read_runs(p, "04_ircot")[columns], found.scores[columns]
    pd.testing.assert_frame_equal(
        read.sort_values(columns, ignore_index=True),
        run.sort_values(columns, ignore_index=True),
        check_dtype=False,
    )
    run_system(setup, S["OneR"], k=2)
    run_system(setup, S["OneR"], "dev", k=2)
    assert len(compare([setup], systems[1:2]).scores) == 3
    assert len([*setup.runs.glob("*/OneR k=*")]) == 3  # without those of k = 2
    assert {*read_runs(p, "04_ircot")["system"]} == {each.name for each in systems}


def test_with_settings_each_is_run_and_none_is_tuned(p):
    names = ("hotpotqa", "musique")
    setups = [open_setup(p, name, "02_index", with_model=False) for name in names]
    found = compare(setups, [S["OneR"]], settings=[{"k": 5}, {"k": 1}])
    groups = found.scores.groupby(["dataset", "k"], sort=False)["recall"].mean()
    assert list(groups.index) == [(name, k) for name in names for k in (5, 1)]
    assert found.tuning.empty and found.chosen.empty
    assert not (setups[0].runs / "dev").exists()
    assert compare([], [S["OneR"]]).scores.empty and compare(setups, []).scores.empty


def test_without_gold_paragraphs_systems_tuned_by_recall_are_left_out(opened):
    bare = replace(opened, test=[replace(each, gold=()) for each in opened.test])
    found = compare([bare], [S["OneR"], S["NoR QA"]]).scores
    assert set(found["system"]) == {"NoR QA"} and found["recall"].isna().all()
    with pytest.raises(UserError, match="nothing to run: "):
        compare([bare], [S["OneR"]])


def test_a_missing_prompt_is_an_error_before_any_work(p, tmp_path):
    folder = tmp_path / "prompts"
    folder.mkdir()
    p = p.change(demonstrations=str(folder), distractors=[1], ircot_k=[2])
    setup = open_setup(p, "hotpotqa", "04_ircot")
    with pytest.raises(FileNotFoundError, match="no prompt file .*prompts/hotpotqa"):
        compare([setup], [S["OneR"], S["IRCoT QA"]])
    assert not setup.runs.exists() and len(setup.calls) == 0


def test_runs_of_another_setting_are_not_read_and_the_error_says_what_to_do(p, opened):
    run_system(opened, S["OneR"], k=5)
    assert set(read_runs(p, "04_ircot")["k"]) == {5}
    with pytest.raises(FileNotFoundError) as error:
        read_runs(p.change(seed=1), "04_ircot")
    assert "ircotlib figures --only 04_ircot --profile mini" in str(error.value)
    assert "--set seed=1" in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(FileNotFoundError):
        read_runs(p, "04_ircot", grid_of=OOD)


def test_costs_are_those_of_the_runs_requests(p, opened):
    run_system(opened, S["OneR QA"], k=3)
    run_system(opened, S["NoR QA"])
    costs = read_costs(p, "04_ircot").set_index("system")[["requests", "computed"]]
    assert costs.T.to_dict("list") == {"NoR QA": [4, 4], "OneR QA": [8, 8]}
    run_system(opened, S["OneR QA"], k=2)  # of the same retrieval, of more paragraphs
    counts = read_about(opened.runs / "test/OneR-QA k=2")["counts"]
    assert counts["Retrieve"]["computed"] == 0 < counts["Generate"]["computed"]


def test_the_other_reader_reads_the_same_chains_and_costs_its_own_requests_only(
    p, opened
):
    other = open_setup(p.other_reader(), "hotpotqa", "04_ircot")
    assert other.runs != opened.runs and other.parameters.other_reader() == p
    for each in (opened, other):
        run_system(each, S["IRCoT QA"], k=2)
    counts = read_about(other.runs / "test/IRCoT-QA k=2")["counts"]
    assert counts["Retrieve"]["computed"] == 0 and counts["Generate"]["computed"] <= 4


def test_a_part_without_questions_is_refused(p):
    setup = open_setup(p, "hotpotqa", "parts", with_model=False)
    for part in ("train", "Test"):
        with pytest.raises(UserError, match=f"no '{part}' questions of hotpotqa: set"):
            run_system(setup, S["OneR"], part, k=2)
    assert not setup.runs.exists()
