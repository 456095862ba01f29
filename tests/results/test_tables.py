"""The paper's tables with our numbers, and how tables are saved."""

import numpy as np
import pandas as pd
import pytest

from ircotlib.data import Node, Prediction
from ircotlib.files import paths
from ircotlib.files.paths import FIGURES
from ircotlib.parameters import read_parameters
from ircotlib.program import Generate, Outcome, Retrieve, Sample, Step
from ircotlib.results import head_to_head
from ircotlib.results.cases import cases_as_markdown
from ircotlib.results.markdown import as_markdown, save_table
from ircotlib.results.reported import (
    KEYS,
    beside,
    compare_published,
    compare_readers,
    read_reported,
)
from ircotlib.results.runs import line_up, list_nodes


def scored(system, f1, dataset="hotpotqa", reader="cot", metric="f1", sets=1):
    """The runs of a system: one score per question; the second and fourth have another kind."""
    kinds = {"hotpotqa": ("comparison", "bridge"), "musique": ("3hop1", "2hop")}
    kind = [kinds.get(dataset, ("a", "b"))[number % 2] for number in range(len(f1))]
    named = {"dataset": dataset, "system": system, "reader": reader, "metric": metric}
    named |= {"model": "folder/ours"}
    row = {"id": [f"q{n}" for n in range(len(f1))], "kind": kind, "recall": 0.5, "f1": f1}
    one = pd.DataFrame(row).assign(em=lambda t: (t["f1"] == 1) * 1.0, **named)
    of_sets = [one.assign(f1=one["f1"] * (1 - n / 10), demonstration_set=n) for n in range(sets)]
    return pd.concat(of_sets, ignore_index=True)


RUNS = [scored("OneR QA", [1, 0, 0.5, 0.5]), scored("OneR", [1, 0, 0.5, 0.5], metric="recall")]
RUNS += [scored("IRCoT QA", [1, 1, 0, 0.5]), scored("IRCoT QA", [1, 0, 1, 0], dataset="musique")]
RUNS = pd.concat([*RUNS, scored("IRCoT QA w/o reader", [1, 0, 0, 0])], ignore_index=True)


def rows_of(table, *columns, **wanted):
    for name, value in wanted.items():
        table = table[table[name] == value]
    values = table[list(columns)].astype(object)
    return [tuple(row) for row in values.where(values.notna(), None).to_numpy()]


def test_published_systems_stand_beside_ours_on_the_same_kinds_of_question():
    table = compare_published(RUNS, "Table 1")
    shown = ("system", "paper EM", "paper F1", "ours EM", "ours F1", "difference F1", "n")
    assert rows_of(table, *shown, dataset="hotpotqa", questions="all") == [
        ("InterAug", 30.3, None, None, None, None, None),
        ("RECITE", 37.1, 48.4, None, None, None, None),
        ("ReAct", 35.1, None, None, None, None, None),
        ("IRCoT QA", 49.3, 60.7, 50.0, 62.5, 1.8, 4),
        ("OneR QA", None, None, 25.0, 50.0, None, 4),
        ("IRCoT QA w/o reader", None, None, 25.0, 25.0, None, 4),
    ]  # and no OneR, which answers nothing
    of_kind = rows_of(table, *shown, dataset="hotpotqa", questions="bridge")
    assert len(of_kind) == 4 and of_kind[1] == ("IRCoT QA", 45.8, 58.5, 50.0, 75.0, 16.5, 2)
    places = list(dict.fromkeys(rows_of(table, "dataset", "questions")))
    assert places == [("hotpotqa", "bridge"), ("hotpotqa", "all"), ("musique", "2hop")]
    assert ("musique", "all") in rows_of(compare_published(RUNS, "Table 3"), "dataset", "questions")


def test_rivals_are_the_agents_from_the_head_to_head(monkeypatch):
    rivals = [scored(name, [1, 1, 1, 0]) for name in ("InterAug", "IRCoT QA", "CoT")]
    rivals = pd.concat(rivals).assign(model="folder/agent")
    monkeypatch.setattr(head_to_head, "has_runs", lambda p, experiment: True)
    monkeypatch.setattr(head_to_head, "read_runs", lambda p, experiment: rivals)
    p = read_parameters("mini", {"datasets": ["hotpotqa", "iirc"]})
    table = compare_published(head_to_head.with_rivals(RUNS, p), "Table 1")
    shown = rows_of(table, "system", "ours EM", "our model", dataset="hotpotqa", questions="all")
    assert shown[0] == ("InterAug", 75.0, "agent") and ("IRCoT QA", 50.0, "ours") in shown
    assert "CoT" not in set(table["system"])  # the paper's tables do not have it
    monkeypatch.setattr(head_to_head, "has_runs", lambda p, experiment: False)
    assert head_to_head.with_rivals(RUNS, p) is RUNS


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


