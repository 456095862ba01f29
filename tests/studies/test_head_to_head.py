"""The big table of all systems: tests, costs and means, from runs written by hand."""

from itertools import product

import pandas as pd
import pytest

from ircot_studies import head_to_head
from ircot_studies.head_to_head import (
    compare_all,
    find_failures,
    with_right_replies,
)
from ircotlib.parameters import read_parameters
from ircotlib.results import runs as tables
from ircotlib.results.head_to_head import measures_of, systems_of
from ircotlib.results.statistics import holm, paired_p
from ircotlib.systems import choose_systems

P = read_parameters("mini", {"head_to_head": ["hotpotqa", "eli5"]})


def scored(system, values, dataset="hotpotqa"):
    """A run: one score for each question, used for both measures of the data set."""
    named = {"profile": "mini", "model": P.model, "system": system, "dataset": dataset}
    named |= {"metric": "f1", "demonstration_set": None}
    measured = dict.fromkeys(measures_of(dataset), values)
    ids = [f"q{number}" for number in range(len(values))]
    return pd.DataFrame({"id": ids, **measured}).assign(**named)


RIGHT = {"SearChain": 9, "DSP": 5, "IRCoT QA": 2, "CoT": 2}  # of ten questions


def runs_of(dataset):
    answers = {name: [1] * n + [0] * (10 - n) for name, n in RIGHT.items()}
    runs = [scored(name, values, dataset) for name, values in answers.items()]
    return pd.concat(runs, ignore_index=True)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs on two data sets, with their folders."""
    abouts = {}
    for dataset, (rank, system) in product(P.head_to_head, enumerate(RIGHT, start=1)):
        written = {"requests": 10 * rank, "prompt_tokens": 1000 * rank, "computed": 0}
        written["tokens"] = 100 * rank
        counts = {"Generate": written, "Sample": written}
        for kind, requests in {"Retrieve": 20, "Extract": 30, "Duplicate": 10}.items():
            counts[kind] = {"requests": requests, "computed": 0}
        about = {"dataset": dataset, "system": system, "questions": 10}
        abouts[tmp_path / dataset / system] = about | {"counts": counts}
    monkeypatch.setattr(tables, "find_runs", lambda *of, **options: abouts)
    return pd.concat([runs_of(name) for name in P.head_to_head], ignore_index=True)


def test_all_systems_of_searchain_and_those_of_ircot_with_a_reader():
    """And the measure of each data set, and F1 where IRCoT has it."""
    few = P.change(systems=["SearChain", "CoT"])
    names, named = ([system.name for system in systems_of(p)] for p in (P, few))
    assert len(names) == 26 and names[-3:] == ["NoR QA", "OneR QA", "IRCoT QA"]
    assert "SearChain" in names and named == ["CoT", "SearChain"]
    assert measures_of("musique") == ["cover_em", "f1"]
    assert measures_of("eli5") == ["rouge_l"]
    assert measures_of("fever") == ["cover_em"] and measures_of("iirc")[0] == "f1"


def test_the_big_table_has_means_tests_and_costs_of_a_question(runs):
    table = compare_all(runs, P)
    assert list(table) == head_to_head.COLUMNS
    assert list(table["metric"].unique()) == ["cover_em", "f1", "rouge_l"]
    first = table[table["metric"] == "cover_em"].set_index("system")
    assert dict(first["mean"]) == {name: 10.0 * n for name, n in RIGHT.items()}
    assert list(first.loc["DSP", head_to_head.COSTS]) == [400, 40, 4, 2, 3, 1]
    assert pd.isna(first.at["SearChain", "p_against_best"])
    assert pd.isna(first.at["IRCoT QA", "p_against_ircot"])
    names = ["CoT", "DSP", "IRCoT QA"]  # tested at once, against the best
    values = runs_of("hotpotqa").pivot(index="id", columns="system", values="f1")
    differences = values[names].sub(values["SearChain"], axis=0)
    expected = holm(differences.apply(paired_p)).round(4)
    assert list(first.loc[names, "p_against_best"]) == list(expected)
    assert expected["IRCoT QA"] < 0.05 and first.at["CoT", "p_against_ircot"] == 1
    assert list(first.loc[["SearChain", "CoT"], "reported"]) == [56.91, 35.04]
    reported = table[table["metric"] == "f1"].set_index("system")["reported"]
    assert reported["IRCoT QA"] == 60.7 and pd.isna(reported["DSP"])


def test_means_over_data_sets(runs):
    means = head_to_head.average(compare_all(runs, P)).set_index("system")
    assert dict(means["mean"]) == {name: 10.0 * n for name, n in RIGHT.items()}
    assert means.at["DSP", "tokens"] == 440
    some = runs[(runs["dataset"] == "eli5") | (runs["system"] != "CoT")]
    assert "CoT" not in set(head_to_head.average(compare_all(some, P))["system"])


def test_how_certain_the_means_are():
    """Of two data sets, one has half as many questions; each counts as much."""
    six = {"SearChain": [1] * 6, "DSP": [0] * 6, "CoT": [1, 1, 1, 1, 1, 0]}
    three = dict.fromkeys(("SearChain", "DSP", "CoT", "Self-Ask"), [1] * 3)
    three["DSP"] = [1, 0, 0]
    runs = [scored(name, values) for name, values in six.items()]
    runs += [scored(name, values, "fever") for name, values in three.items()]
    texts = [scored(name, [0.5] * 4, "eli5") for name in three]
    runs = head_to_head.of_answers(pd.concat([*runs, *texts], ignore_index=True))
    table = head_to_head.compare_means(runs).set_index("system")
    assert set(table.index) == {*six}  # Self-Ask was not run on both
    assert list(table.loc["SearChain", ["low", "high"]]) == [100, 100]
    dsp, cot = table.loc["DSP"], table.loc["CoT"]
    assert dsp["difference"] == pytest.approx(-(100 + 200 / 3) / 2, abs=0.01)
    assert dsp["low"] == 0 and dsp["difference_high"] == dsp["high"] - 100 <= -50
    assert dsp["p"] == round(2 / 2**8, 4) and cot["p"] == 1  # eight losses; one
    assert dsp["p_holm"] == round(4 / 2**8, 4)
    assert cot["difference"] == pytest.approx(-8.33)
    alone = head_to_head.compare_means(runs[runs["system"] == "CoT"])
    assert alone["p"].isna().all() and len(alone) == 1
    assert set(head_to_head.of_open_answers(runs)["dataset"]) == {"hotpotqa"}
    assert len(head_to_head.of_open_answers(runs[runs["dataset"] == "fever"]))
    assert head_to_head.compare_means(runs[:0]).empty


def test_what_a_model_fails_at_and_with_right_replies_are_in_its_folder(tmp_path):
    table = pd.DataFrame({"dataset": ["hotpotqa", "musique"]})
    p = read_parameters("mini", {"model": str(tmp_path)})
    systems = choose_systems(["ReAct", "OneR QA"])
    assert find_failures(systems, p) == {"OneR QA": "", "ReAct": ""}
    assert with_right_replies(table, p).empty
    gate = "stage,gate\nreact/act,fails\nircot/cot,fails\nircot/direct,passes\n"
    (tmp_path / "gate.csv").write_text(gate)
    gold = "dataset,system,gold\nhotpotqa,ReAct,90\nmusique,ReAct,80\nfever,ReAct,0\n"
    (tmp_path / "gold.csv").write_text(gold)
    assert find_failures(systems, p) == {"OneR QA": "ircot/cot", "ReAct": "react/act"}
    assert dict(with_right_replies(table, p)) == {"ReAct": 85}
