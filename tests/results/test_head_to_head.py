"""The big table of all systems: its tests, costs and front, from runs written by hand."""

from itertools import product

import pandas as pd
import pytest

from ircotlib.parameters import read_parameters
from ircotlib.results import head_to_head
from ircotlib.results import runs as tables
from ircotlib.results.head_to_head import (
    compare_all,
    measures_of,
    systems_of,
)
from ircotlib.results.statistics import holm, paired_p

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
    runs = [
        scored(name, [1] * n + [0] * (10 - n), dataset) for name, n in RIGHT.items()
    ]
    return pd.concat(runs, ignore_index=True)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs on two data sets, with their folders."""
    abouts = {}
    for dataset, (rank, system) in product(P.head_to_head, enumerate(RIGHT, start=1)):
        kinds = {
            "requests": 10 * rank,
            "prompt_tokens": 1000 * rank,
            "tokens": 100 * rank,
        }
        counts = {"Retrieve": {"requests": 20}, "Generate": kinds, "Sample": kinds}
        counts |= {"Extract": {"requests": 30}, "Duplicate": {"requests": 10}}
        counts = {kind: {"computed": 0} | of for kind, of in counts.items()}
        about = {
            "dataset": dataset,
            "system": system,
            "counts": counts,
            "questions": 10,
        }
        abouts[tmp_path / dataset / system] = about
    monkeypatch.setattr(tables, "find_runs", lambda *of, **options: abouts)
    return pd.concat([runs_of(name) for name in P.head_to_head], ignore_index=True)


def test_all_systems_of_searchain_and_those_of_ircot_with_a_reader():
    few = P.change(systems=["SearChain", "CoT"])
    names, named = ([system.name for system in systems_of(p)] for p in (P, few))
    assert len(names) == 26 and names[-3:] == ["NoR QA", "OneR QA", "IRCoT QA"]
    assert "SearChain" in names and named == ["CoT", "SearChain"]


def test_each_data_set_has_its_measure_and_f1_where_ircot_has_it():
    assert measures_of("musique") == ["cover_em", "f1"] and measures_of("eli5") == [
        "rouge_l"
    ]
    assert measures_of("fever") == ["cover_em"] and measures_of("iirc")[0] == "f1"


def test_the_big_table_has_means_tests_and_costs_of_a_question(runs):
    table = compare_all(runs, P)
    assert list(table) == head_to_head.COLUMNS
    assert list(table["metric"].unique()) == ["cover_em", "f1", "rouge_l"]
    first = table[table["metric"] == "cover_em"].set_index("system")
    assert dict(first["mean"]) == {name: 10.0 * n for name, n in RIGHT.items()}
    assert list(first.loc["DSP", head_to_head.COSTS]) == [
        400.0,
        40.0,
        4.0,
        2.0,
        3.0,
        1.0,
    ]
    assert pd.isna(first.at["SearChain", "p_against_best"])
    assert pd.isna(first.at["IRCoT QA", "p_against_ircot"])
    names = ["CoT", "DSP", "IRCoT QA"]  # tested at once, against the best
    values = runs_of("hotpotqa").pivot(index="id", columns="system", values="f1")
    expected = holm(
        values[names].sub(values["SearChain"], axis=0).apply(paired_p)
    ).round(4)
    assert list(first.loc[names, "p_against_best"]) == list(expected)
    assert expected["IRCoT QA"] < 0.05 and first.at["CoT", "p_against_ircot"] == 1
    assert (
        first.at["SearChain", "reported"] == 56.91
        and first.at["CoT", "reported"] == 35.04
    )
    of_f1 = table[table["metric"] == "f1"].set_index("system")
    assert of_f1.at["IRCoT QA", "reported"] == 60.7 and pd.isna(
        of_f1.at["DSP", "reported"]
    )


def test_means_over_data_sets(runs):
    means = head_to_head.average(compare_all(runs, P)).set_index("system")
    assert dict(means["mean"]) == {name: 10.0 * n for name, n in RIGHT.items()}
    assert means.at["DSP", "tokens"] == 440
    some = runs[(runs["dataset"] == "eli5") | (runs["system"] != "CoT")]
    assert "CoT" not in set(head_to_head.average(compare_all(some, P))["system"])


def test_how_certain_the_means_are():
    """Two data sets, one with half as many questions: each counts as much as the other."""
    six = {"SearChain": [1] * 6, "DSP": [0] * 6, "CoT": [1, 1, 1, 1, 1, 0]}
    three = {
        "SearChain": [1] * 3,
        "DSP": [1, 0, 0],
        "CoT": [1] * 3,
        "Self-Ask": [1] * 3,
    }
    runs = [scored(name, values) for name, values in six.items()]
    runs += [scored(name, values, "fever") for name, values in three.items()]
    texts = [scored(name, [0.5] * 4, "eli5") for name in three]
    runs = head_to_head.of_answers(pd.concat([*runs, *texts], ignore_index=True))
    table = head_to_head.compare_means(runs).set_index("system")
    assert set(table.index) == {*six}  # Self-Ask was not run on both
    assert list(table.loc["SearChain", ["low", "high", "same_as"]]) == [100, 100, ""]
    dsp, cot = table.loc["DSP"], table.loc["CoT"]
    assert dsp["difference"] == pytest.approx(-(100 + 200 / 3) / 2, abs=0.01)
    assert dsp["low"] == 0 and dsp["difference_high"] == dsp["high"] - 100 <= -50
    assert dsp["p"] == round(2 / 2**8, 4) and cot["p"] == 1  # eight losses; one
    assert dsp["p_holm"] == round(4 / 2**8, 4) and cot["difference"] == pytest.approx(
        -8.33
    )
    twin = runs[runs["system"] == "DSP"].assign(system="DSP again")
    both = head_to_head.compare_means(pd.concat([runs, twin])).set_index("system")
    assert (
        both.loc["DSP again", "same_as"] == "DSP" and both.loc["DSP again", "low"] == 0
    )
    # not compared twice
    assert both["p_holm"].dropna().equals(table["p_holm"].dropna())
    alone = head_to_head.compare_means(runs[runs["system"] == "CoT"])
    assert alone["p"].isna().all() and len(alone) == 1
    assert set(head_to_head.of_open_answers(runs)["dataset"]) == {"hotpotqa"}
    assert len(head_to_head.of_open_answers(runs[runs["dataset"] == "fever"]))
    assert head_to_head.compare_means(runs[:0]).empty
