"""Tables as notebooks show them."""

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

from ircotlib.results.shown import as_texts, show_sorted, show_table, spread, title_of

LONG = pd.DataFrame(
    {
        "dataset": ["2wikimultihopqa", "musique"] * 2,
        "system": ["OneR QA", "OneR QA", "SearChain w/o IR", "SearChain w/o IR"],
        "ours": [10.04, 9.5, None, None],
        "paper": [30.0, None, 12.0, 13.0],
    }
)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("2wikimultihopqa", "2WikiMQA"),
        ("musique_3hop", "MuSiQue, 3hop"),
        ("data/models/mini-xxl", "mini-xxl"),
        ("data/models/a against data/models/b", "a against b"),
        ("IRCoT QA w/o reader", "IRCoT QA w/o reader"),
        ("Plan-and-Solve w/ IR", "Plan-and-Solve w/ IR"),
        ("knowledge_corrected_by_ir", "corrected by retrieval"),
        ("words_in", "words in"),
    ],
)
def test_names_are_those_that_people_write(name, title):
    assert title_of(name) == title


def test_cells_are_short_and_none_is_nan():
    table = pd.DataFrame(
        {
            "model": ["data/models/a", "data/models/b"],
            "p": [0.0004, 0.25],
            "n": [1200, None],
            "mean": [12.345, float("nan")],
            "share": [0.481481, 1.0],
            "right": [True, False],
            "comparison": ["steps: musique_3hop > musique_2hop", "OneR QA > NoR QA"],
            "answers": [("Rome", "Roma"), ()],
            "deviation": [None, None],
        }
    )
    texts = as_texts(table)
    heads = [
        "model",
        "p",
        "questions",
        "mean",
        "share",
        "right",
        "comparison",
        "answers",
    ]  # none of nothing
    assert list(texts) == heads
    assert texts.to_numpy().tolist() == [
        [
            "a",
            "< 0.001",
            "1,200",
            "12.3",
            "0.48",
            "✓",
            "steps: MuSiQue, 3hop > MuSiQue, 2hop",
            "Rome, Roma",
        ],
        ["b", "0.250", "", "", "1.00", "", "OneR QA > NoR QA", ""],
    ]


def test_a_wide_table_has_ours_and_the_papers_and_says_what_is_not_measured(capsys):
    wide = as_texts(spread(LONG, "system"))
    assert wide.to_numpy().tolist() == [["OneR QA", "10.0 (30.0)", "9.5"]]
    assert list(wide) == ["system", "2WikiMQA", "MuSiQue"]
    assert capsys.readouterr().out == "Not measured here: SearChain w/o IR.\n"
    wide = as_texts(spread(LONG, "system", papers=True))
    assert wide.iloc[1].tolist() == ["SearChain w/o IR", "– (12.0)", "– (13.0)"]
    assert capsys.readouterr().out == ""


def test_a_wide_table_has_intervals_or_one_value():
    means = LONG.head(2).drop(columns=["ours", "paper"])
    means = means.assign(mean=[1.0, 2.0], low=[0.5, 1.0], high=[3.0, 4.0], p_holm=[0.0001, 0.5])
    assert spread(means, "system").to_numpy().tolist() == [["1.0 (0.5 to 3.0)", "2.0 (1.0 to 4.0)"]]
    p = spread(means, "system", value="p_holm")
    assert p.to_numpy().tolist() == [["< 0.001", "0.500"]]
    assert as_texts(spread(means.head(0), "system")).empty


def test_what_is_in_one_group_is_said_once():
    table = LONG.assign(mean=1.0).pivot_table("mean", ["dataset", "system"])
    groups = as_texts(table)["data set"].tolist()
    assert groups == ["2WikiMQA", "", "MuSiQue", ""]


def test_rows_after_the_first_unfold(monkeypatch):
    monkeypatch.setenv("IRCOT_BATCH", "1")
    shown = []
    shell = InteractiveShell.instance()
    try:
        monkeypatch.setattr(shell.display_pub, "publish", lambda data, **_: shown.append(data))
        table = pd.DataFrame({"answer": [f"a<{n}>" for n in range(17)], "recall": range(17)})
        show_table(table)
        show_sorted(table)
    finally:
        InteractiveShell.clear_instance()
    assert "<details>" not in shown[1]["text/html"] and "a&lt;14&gt;" in shown[1]["text/html"]
    first, rest = shown[0]["text/html"].split("<details><summary>2 more</summary>")
    assert '<td style="text-align:left">a&lt;14&gt;</td><td>14</td>' in first
    assert "a&lt;15&gt;" in rest and "a&lt;15&gt;" not in first
    assert shown[0]["text/plain"].endswith("14\n… 2 more")


def test_nothing_is_said_to_be_nothing(capsys):
    show_table(LONG.head(0))
    assert capsys.readouterr().out == "nothing to show\n"
