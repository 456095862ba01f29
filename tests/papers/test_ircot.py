"""IRCoT's tables with our numbers, its Tables 2 and 5, and what its claims compare."""

import pandas as pd
import pytest

from ircotlib.files import FIGURES
from ircotlib.papers import ircot
from ircotlib.papers.ircot import (
    compare_published,
    compare_readers,
    measure_ircot,
    read_ircot,
)
from ircotlib.parameters import read_parameters
from ircotlib.results.runs import read_reported


def scored(system, f1, dataset="hotpotqa", sets=1, **columns):
    """The runs of a system: one score per question; every second has another kind."""
    kinds = {"hotpotqa": ("comparison", "bridge"), "musique": ("3hop1", "2hop")}
    kind = [kinds.get(dataset, ("a", "b"))[number % 2] for number in range(len(f1))]
    named = {"dataset": dataset, "demonstrations": dataset, "system": system}
    named |= {"reader": "cot", "metric": "f1", "model": "folder/ours"}
    named |= {"style": "flan_t5", "recall": 0.5}
    table = pd.DataFrame({"id": [f"q{n}" for n in range(len(f1))], "f1": f1})
    table["em"] = (table["f1"] == 1) * 1.0
    table = table.assign(kind=kind, **named | columns)
    tables = [
        table.assign(demonstration_set=number, f1=table["f1"] * (1 - number / 10))
        for number in range(sets)
    ]
    return pd.concat(tables, ignore_index=True)


RUNS = pd.concat(
    [
        scored("OneR QA", [1, 0, 0.5, 0.5]),
        scored("OneR", [1, 0, 0.5, 0.5], metric="recall"),
        scored("IRCoT QA", [1, 1, 0, 0.5]),
        scored("IRCoT QA", [1, 0, 1, 0], dataset="musique"),
        scored("IRCoT QA w/o reader", [1, 0, 0, 0]),
    ]
)


def rows_of(table, *columns, **wanted):
    for name, value in wanted.items():
        table = table[table[name] == value]
    values = table[list(columns)].astype(object)
    return [tuple(row) for row in values.where(values.notna(), None).to_numpy()]


def test_published_systems_stand_beside_ours_on_the_same_kinds_of_question():
    table = compare_published(RUNS, "Table 1")
    shown = ["system", "paper EM", "paper F1", "ours EM", "ours F1"]
    shown += ["difference F1", "n"]
    assert rows_of(table, *shown, dataset="hotpotqa", questions="all") == [
        ("InterAug", 30.3, None, None, None, None, None),
        ("RECITE", 37.1, 48.4, None, None, None, None),
        ("ReAct", 35.1, None, None, None, None, None),
        ("IRCoT QA", 49.3, 60.7, 50.0, 62.5, 1.8, 4),
        ("OneR QA", None, None, 25.0, 50.0, None, 4),
        ("IRCoT QA w/o reader", None, None, 25.0, 25.0, None, 4),
    ]  # and no OneR, which answers nothing
    of_kind = rows_of(table, *shown, dataset="hotpotqa", questions="bridge")
    assert of_kind[1] == ("IRCoT QA", 45.8, 58.5, 50.0, 75.0, 16.5, 2)
    assert len(of_kind) == 4
    places = list(dict.fromkeys(rows_of(table, "dataset", "questions")))
    assert places == [("hotpotqa", "bridge"), ("hotpotqa", "all"), ("musique", "2hop")]
    table = compare_published(RUNS, "Table 3")
    assert ("musique", "all") in rows_of(table, "dataset", "questions")


def test_numbers_are_rounded_once():
    """82.051 is 82.1, though 82.05 may become 82.0."""
    runs = scored("IRCoT QA", [0.82051] * 2)
    table = compare_published(runs, "Table 1")
    ours = rows_of(table, "ours F1", system="IRCoT QA", questions="all")
    assert ours == [(82.1,)]
    table = compare_readers(scored("IRCoT QA", [0.34049] * 2), "Table 4")
    assert 34.0 in table["ours"].to_list()


def test_for_other_data_sets_the_tables_are_empty():
    mine = scored("IRCoT QA", [1, 0], dataset="mine", metric="em").drop(columns="f1")
    for table in (compare_published(mine, "Table 1"), compare_readers(mine, "Table 4")):
        assert table.empty and table.columns[0] == "dataset"


def test_ours_stands_beside_the_paper_with_the_same_reader_or_none():
    of_oner = scored("OneR QA", [1, 0], sets=3)
    runs = pd.concat([of_oner, scored("IRCoT QA", [1, 1], style="codex")])
    table = compare_readers(runs, "Table 4")
    shown = ["reader", "prompted as", "paper", "paper deviation", "ours"]
    shown += ["ours deviation", "difference"]
    assert rows_of(table, *shown, system="OneR QA") == [
        ("direct", "Flan-T5-XXL", 49.7, 0.5, None, None, None),
        ("direct", "GPT3", 50.7, 0.1, None, None, None),
        ("cot", "Flan-T5-XXL", 43.1, 0.7, 45.0, 5.0, 1.9),
        ("cot", "GPT3", 53.6, 0.7, None, None, None),  # no model was prompted as GPT3
    ]
    ours = rows_of(table, "ours", system="IRCoT QA")
    assert ours == [(None,), (None,), (None,), (100.0,)]
    assert len(table) == 12 and set(table["dataset"]) == {"hotpotqa"}
    table = compare_readers(RUNS, "Table 6")
    assert rows_of(table, "reader", "prompted as", "ours", dataset="hotpotqa") == [
        ("direct", "Flan-T5-XXL", None),
        (None, "Flan-T5-XXL", 25.0),
        ("cot", "GPT3", None),
        (None, "GPT3", None),
    ]


