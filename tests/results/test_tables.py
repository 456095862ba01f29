"""Tables as notebooks show them, and as files."""

import pandas as pd
import pytest

from ircotlib import files
from ircotlib.parameters import read_parameters
from ircotlib.results.tables import as_texts, pivot, save_table, show_table, title_of

LONG = pd.DataFrame(
    {
        "dataset": ["2wikimultihopqa", "musique"] * 2,
        "system": ["OneR QA", "OneR QA", "SearChain w/o IR", "SearChain w/o IR"],
        "ours": [10.04, 9.5, None, None],
        "paper": [30.0, None, 12.0, 13.0],
    }
)


TITLES = {
    "2wikimultihopqa": "2WikiMQA",
    "cover_em": "cover-EM",
    "data/models/mini-xxl": "mini-xxl",
    "Plan-and-Solve w/ IR": "Plan-and-Solve w/ IR",
    # systems: "low", "n" and "k" are measures or columns only when they stand alone
    "low_resource": "low resource",
    "k_best": "k best",
}


@pytest.mark.parametrize(("name", "title"), TITLES.items())
def test_names_are_those_that_people_write(name, title):
    assert title_of(name) == title


NAMES = ("musique_reader", "low_resource", "TCP/IP", "own_words")


def test_names_of_systems_stay(monkeypatch):
    known = dict.fromkeys(NAMES)
    monkeypatch.setattr("ircotlib.results.tables.all_systems", lambda: known)
    assert tuple(map(title_of, NAMES)) == NAMES
    assert (title_of("low"), title_of("musique_2hop")) == ("95% from", "MuSiQue, 2hop")


def test_cells_are_short_and_none_is_nan():
    table = pd.DataFrame(
        {
            "model": ["data/models/a", "data/models/b"],
            "p": [0.0004, 0.25],
            "n": [1200, None],
            "mean": [-0.04, float("nan")],
            "share": [0.481481, 1.0],
            "right": [True, False],
            "answers": [("Rome", "Roma"), ()],
            "deviation": [None, None],  # of nothing, so that it is left out
        }
    )
    texts = as_texts(table)
    heads = ["model", "p", "questions", "mean", "share", "right", "answers"]
    assert list(texts) == heads
    assert texts.to_numpy().tolist() == [
        ["a", "< 0.001", "1,200", "-0.04", "0.48", "✓", "Rome, Roma"],
        ["b", "0.250", "", "", "1.00", "", ""],
    ]


def test_a_wide_table_has_ours_and_the_papers_or_intervals_or_one_value():
    wide = as_texts(pivot(LONG, "system"))
    assert list(wide) == ["system", "2WikiMQA", "MuSiQue"]
    assert wide.to_numpy().tolist() == [
        ["OneR QA", "10.0 [30.0]", "9.5"],
        ["SearChain w/o IR", "– [12.0]", "– [13.0]"],
    ]
    means = LONG.head(2).drop(columns=["ours", "paper"])
    means = means.assign(mean=[1.0, 2.0], low=[0.5, 1.0], high=[3.0, 4.0])
    wide = pivot(means, "system")
    assert wide.to_numpy().tolist() == [["1.0 (0.5 to 3.0)", "2.0 (1.0 to 4.0)"]]
    wide = pivot(means.assign(p_holm=[0.0001, 0.5]), "system", value="p_holm")
    assert wide.to_numpy().tolist() == [[0.0001, 0.5]]
    assert pivot(means.head(0), "system").empty


def test_a_notebook_shows_texts_and_says_that_there_is_nothing(capsys):
    show_table(LONG.assign(mean=1.0).pivot_table("mean", ["dataset", "system"]))
    lines = capsys.readouterr().out.splitlines()
    # what is in one group is said once
    groups = ["2WikiMQA", "SearChain", "MuSiQue", "SearChain"]
    assert [line.split()[0] for line in lines] == ["mean", "data", *groups]
    show_table(LONG.head(0))
    assert "nothing to show" in capsys.readouterr().out


ROWS = [
    ("[Query 1] of 5 Ω ≤ 6", "musique", 0.00004, "A | B & C_D", -1.0),
    ("*starred*", "iirc", 0.5, "50% → x\ny", 2.04),
]
TABLE = pd.DataFrame(ROWS, columns=["first", "dataset", "p_holm", "system", "ours"])


def test_a_table_is_kept_as_csv_and_markdown(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FIGURES", tmp_path)
    save_table(TABLE, "table", "What it is.", read_parameters("mini"))
    names = ["table.csv", "table.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    written = pd.read_csv(tmp_path / "table.csv")
    pd.testing.assert_frame_equal(written, TABLE, check_dtype=False)
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert text.splitlines() == [
        "What it is.",
        "",
        "| first | data set | p (Holm) | system | ours |",
        "| --- | --- | --- | --- | --- |",
        "| [Query 1] of 5 Ω ≤ 6 | MuSiQue | < 0.001 | A \\| B & C_D | -1.0 |",
        "| \\*starred\\* | IIRC | 0.500 | 50% → x<br>y | 2.0 |",
    ]
