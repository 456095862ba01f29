"""The paper's tables with our numbers, and how tables are saved."""

import csv

import numpy as np
import pandas as pd
import pytest

from ircotlib.data import Node, Prediction
from ircotlib.files.paths import FIGURES
from ircotlib.program import Generate, Outcome, Retrieve, Sample, Step
from ircotlib.results import tables_ircot as tables
from ircotlib.results.cases import cases_as_markdown
from ircotlib.results.tables_ircot import (
    as_markdown,
    compare_published,
    compare_readers,
    line_up,
    list_nodes,
    save_table,
)


def scored(system, f1, dataset="hotpotqa", reader="cot", metric="f1", sets=1):
    """The runs of a system: one score per question; the second and fourth have another kind."""
    kinds = {"hotpotqa": ("comparison", "bridge"), "musique": ("3hop1", "2hop")}
    kind = [kinds.get(dataset, ("a", "b"))[number % 2] for number in range(len(f1))]
    named = {"dataset": dataset, "system": system, "reader": reader, "metric": metric}
    row = {"id": [f"q{n}" for n in range(len(f1))], "kind": kind, "recall": 0.5, "f1": f1}
    one = pd.DataFrame(row).assign(em=lambda t: (t["f1"] == 1) * 1.0, **named)
    of_sets = [one.assign(f1=one["f1"] * (1 - n / 10), demonstration_set=n) for n in range(sets)]
    return pd.concat(of_sets, ignore_index=True)


RUNS = pd.concat(
    [
        scored("OneR QA", [1, 0, 0.5, 0.5]),
        scored("OneR", [1, 0, 0.5, 0.5], metric="recall"),
        scored("IRCoT QA", [1, 1, 0, 0.5]),
        scored("IRCoT QA", [1, 0, 1, 0], dataset="musique"),
        scored("IRCoT QA w/o reader", [1, 0, 0, 0]),
    ],
    ignore_index=True,
)


def rows_of(table, *columns, **wanted):
    for name, value in wanted.items():
        table = table[table[name] == value]
    return [
        tuple(None if pd.isna(x) else x for x in row) for row in table[list(columns)].to_numpy()
    ]


def test_published_systems_stand_beside_ours_on_the_same_kinds_of_question():
    table = compare_published(RUNS, "Table 1")
    assert list(table) == [
        *("dataset", "questions", "system", "model", "paper EM", "paper F1", "ours EM", "ours F1"),
        *("difference EM", "difference F1", "n"),
    ]
    shown = ("system", "paper EM", "paper F1", "ours EM", "ours F1", "difference F1", "n")
    assert rows_of(table, *shown, dataset="hotpotqa", questions="all") == [
        ("InterAug", 30.3, None, None, None, None, None),
        ("RECITE", 37.1, 48.4, None, None, None, None),
        ("ReAct", 35.1, None, None, None, None, None),
        ("IRCoT QA", 49.3, 60.7, 50.0, 62.5, 1.8, 4),
        ("OneR QA", None, None, 25.0, 50.0, None, 4),
        ("IRCoT QA w/o reader", None, None, 25.0, 25.0, None, 4),
    ]  # and no OneR, which answers nothing
    assert rows_of(table, *shown, dataset="hotpotqa", questions="bridge") == [
        ("DecomP (2022)", None, 50.0, None, None, None, None),
        ("IRCoT QA", 45.8, 58.5, 50.0, 75.0, 16.5, 2),
        ("OneR QA", None, None, 0.0, 25.0, None, 2),
        ("IRCoT QA w/o reader", None, None, 0.0, 0.0, None, 2),
    ]
    places = list(dict.fromkeys(rows_of(table, "dataset", "questions")))
    assert places == [("hotpotqa", "bridge"), ("hotpotqa", "all"), ("musique", "2hop")]
    assert ("musique", "all") in rows_of(compare_published(RUNS, "Table 3"), "dataset", "questions")


def test_of_other_data_sets_the_tables_are_empty():
    mine = scored("IRCoT QA", [1, 0], dataset="mine", metric="em").drop(columns="f1")
    for table in (compare_published(mine, "Table 1"), compare_readers(mine, "Table 4")):
        assert table.empty and table.columns[0] == "dataset"


def test_ours_stands_beside_the_paper_with_the_same_reader():
    runs = pd.concat([scored("OneR QA", [1, 0], sets=3), scored("IRCoT QA", [1, 1])])
    table = compare_readers(runs, "Table 4")
    shown = ("reader", "model", "paper", "paper deviation", "ours", "ours deviation", "difference")
    assert rows_of(table, *shown, system="OneR QA") == [
        ("direct", "Flan-T5-XXL", 49.7, 0.5, None, None, None),
        ("direct", "GPT3", 50.7, 0.1, None, None, None),
        ("cot", "Flan-T5-XXL", 43.1, 0.7, 45.0, 5.0, 1.9),
        ("cot", "GPT3", 53.6, 0.7, 45.0, 5.0, -8.6),
    ]
    assert len(table) == 12 and set(table["dataset"]) == {"hotpotqa"}
    both = pd.concat([runs, scored("OneR QA", [1, 1], reader="direct")])
    found = rows_of(compare_readers(both, "Table 4"), "reader", "ours", system="OneR QA")
    assert found == [("direct", 100.0), ("direct", 100.0), ("cot", 45.0), ("cot", 45.0)]