@pytest.mark.parametrize("name", ["table1", "table3", "table4", "table6"])
def test_the_kept_tables_have_every_number_of_the_paper(name):
    table = pd.read_csv(FIGURES / f"ircot_{name}.csv")
    columns = table.columns.intersection(["paper", "paper EM", "paper F1"])
    kept = sorted(table[columns].stack().dropna())
    reported = read_reported(source=f"Table {name[-1]}")["value"]
    assert kept == sorted(reported) and len(kept) > 15


NAMES = ("mini-base", "mini-xl", "mini-xxl")
SIZES = {f"data/models/{name}": "flan_t5" for name in NAMES}
SIZES["data/models/mini-causal"] = "codex"


@pytest.fixture
def everything(monkeypatch):
    """read_runs of all experiments, listed in `asked`; those in `gone` are missing."""
    asked, gone = [], set()

    def read_runs(p, experiment, shown=None, grid_of=None):
        if experiment in gone:
            raise FileNotFoundError(f"make them: --only {experiment}")
        asked.append((experiment, p.datasets))
        columns = {"model": p.model, "reader": p.reader, "dataset": p.datasets[0]}
        columns["style"] = SIZES.get(p.model, p.style)
        columns["demonstrations"] = shown or p.datasets[0]
        columns["demonstrations_shown"] = 3 if shown else 0.0
        systems = ["NoR QA", "OneR QA", "IRCoT QA", "DecomP"]
        runs = [scored(name, [n / 4, 1], **columns) for n, name in enumerate(systems)]
        for name in ("OneR", "IRCoT"):
            runs.append(scored(name, [1, 1], metric="recall", **columns))
        return pd.concat(runs)

    def find_runs(p, experiment):
        raise FileNotFoundError

    monkeypatch.setattr(ircot, "read_runs", read_runs)
    monkeypatch.setattr(ircot, "find_runs", find_runs)
    return asked, gone


def test_what_ircots_claims_compare(everything):
    asked, _ = everything
    p = read_parameters("mini", {"datasets": ["musique", "iirc"], "models": [*SIZES]})
    runs, missing = read_ircot(p)
    assert missing == []
    assert asked[0] == ("04_ircot", ["musique", "iirc"])
    assert all(row[1] == ["musique"] for row in asked if row[0] != "04_ircot")
    values = measure_ircot(p, runs)
    sides = values.groupby("measured")["side"].agg(set)
    models = values.groupby("measured")["model"].agg(lambda names: [*names.unique()])
    assert models["scores"] == models["scores with the direct reader"] == [p.model]
    assert models["scores of both models"] == [p.model, p.gpt3]
    readers = sides["both readers, prompted as Flan-T5-XXL"]
    assert {"OneR QA: cot", "OneR QA: direct"} < readers
    assert models["sizes"] == [*SIZES]
    assert models["sizes but the smallest"] == [*SIZES][1:]


def test_missing_runs_are_left_out_with_the_command_that_makes_them(everything):
    asked, gone = everything
    gone |= {"06_scale", "07_ood"}
    p = read_parameters("mini", {"datasets": ["musique", "iirc"]})
    runs, missing = read_ircot(p)
    assert missing == ["make them: --only 06_scale", "make them: --only 07_ood"]
    assert set(runs["experiment"]) == {"04_ircot"}
    measured = set(measure_ircot(p, runs)["measured"])
    assert measured.isdisjoint({"sizes", "other demonstrations"})
    gone.add("04_ircot")
    with pytest.raises(FileNotFoundError, match="--only 04_ircot"):
        read_ircot(p)
    gone -= {*gone}
    asked.clear()
    read_ircot(p.change(datasets=["iirc"]))  # not in Figures 5 to 9
    assert {row[0] for row in asked} == {"04_ircot"}


def test_other_demonstrations_count_if_they_were_another_data_sets_and_were_shown():
    p = read_parameters("mini", {"datasets": ["musique"]})
    counts = {"iirc": 3.0, "musique": 3.0, "hotpotqa": 0.98, "fever": None}
    tables = [
        scored(
            "OneR", [0.5], "musique", demonstrations=name, demonstrations_shown=count
        )
        for name, count in counts.items()
    ]
    runs = pd.concat(tables)
    values = measure_ircot(p, runs.assign(experiment="07_ood", model=p.model))
    of_other = values[values["measured"] == "other demonstrations"]
    # retrieval alone shows none
    assert list(of_other["demonstrations"]) == ["iirc", "fever"]