def test_a_table_stands_beside_another_by_our_names_of_systems():
    papers = read_reported("searchain", source="Table 3(b)", dataset="musique")
    ours = pd.DataFrame({"dataset": "musique", "system": ["ReAct", "ReAct -> CoT-SC"]})
    ours = ours.assign(metric="misled_by_ir", ours=[5.0, 6.0])
    table = beside(papers, ours, rest=True)
    assert "name" not in table and list(table["system"][:-1]) == list(papers["system"])
    assert dict(zip(table["system"], table["ours"]))["React"] == 5  # as the paper writes it
    assert tuple(table.iloc[-1][["system", "ours"]]) == ("ReAct -> CoT-SC", 6)
    table = beside(ours, papers[[*KEYS, "name", "value"]])
    assert list(table["system"]) == list(ours["system"]) and table["value"].count() == 1
    twice = beside(papers, pd.concat([ours, ours.assign(ours=9.0)]))
    assert len(twice) == len(papers) and twice["ours"].max() == 5


COLUMNS = ["dataset", "model", "p", "ours", "n", "claim"]
TABLE = [
    ("musique", "data/models/mini-xl against data/models/mini-xxl", 0.0142, 82.5, 40, "a | b"),
    ("mine", np.nan, np.nan, -1.0, None, "c"),
    ("mine", "m", 0.00004, 1.0, 3, "no p is 0"),
]
TABLE = pd.DataFrame(TABLE, columns=COLUMNS).astype({"n": "Int64"})


def test_a_table_in_markdown_has_names_and_even_decimals():
    assert as_markdown(TABLE).splitlines() == [
        "| dataset | model | p | ours | n | claim |",
        "| --- | --- | --- | --- | --- | --- |",
        "| MuSiQue | mini-xl against mini-xxl | 0.0142 | 82.5 | 40 | a \\| b |",
        "| mine |  |  | -1.0 |  | c |",
        "| mine | m | < 0.0001 | 1.0 | 3 | no p is 0 |",
    ]


def test_a_table_is_kept_as_csv_and_markdown(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "FIGURES", tmp_path / "figures")
    save_table(TABLE, "table", "What it is.")
    save_table(TABLE, "table", "What it is.", read_parameters("sample"))
    endings = ("csv", "md", "tex")
    names = [f"{name}.{end}" for name in ("table", "table_sample") for end in endings]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == names
    kept = pd.read_csv(tmp_path / "figures/table.csv")
    pd.testing.assert_frame_equal(kept, TABLE, check_dtype=False)
    text = (tmp_path / "figures/table.md").read_text(encoding="utf-8")
    assert text == f"What it is.\n\n{as_markdown(TABLE)}\n"


@pytest.mark.parametrize("name", ["claims", *(f"table{n}" for n in range(1, 7))])
def test_the_kept_markdown_is_that_of_the_kept_csv(name):
    write = cases_as_markdown if name in ("table2", "table5") else as_markdown
    options = {"dtype": str} if write is cases_as_markdown else {"dtype": {"n": "Int64"}}
    table = pd.read_csv(FIGURES / f"ircot_{name}.csv", **options)
    text = (FIGURES / f"ircot_{name}.md").read_text(encoding="utf-8")
    assert text.partition("\n\n")[2] == f"{write(table)}\n"


@pytest.mark.parametrize("name", ["table1", "table3", "table4", "table6"])
def test_the_kept_tables_have_every_number_of_the_paper(name):
    table = pd.read_csv(FIGURES / f"ircot_{name}.csv")
    columns = [column for column in ("paper", "paper EM", "paper F1") if column in table]
    kept = sorted(table[columns].stack().dropna())
    assert kept == sorted(read_reported(source=f"Table {name[-1]}")["value"]) and len(kept) > 15


def test_what_systems_say_of_one_question_stands_side_by_side():
    trace = Step(Retrieve("Who?", 2), (), True), Step(Generate("Q"), "A", True, 5, 2)
    trace += Step(Retrieve("He?", 2), (), False), Step(Sample("Q", 3), (), False, 9, 6)
    fault = "no answer in 1 of 3 chains"
    outcomes = {"one": Outcome("q", Prediction("A", fault=fault), trace)}
    table = line_up(outcomes | {"two": Outcome("q", Prediction("B"), trace[:1])})
    assert [tuple(row) for row in table.to_numpy()] == [
        ("one", "A", 2, 0, 4, 14, 8, fault),
        ("two", "B", 1, 0, 0, 0, 0, ""),
    ]


def test_a_tree_of_reasoning_as_a_table():
    table = list_nodes((Node("Who?", "He", 1, 1), Node("Where?", "", 1, 2, True, after=0)))
    assert list(table["query"]) == ["Who?", "Where?"] and list(table["unsolved"]) == [False, True]
    assert list(list_nodes(())) == list(table) and list_nodes(()).empty
