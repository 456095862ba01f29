"""Figures draw the numbers they are given, and the same numbers give the same bytes."""

import matplotlib
import pandas as pd
import pytest
from matplotlib import pyplot

matplotlib.use("Agg")

from ircotlib.data import Node
from ircotlib.results import figures_ircot as figures
from ircotlib.results.drawing import draw_tree
from ircotlib.results.reported import COLUMNS

ROWS = [
    ("mini", "hotpotqa", "m", "OneR", "recall", 50.0, 45.0, 55.0, 1.0, 500, None),
    ("mini", "hotpotqa", "m", "IRCoT", "recall", 97.5, 96.0, 99.0, None, 500, None),
    ("paper", "hotpotqa", "GPT3", "IRCoT", "recall_gain", None, None, None, None, None, 11.3),
    ("paper", "musique", "GPT3", "IRCoT", "recall_gain", None, None, None, None, None, 12.5),
]
TABLE = pd.DataFrame(ROWS, columns=COLUMNS)


@pytest.fixture(autouse=True)
def closed():
    """Every figure is closed at the end of its test."""
    yield
    pyplot.close("all")


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
    table = pd.DataFrame(
        {"dataset": "musique", "k": [5, 15], "recall": [48.85, 64.48], "n": 210, "paragraphs": 3298}
    )
    (axis,) = figures.draw_recall_by_k(table, "t").axes
    assert axis.lines[0].get_xydata().tolist() == [[5.0, 48.85], [15.0, 64.48]]


SIZES = pd.DataFrame(
    [
        (dataset, f"data/models/mini-{size}", parameters, style, system, mean, mean - 3, mean + 2)
        for dataset, up in (("hotpotqa", 0), ("musique", 1))
        for size, parameters, style, means in (
            ("base", 0.14, "flan_t5", (50, 55)),
            ("xl", 1.3, "flan_t5", (60, 90)),
            ("causal", 1.1, "codex", (20, 30)),
        )
        for system, mean in zip(
            ("OneR QA", "IRCoT QA"), (means[0] + up, means[1] + up), strict=True
        )
    ],
    columns=["dataset", "model", "parameters", "style", "system", "mean", "low", "high"],
)


def test_means_by_size_with_a_line_through_models_of_one_style():
    figure = figures.draw_by_size(SIZES, "by size", "answer F1, %")
    hotpotqa, musique = figure.axes
    assert [axis.get_title() for axis in figure.axes] == [
        "HotpotQA",
        "MuSiQue",
    ] and figure.get_suptitle() == "by size"
    lines = [line.lines[0].get_xydata().tolist() for line in musique.containers]
    assert lines == [[[0, 51], [1, 61]], [[0, 56], [1, 91]], [[2, 21]], [[2, 31]]]
    assert hotpotqa.containers[1].lines[2][0].get_segments()[0][:, 1].tolist() == [52, 57]
    assert [label.get_text() for label in hotpotqa.get_xticklabels()] == [
        "base\n0.14 M",
        "xl\n1.3 M",
        "causal\n1.1 M",
    ]
    assert hotpotqa.get_ylabel() == "answer F1, %"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["OneR QA", "IRCoT QA"]


def test_means_by_whose_demonstrations_are_shown():
    rows = [
        ("hotpotqa", "musique", "OneR", 50),
        ("hotpotqa", "musique", "IRCoT", 80),
        ("hotpotqa", "hotpotqa", "OneR", 50),
        ("hotpotqa", "hotpotqa", "IRCoT", 90),
        ("musique", "hotpotqa", "OneR", 40),
        ("musique", "hotpotqa", "IRCoT", 70),
    ]
    table = pd.DataFrame(rows, columns=["dataset", "demonstrations", "system", "mean"]).assign(
        low=lambda t: t["mean"] - 5, high=lambda t: t["mean"] + 5
    )
    first, second = figures.draw_by_demonstrations(table, "t", "recall, %").axes
    assert [axis.get_title() for axis in (first, second)] == [
        "questions of HotpotQA",
        "questions of MuSiQue",
    ]
    assert [label.get_text() for label in first.get_xticklabels()] == ["MuSiQue", "HotpotQA"]
    assert heights(first) == [50, 50, 80, 90] and heights(second) == [40, 70]
    assert (first.get_ylabel(), second.get_ylabel(), first.get_xlabel()) == (
        "recall, %",
        "",
        "demonstrations of",
    )


def test_a_panel_of_tuning_has_a_cell_a_setting_and_frames_the_first_of_the_best():
    rows = [("hotpotqa", "OneR", 5, None, 40.0), ("hotpotqa", "OneR", 9, None, 50.0)]
    values = {(2, 1): 30.0, (2, 2): 70.0, (4, 1): 10.0, (4, 2): 70.0}
    rows += [("musique", "IRCoT", k, m, value) for (k, m), value in values.items()]
    table = pd.DataFrame(rows, columns=["dataset", "system", "k", "m", "value"])
    figure = figures.draw_tuning(table, "t")
    oner, without, other, ircot = figure.axes
    assert [axis.axison for axis in figure.axes] == [True, False, False, True]
    assert (oner.get_title(), ircot.get_title()) == ("OneR, HotpotQA", "IRCoT, MuSiQue")
    assert oner.images[0].get_array().tolist() == [[40.0, 50.0]]
    assert ircot.images[0].get_array().tolist() == [[30.0, 10.0], [70.0, 70.0]]
    assert [text.get_text() for text in ircot.texts] == ["30.0", "10.0", "70.0", "70.0"]
    assert [label.get_text() for label in ircot.get_xticklabels()] == ["2", "4"]
    assert [label.get_text() for label in ircot.get_yticklabels()] == ["1", "2"]
    assert [label.get_text() for label in oner.get_yticklabels()] == ["–"]
    assert [axis.patches[0].get_center().round().tolist() for axis in (oner, ircot)] == [
        [1, 0],
        [0, 1],
    ]
    assert figure.get_suptitle() == "t"
    rows = [("musique", "IRCoT", "k, m"), ("hotpotqa", "OneR", "")]
    chosen = pd.DataFrame(rows, columns=["dataset", "system", "edge"])
    titles = [axis.get_title() for axis in figures.draw_tuning(table, "t", chosen).axes]
    assert titles[0] == "OneR, HotpotQA"
    assert titles[3] == "IRCoT, MuSiQue (best at the edge: K, M)"


