"""Figures draw the numbers they are given, and the same numbers give the same bytes."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

matplotlib.use("Agg")

from ircotlib.data import Node
from ircotlib.files import paths
from ircotlib.parameters import read_parameters
from ircotlib.results.figures import panels
from ircotlib.results.figures.bars import (
    draw_by_demonstrations,
    draw_causes,
    draw_measures,
    draw_with_reported,
)
from ircotlib.results.figures.points import (
    draw_by_size,
    draw_front,
    draw_recall,
    draw_training,
    draw_tuning,
)
from ircotlib.results.figures.tree import draw_tree
from ircotlib.results.reported import COLUMNS

ROWS = [
    ("mini", "hotpotqa", "m", "OneR", "recall", 50.0, 45.0, 57.0, 1.0, 500, None),
    ("mini", "hotpotqa", "m", "IRCoT", "recall", 97.5, 96.0, 99.0, None, 500, None),
    ("paper", "musique", "GPT3", "IRCoT", "recall_gain", None, None, None, None, None, 12.5),
    ("paper", "hotpotqa", "GPT3", "IRCoT", "recall_gain", None, None, None, None, None, 11.3),
]
TABLE = pd.DataFrame(ROWS, columns=[c for c in COLUMNS if c != "demonstrations_shown"])


@pytest.fixture(autouse=True)
def closed():
    """Every figure is closed at the end of its test."""
    yield
    pyplot.close("all")


def heights(axis):
    return [round(patch.get_height(), 2) for bars in axis.containers for patch in bars]


def texts(labels):
    return [label.get_text() for label in labels]


def drawn(axis):
    """The y of the points of each line of an axis; of an interval: (low, high)."""
    lines = [line.get_ydata() for line in axis.lines if np.isfinite(line.get_ydata()).any()]
    intervals = [np.isnan(line).any() for line in lines]
    return [
        (min(line), max(line)) if interval else list(line.round(2))
        for line, interval in zip([line[~np.isnan(line)] for line in lines], intervals)
    ]


@pytest.mark.parametrize("profile", ["mini", "paper"])
def test_bars_are_the_table(profile):
    table = TABLE.replace({"profile": {"mini": profile}})
    figure = draw_with_reported(table, "title: profile mini", "recall, %", "gain, points")
    ours, papers = figure.axes
    assert texts(figure.axes[0].texts) == ["50.0", "97.5"] and heights(ours) == [50.0, 97.5]
    assert heights(papers) == [11.3, 12.5]
    assert (ours.get_title(), papers.get_title()) == ("measured here", "paper, GPT3")
    assert (ours.get_ylabel(), papers.get_ylabel()) == ("recall, %", "gain, points")
    assert figure.get_suptitle() == "title: profile mini"
    assert texts(papers.get_xticklabels()) == ["HotpotQA", "MuSiQue"]
    assert drawn(ours) == [(45, 57), (96, 99)] and drawn(papers) == []
    assert texts(figure.legends[0].get_texts()) == ["OneR", "IRCoT"]


def test_one_scale_where_both_sides_show_the_same_metric():
    figure = draw_with_reported(TABLE, "t", "answer F1, %")
    assert {axis.get_ylim() for axis in figure.axes} == {(0.0, 105.0)}
    (alone,) = draw_with_reported(TABLE[:2].drop(columns="reported"), "t", "recall, %").axes
    assert heights(alone) == [50.0, 97.5]


def test_recall_by_k():
    table = pd.DataFrame(
        {"dataset": "musique", "k": [5, 15], "recall": [48.85, 64.48], "n": 210, "paragraphs": 3298}
    )
    (axis,) = draw_recall(table.assign(system="OneR"), "system", "t").axes
    assert axis.lines[0].get_xydata().tolist() == [[5.0, 48.85], [15.0, 64.48]]
    assert axis.get_title() == "MuSiQue (n = 210; 3,298 paragraphs)"


MADE = (("base", 0.14, "flan_t5", 50), ("xl", 1.3, "flan_t5", 60), ("causal", 1.1, "codex", 20))
SIZES = pd.DataFrame(
    [
        (dataset, f"data/models/mini-{name}", size, style, system, mean, mean - 3, mean + 2)
        for dataset in ("hotpotqa", "musique")
        for name, size, style, first in MADE
        for system, mean in (("OneR QA", first), ("IRCoT QA", first + 5))
    ],
    columns=["dataset", "model", "parameters", "style", "system", "mean", "low", "high"],
)


def test_means_by_size_with_a_line_through_models_of_one_style():
    figure = draw_by_size(SIZES, "by size", "answer F1, %")
    hotpotqa, musique = figure.axes
    assert texts(axis.title for axis in figure.axes) == ["HotpotQA", "MuSiQue"]
    lines = [[50, 60], (47, 52), (57, 62), [55, 65], (52, 57), (62, 67)]
    assert drawn(musique) == [*lines, [20], (17, 22), [25], (22, 27)]
    assert texts(hotpotqa.get_xticklabels()) == ["base\n0.14 M", "xl\n1.3 M", "causal\n1.1 M"]
    assert (hotpotqa.get_ylabel(), musique.get_ylabel()) == ("answer F1, %", "")
    assert texts(figure.legends[0].get_texts()) == ["OneR QA", "IRCoT QA"]


def test_means_by_whose_demonstrations_are_shown():
    rows = [
        (dataset, shown, system, mean)
        for dataset, shown, *means in (
            ("hotpotqa", "musique", 50, 80),
            ("hotpotqa", "hotpotqa", 50, 90),
            ("musique", "hotpotqa", 40, 70),
        )
        for system, mean in zip(("OneR", "IRCoT"), means, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["dataset", "demonstrations", "system", "mean"])
    table = table.assign(low=table["mean"] - 5, high=table["mean"] + 5)
    first, second = draw_by_demonstrations(table, "t", "recall, %").axes
    titles = texts(axis.title for axis in (first, second))
    assert titles == ["questions of HotpotQA", "questions of MuSiQue"]
    assert texts(first.get_xticklabels()) == ["MuSiQue", "HotpotQA"]
    assert heights(first) == [50, 50, 80, 90] and heights(second) == [40, 70]


def test_a_panel_of_tuning_has_a_cell_a_setting_and_frames_the_first_of_the_best():
    rows = [("hotpotqa", "OneR", 5, None, 40.0), ("hotpotqa", "OneR", 9, None, 50.0)]
    values = {(2, 1): 30.0, (2, 2): 70.0, (4, 1): 10.0, (4, 2): 70.0}
    rows += [("musique", "IRCoT", k, m, value) for (k, m), value in values.items()]
    rows += [("musique", "IRCoT QA", 2, 1, 5.0)]
    table = pd.DataFrame(rows, columns=["dataset", "system", "k", "m", "value"])
    edges = [("musique", "IRCoT", "k, m"), ("hotpotqa", "OneR", "")]
    chosen = pd.DataFrame(edges, columns=["dataset", "system", "edge"])
    for edge, note in ((None, ""), (chosen, "\nbest at the edge: K, M")):
        figure = draw_tuning(table, "t", edge)
        oner, ircot, _, unused = figure.axes
        assert not unused.axison and figure.get_suptitle() == "t"
        assert (oner.get_title(), ircot.get_title()) == ("OneR, HotpotQA", "IRCoT, MuSiQue" + note)
    assert texts(oner.texts) == ["40.0", "50.0"] and texts(oner.get_yticklabels()) == ["–"]
    assert texts(ircot.texts) == ["70.0", "70.0", "30.0", "10.0"]  # the larger m above
    assert texts(ircot.get_xticklabels()) == ["2", "4"]
    assert texts(ircot.get_yticklabels()) == ["2", "1"]
    assert [axis.patches[0].get_xy() for axis in (oner, ircot)] == [(1, 0), (0, 0)]


def test_causes_of_wrong_answers_are_stacked():
    rows = [
        ("musique", "OneR QA", "not retrieved", 60),
        ("musique", "OneR QA", "misread", 10),
        ("musique", "IRCoT QA", "not retrieved", 0),
        ("musique", "IRCoT QA", "misread", 5),
        ("iirc", "NoR QA", "not retrieved", 80),
        ("iirc", "NoR QA", "misread", 0),
    ]
    table = pd.DataFrame(rows, columns=["dataset", "system", "cause", "n"]).assign(answers=200)
    figure = draw_causes(table, "t")
    musique, _ = figure.axes
    assert texts(axis.title for axis in figure.axes) == ["MuSiQue", "IIRC"]
    bars = [(bar.get_x(), bar.get_width()) for bar in musique.patches]
    assert bars == [(0, 0), (0, 0), (0, 30), (0, 0), (0, 2.5), (30, 5)]
    assert texts(musique.get_yticklabels()) == ["NoR QA", "IRCoT QA", "OneR QA"]  # from below
    assert texts(figure.legends[0].get_texts()) == ["not retrieved", "misread"]
    (together,) = draw_causes(table.assign(dataset="all"), "t").axes
    assert max(bar.get_width() for bar in together.patches) == 40


def test_curves_of_trainings_by_minutes():
    curves = {"model": ["mini-base", "mini-base", "mini-xl"], "seconds": [60, 180, 90]}
    figure = draw_training(pd.DataFrame(curves | {"answer": [0.1, 0.5, 0.9]}), "t")
    lines = [line.get_xydata().tolist() for line in figure.axes[0].lines[:2]]
    assert lines == [[[1, 10], [3, 50]], [[1.5, 90]]]
    assert texts(figure.legends[0].get_texts()) == ["mini-base", "mini-xl"]


def test_numbers_of_points_at_one_place_are_at_different_places():
    systems = ["CoT", "DSP", "ReAct", "Self-Ask"]
    means = {"retriever": "BM25", "system": systems, "tokens": [9, 9, 9, 99], "mean": 5.0}
    means |= {"on_front": False, "reported": [1, 1, 1, 2], "low": 4, "high": 6, "p_holm": 0.01}
    left, _ = draw_front(pd.DataFrame(means), "t").axes
    assert texts(left.texts) == ["1", "2", "3", "4"]
    assert len({text.get_position() for text in left.texts[:3]}) == 3


@pytest.mark.parametrize(
    ("mean", "reported", "titles", "scale"),
    [
        ([0.0, 0.0], [None, None], 1, (-4, 104)),
        ([0.0, 0.0], [5.0, 6.0], 2, (-4, 104)),
        ([20.0, 20.0], [None, None], 1, (-4, 104)),
        ([0.0, 50.0], [None, 6.0], 2, (-4, 54)),
    ],
)
def test_a_front_without_differences_or_reports(recwarn, mean, reported, titles, scale):
    means = {"retriever": "BM25", "system": ["CoT", "DSP"], "tokens": [9, 99], "mean": mean}
    means |= {"on_front": True, "reported": pd.Series(reported, dtype=float)}
    means |= {"low": mean, "high": mean, "p_holm": 0.01}
    figure = draw_front(pd.DataFrame(means), "t")
    figure.draw_without_rendering()
    assert len(figure.axes) == titles and not recwarn.list
    assert figure.axes[0].get_ylim() == pytest.approx(scale)
    assert texts(figure.legends[0].get_texts()) == ["1 CoT", "2 DSP"]


@pytest.mark.parametrize("ending", ["png", "csv"])
def test_saved_twice_the_bytes_are_the_same(tmp_path, monkeypatch, ending):
    saved = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        monkeypatch.setattr(paths, "FIGURES", folder)
        panels.save_figure(draw_with_reported(TABLE, "t", "recall, %"), TABLE, "figure")
        figure = draw_by_size(SIZES, "t", "recall, %")
        panels.save_figure(figure, SIZES, "sizes", read_parameters("paper"))
        assert figure.texts[-1].get_text() == "profile paper"
        names = f"figure.{ending}", f"sizes_paper.{ending}"
        saved.append([(folder / name).read_bytes() for name in names])
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
    nodes = {text.get_text().replace("\n", " "): text for text in axis.texts if text.get_text()}
    places = [text.get_position() for text in nodes.values()]
    assert places == [(0, 0), (1, 0), (2, 0), (2, -1), (3, -1)]
    assert [*nodes] == [
        "[1] In which country was Grieg born? → Norway",
        "[2] What is its capital? → Bergen (found: Oslo)",
        "How many live in Bergen? → 300,000",
        "What is its capital? → Oslo",
        "[3] How many of $5 or 6$ live in Oslo? → ? (found: nothing)",
    ]
    boxes = [text.get_bbox_patch() for text in nodes.values()]
    assert [box.get_linestyle() for box in boxes] == ["-", "-", ":", ":", "-"]
    assert len({box.get_facecolor() for box in boxes}) == 3
    arrows = [(arrow.xyann, arrow.xy) for arrow in axis.texts if not arrow.get_text()]
    assert arrows == [(places[node.after], place) for node, place in zip(TREE[1:], places[1:])]
    labels = texts(axis.get_legend().get_texts())
    assert labels == ["passed", "corrected by retrieval", "completed by retrieval"]
    figure.canvas.draw()  # a query is no formula


def test_a_tree_without_a_node_says_so():
    [axis] = draw_tree([], "Where?").axes
    assert texts(axis.texts) == ["no query could be read"]


def test_measures_have_a_row_of_panels_per_data_set():
    rows = [
        ("hotpotqa", "IRCoT QA", "recall", 80.0, 60.0, 90.0),
        ("hotpotqa", "OneR QA, as many", "recall", 70.0, 50.0, 85.0),
        ("hotpotqa", "NoR QA", "f1", 7.0, 0.0, 20.0),
        ("hotpotqa", "IRCoT QA", "f1", 19.0, 0.0, 40.0),
        ("musique", "OneR QA, as many", "recall", 45.0, 40.0, 50.0),
        ("musique", "NoR QA", "f1", 2.0, 0.0, 6.0),
    ]
    table = pd.DataFrame(rows, columns=["dataset", "system", "metric", "mean", "low", "high"])
    figure = draw_measures(table, "a title")
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == [
        "HotpotQA: recall, %",
        "HotpotQA: F1, %",
        "MuSiQue: recall, %",
        "MuSiQue: F1, %",
    ]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["NoR QA", "OneR QA, as many", "IRCoT QA"]
    for axis, shown in zip(figure.axes, ([70, 80], [7, 19], [45], [2]), strict=True):
        assert sorted(bar.get_width() for bar in axis.patches if bar.get_width() > 0) == shown
        assert sorted(int(text.get_text()) for text in axis.texts) == shown
    limits = [axis.get_xlim() for axis in figure.axes]
    assert limits == [(0, 100), (0, 50)] * 2  # the same for a measure