def test_ours_without_a_reader_stands_beside_both_models():
    runs = pd.concat([RUNS, scored("IRCoT QA", [1, 1, 1, 0], reader="direct")])
    table = compare_readers(runs, "Table 6")
    assert rows_of(table, "system", "reader", "model", "paper", "ours", dataset="hotpotqa") == [
        ("IRCoT QA", "direct", "Flan-T5-XXL", 59.1, 75.0),
        ("IRCoT QA w/o reader", None, "Flan-T5-XXL", 52.6, 25.0),
        ("IRCoT QA", "cot", "GPT3", 60.7, 62.5),
        ("IRCoT QA w/o reader", None, "GPT3", 61.0, 25.0),
    ]
    assert list(dict.fromkeys(table["dataset"])) == ["hotpotqa", "musique"]


TABLE = pd.DataFrame(
    {
        "dataset": ["musique", "mine"],
        "model": ["data/models/mini-xl against data/models/mini-xxl", np.nan],
        "p": [0.0142, np.nan],
        "ours": [82.5, -1.0],
        "n": pd.array([40, None], "Int64"),
        "claim": ["a | b", "c"],
    }
)


def test_a_table_in_markdown_has_names_and_even_decimals():
    assert as_markdown(TABLE).splitlines() == [
        "| dataset | model | p | ours | n | claim |",
        "| --- | --- | --- | --- | --- | --- |",
        "| MuSiQue | mini-xl against mini-xxl | 0.0142 | 82.5 | 40 | a \\| b |",
        "| mine |  |  | -1.0 |  | c |",
    ]


def test_a_table_is_kept_as_csv_and_markdown(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "FIGURES", tmp_path / "figures")
    save_table(TABLE, "table", "What it is.")
    save_table(TABLE, "table", "What it is.", "sample")
    names = ["table.csv", "table.md", "table_sample.csv", "table_sample.md"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == names
    kept = pd.read_csv(tmp_path / "figures/table.csv")
    pd.testing.assert_frame_equal(kept, TABLE, check_dtype=False)
    text = (tmp_path / "figures/table.md").read_text(encoding="utf-8")
    assert text == f"What it is.\n\n{as_markdown(TABLE)}\n"


@pytest.mark.parametrize("name", ["claims", "table1", "table3", "table4", "table6"])
def test_the_kept_markdown_is_that_of_the_kept_csv(name):
    table = pd.read_csv(FIGURES / f"ircot_{name}.csv").astype({"n": "Int64"})
    text = (FIGURES / f"ircot_{name}.md").read_text(encoding="utf-8")
    assert text.partition("\n\n")[2] == f"{as_markdown(table)}\n"


@pytest.mark.parametrize("name", ["table2", "table5"])
def test_the_kept_cases_are_those_of_the_kept_csv(name):
    table = pd.read_csv(FIGURES / f"ircot_{name}.csv", dtype=str)
    text = (FIGURES / f"ircot_{name}.md").read_text(encoding="utf-8")
    assert text.partition("\n\n")[2] == f"{cases_as_markdown(table)}\n"


@pytest.mark.parametrize("name", ["table1", "table3", "table4", "table6"])
def test_the_kept_tables_have_every_number_of_the_paper(name):
    with (FIGURES / f"ircot_{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = [column for column in rows[0] if column in ("paper", "paper EM", "paper F1")]
    kept = sorted(float(row[column]) for row in rows for column in columns if row[column])
    source = f"Table {name[-1]}"
    assert kept == sorted(tables.read_reported(source=source)["value"]) and len(kept) > 15


# One question


def test_what_systems_say_of_one_question_stands_side_by_side():
    trace = (
        Step(Retrieve("Who?", 2), (), True),
        Step(Generate("Q"), "A", True, 5, 2),
        Step(Retrieve("He?", 2), (), False),
        Step(Sample("Q", 3), (), False, 9, 6),
    )
    outcomes = {
        "one": Outcome("q", Prediction("A", fault="no answer in 1 of 3 chains"), trace),
        "two": Outcome("q", Prediction("B"), trace[:1]),
    }
    assert line_up(outcomes).to_dict("records") == [
        {"system": "one", "answer": "A", "retrievals": 2, "texts": 4, "tokens read": 14}
        | {"tokens written": 8, "not parsed": "no answer in 1 of 3 chains"},
        {"system": "two", "answer": "B", "retrievals": 1, "texts": 0, "tokens read": 0}
        | {"tokens written": 0, "not parsed": ""},
    ]


def test_a_tree_of_reasoning_as_a_table():
    table = list_nodes((Node("Who?", "He", 1, 1), Node("Where?", "", 1, 2, True, after=0)))
    assert list(table["query"]) == ["Who?", "Where?"] and list(table["unsolved"]) == [False, True]
    assert list(list_nodes(())) == list(table) and list_nodes(()).empty