def test_causes_of_wrong_answers_are_stacked():
    rows = [
        ("musique", "OneR QA", "not retrieved", 60.0),
        ("musique", "OneR QA", "retrieved, misread", 10.0),
        ("musique", "IRCoT QA", "not retrieved", 0.0),
        ("musique", "IRCoT QA", "retrieved, misread", 5.5),
        ("iirc", "NoR QA", "not retrieved", 80.0),
        ("iirc", "NoR QA", "retrieved, misread", 0.0),
    ]
    table = pd.DataFrame(rows, columns=["dataset", "system", "cause", "share"])
    musique, iirc = figures.draw_census(table, "t").axes
    assert [axis.get_title() for axis in (musique, iirc)] == ["MuSiQue", "IIRC"]
    assert heights(musique) == [60, 0, 10, 5.5] and heights(iirc) == [80, 0]
    assert [patch.get_y() for patch in musique.patches] == [0, 0, 60, 0]
    assert [label.get_text() for label in musique.get_xticklabels()] == ["OneR QA", "IRCoT QA"]
    legend = musique.figure.legends[0].get_texts()
    assert [text.get_text() for text in legend] == ["not retrieved", "retrieved, misread"]


def test_curves_of_trainings_by_minutes():
    curves = pd.DataFrame(
        {
            "model": ["mini-base", "mini-base", "mini-xl"],
            "seconds": [60, 180, 90],
            "answer": [0.1, 0.5, 0.9],
            "step": 1,
        }
    )
    (axis,) = figures.draw_training(curves, "t").axes
    assert [line.get_xydata().tolist() for line in axis.lines] == [[[1, 10], [3, 50]], [[1.5, 90]]]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["mini-base", "mini-xl"]


@pytest.mark.parametrize("name", ["png", "csv"])
def test_saved_twice_the_bytes_are_the_same(tmp_path, monkeypatch, name):
    saved = []
    for folder in ("a", "b"):
        monkeypatch.setattr(figures, "FIGURES", tmp_path / folder)
        figures.save_figure(figures.draw_with_reported(TABLE, "t", "recall, %"), TABLE, "figure")
        figures.save_figure(figures.draw_by_size(SIZES, "t", "recall, %"), SIZES, "sizes")
        saved.append(
            [
                (tmp_path / folder / f"{figure}.{name}").read_bytes()
                for figure in ("figure", "sizes")
            ]
        )
    assert saved[0] == saved[1]


TREE = [
    Node("In which country was Grieg born?", "Norway", 1, 1, passage="p", mark=1),
    Node("What is its capital?", "Bergen", 1, 2, after=0, passage="q", found="Oslo",
         feedback="verification", mark=2),
    Node("How many live in Bergen?", "300,000", 1, 3, after=1),
    Node("What is its capital?", "Oslo", 2, 1, after=1),
    Node("How many of $5 or 6$ live in Oslo?", "", 2, 2, True, after=3, passage="r",
         feedback="completion", mark=3),
]  # fmt: skip


def test_a_tree_has_a_row_a_chain_that_begins_below_the_node_with_the_feedback():
    figure = draw_tree(TREE, "How many live in the capital?")
    [axis] = figure.axes
    texts = {text.get_text().replace("\n", " "): text for text in axis.texts if text.get_text()}
    places = [text.get_position() for text in texts.values()]
    assert places == [(0, 0), (1, 0), (2, 0), (2, -1), (3, -1)]
    assert [*texts] == [
        "[1] In which country was Grieg born? → Norway",
        "[2] What is its capital? → Bergen (found: Oslo)",
        "How many live in Bergen? → 300,000",
        "What is its capital? → Oslo",
        "[3] How many of $5 or 6$ live in Oslo? → ? (found: nothing)",
    ]
    boxes = [text.get_bbox_patch() for text in texts.values()]
    assert [box.get_linestyle() for box in boxes] == ["-", "-", ":", ":", "-"]
    assert len({box.get_facecolor() for box in boxes}) == 3
    arrows = [text for text in axis.texts if not text.get_text()]
    assert [(arrow.xy, arrow.xyann) for arrow in arrows] == [
        ((1, 0), (0, 0)),
        ((2, 0), (1, 0)),
        ((2, -1), (1, 0)),
        ((3, -1), (2, -1)),
    ]
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert labels == ["passed", "corrected by retrieval", "completed by retrieval"]
    figure.canvas.draw()  # a query is no formula


def test_a_tree_without_a_node_says_so():
    [axis] = draw_tree([], "Where?").axes
    assert [text.get_text() for text in axis.texts] == ["no query could be read"]
