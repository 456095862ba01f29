"""Figures draw the numbers they are given, and the same numbers give the same bytes."""

import matplotlib
import pandas as pd
import pytest

matplotlib.use("Agg")

from ircotlib import figures
from ircotlib.analysis import COLUMNS

ROWS = [
    ("mini", "mini", "m", "OneR", "recall", 50.0, 45.0, 55.0, 500, None),
    ("mini", "mini", "m", "IRCoT", "recall", 97.5, 96.0, 99.0, 500, None),
    ("paper", "hotpotqa", "GPT3", "IRCoT", "recall_gain", None, None, None, None, 11.3),
    ("paper", "musique", "GPT3", "IRCoT", "recall_gain", None, None, None, None, 12.5),
]
TABLE = pd.DataFrame(ROWS, columns=COLUMNS)


def heights(axis):
    return [round(patch.get_height(), 2) for patch in axis.patches]


def test_bars_are_the_table():
    figure = figures.draw_with_reported(TABLE, "title: profile mini", "recall, %", "gain, points")
    ours, papers = figure.axes
    assert heights(ours) == [50.0, 97.5]
    assert heights(papers) == [11.3, 12.5]
    assert figure.get_suptitle() == "title: profile mini"
    assert [label.get_text() for label in papers.get_xticklabels()] == ["HotpotQA", "MuSiQue"]
    low, high = ours.containers[0].lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == (45.0, 55.0)


def test_one_scale_where_both_sides_show_the_same_metric():
    figure = figures.draw_with_reported(TABLE, "t", "answer F1, %")
    assert {axis.get_ylim() for axis in figure.axes} == {(0.0, 105.0)}


def test_recall_by_k():
    table = pd.DataFrame({"dataset": "musique", "k": [5, 15], "recall": [48.85, 64.48], "n": 210, "paragraphs": 3298})
    (axis,) = figures.draw_recall_by_k(table, "t").axes
    assert axis.lines[0].get_xydata().tolist() == [[5.0, 48.85], [15.0, 64.48]]


@pytest.mark.parametrize("name", ["png", "csv"])
def test_saved_twice_the_bytes_are_the_same(tmp_path, monkeypatch, name):
    saved = []
    for folder in ("a", "b"):
        monkeypatch.setattr(figures, "FIGURES", tmp_path / folder)
        figures.save_figure(figures.draw_with_reported(TABLE, "t", "recall, %"), TABLE, "figure")
        saved.append((tmp_path / folder / f"figure.{name}").read_bytes())
    assert saved[0] == saved[1]
