"""Figures draw the numbers they are given, and the same numbers give the same bytes."""

from xml.etree import ElementTree

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
from ircotlib.results.figures.lines import draw_by_size, draw_recall, draw_training
from ircotlib.results.figures.maps import draw_tuning
from ircotlib.results.figures.rows import (
    draw_by_demonstrations,
    draw_causes,
    draw_front,
    draw_measures,
    draw_with_reported,
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


def texts(labels):
    return [label.get_text() for label in labels]


def marked(axis):
    """What the marks of a panel say."""
    gids = [artist.get_gid() or "" for artist in (*axis.lines, *axis.patches)]
    return [gid.removeprefix("title: ") for gid in gids if gid.startswith("title: ")]


def titles(figure):
    return [axis.get_title("left") for axis in figure.axes]


@pytest.mark.parametrize("profile", ["mini", "paper"])
def test_marks_are_the_table(profile):
    table = TABLE.replace({"profile": {"mini": profile}})
    figure = draw_with_reported(table, "title: recall", "recall, %", "gain, points")
    [axis] = figure.axes  # of HotpotQA: nothing was measured on MuSiQue
    ours = ["OneR: 50.0 (45.0 to 57.0)", "IRCoT: 97.5 (96.0 to 99.0)"]
    assert marked(axis) == [*ours, "gain, points, the paper: 11.3"]
    assert titles(figure) == ["HotpotQA"] and figure.get_suptitle() == "title: recall"
    assert texts(axis.get_yticklabels()) == ["OneR", "IRCoT", "gain, points"]
    assert axis.get_xlabel() == "recall, %" and axis.get_xlim() == (-4, 104)
    intervals = [tuple(line.get_xdata()) for line in axis.lines if len(line.get_xdata()) == 2]
    assert intervals == [(45, 57), (96, 99)]
    assert texts(figure.legends[0].get_texts()) == ["the paper, GPT3"]


def test_the_papers_marks_of_the_same_measure_are_on_the_same_row():
    figure = draw_with_reported(TABLE.assign(metric="f1"), "t", "answer F1, %")
    said = marked(figure.axes[0])
    assert said[-2:] == ["IRCoT: 97.5 (96.0 to 99.0)", "IRCoT, the paper: 11.3"]
    ours, paper = ([line.get_ydata()[0] for line in figure.axes[0].lines if line.get_gid()])[1:]
    assert ours == paper
    (alone,) = draw_with_reported(TABLE[:2].drop(columns="reported"), "t", "recall, %").axes
    assert len(marked(alone)) == 2


def test_recall_by_k():
    table = pd.DataFrame(
        {"dataset": "musique", "k": [5, 15], "recall": [48.85, 64.48], "n": 210, "paragraphs": 3298}
    )
    (axis,) = draw_recall(table.assign(system="OneR"), "system", "t").axes
    assert axis.lines[0].get_xydata().tolist() == [[5.0, 48.85], [15.0, 64.48]]
    assert axis.get_title("left") == "MuSiQue (n = 210; 3,298 paragraphs)"


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
    assert titles(figure) == ["HotpotQA", "MuSiQue"]
    lines = [list(line.get_ydata()) for line in musique.lines if not line.get_gid()]
    assert lines == [[50, 60], [20], [55, 65], [25]]
    said = [mark.split(": ")[1] for mark in marked(musique)]
    assert said[:3] == ["50.0 (47.0 to 52.0)", "60.0 (57.0 to 62.0)", "20.0 (17.0 to 22.0)"]
    assert texts(hotpotqa.get_xticklabels()) == ["base\n0.14 M", "xl\n1.3 M", "causal\n1.1 M"]
    assert (hotpotqa.get_ylabel(), musique.get_ylabel()) == ("answer F1, %", "")
    assert texts(musique.texts) == ["OneR QA", "IRCoT QA"]  # at the ends of their lines
    _, low = musique.texts[0].get_window_extent().intervaly
    assert low <= musique.texts[1].get_window_extent().y0


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
    table = table.assign(low=table["mean"] - 5, high=table["mean"] + 5, model="models/m")
    both = pd.concat([table, table.assign(model="models/n")])
    of_two = titles(draw_by_demonstrations(both, "t", "recall, %"))
    both = [f"questions of {d},\n{m}" for m in "mn" for d in ("HotpotQA", "MuSiQue")]
    assert [title for title in of_two if title] == both
    figure = draw_by_demonstrations(table, "t", "recall, %")
    assert titles(figure) == ["questions of HotpotQA", "questions of MuSiQue"]
    said = [
        f"{name}, shown {shown}" for shown in ("MuSiQue", "HotpotQA") for name in ("OneR", "IRCoT")
    ]
    assert texts(figure.axes[0].get_yticklabels()) == said
    assert marked(figure.axes[1]) == [
        f"{said[2]}: 40.0 (35.0 to 45.0)",
        f"{said[3]}: 70.0 (65.0 to 75.0)",
    ]


def test_a_panel_of_tuning_has_a_cell_a_setting_and_frames_the_first_of_the_best():
    rows = [("hotpotqa", "OneR", 5, None, 40.0), ("hotpotqa", "OneR", 9, None, 50.0)]
    values = {(2, 1): 30.0, (2, 2): 70.0, (4, 1): 10.0, (4, 2): 70.0}
    rows += [("musique", "IRCoT", k, m, value) for (k, m), value in values.items()]
    rows += [("musique", "IRCoT QA", 2, 1, 5.0)]
    table = pd.DataFrame(rows, columns=["dataset", "system", "k", "m", "value"])
    edges = [("musique", "IRCoT", "k, m"), ("hotpotqa", "OneR", "")]
    chosen = pd.DataFrame(edges, columns=["dataset", "system", "edge"])
    for edge, note in ((None, ""), (chosen, ", edge: K, M")):
        figure = draw_tuning(table, "t", edge)
        oner, ircot, _, unused = figure.axes
        assert not unused.axison and figure.get_suptitle().startswith("t (to the right: K")
        assert titles(figure)[:2] == ["OneR\nHotpotQA", "IRCoT\nMuSiQue" + note]
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
    assert titles(figure) == ["MuSiQue", "IIRC"]
    bars = [(bar.get_x(), bar.get_width()) for bar in musique.patches]
    assert bars == [(0, 0), (0, 2.5), (0, 30), (30, 5), (0, 0), (0, 0)]
    assert marked(musique)[2:4] == ["OneR QA, not retrieved: 30.0", "OneR QA, misread: 5.0"]
    assert texts(musique.get_yticklabels()) == ["IRCoT QA", "OneR QA", "NoR QA"]  # fewest first
    assert texts(figure.legends[0].get_texts()) == ["not retrieved", "misread"]
    (together,) = draw_causes(table.assign(dataset="all"), "t").axes
    assert max(bar.get_width() for bar in together.patches) == 40


def test_curves_of_trainings_by_minutes():
    curves = {"model": ["mini-base", "mini-base", "mini-xl"], "seconds": [60, 180, 90]}
    figure = draw_training(pd.DataFrame(curves | {"answer": [0.1, 0.5, 0.9]}), "t")
    lines = [line.get_xydata().tolist() for line in figure.axes[0].lines if not line.get_gid()]
    assert lines == [[[1, 10], [3, 50]], [[1.5, 90]]]
    assert texts(figure.axes[0].texts) == ["mini-base", "mini-xl"]


MEANS = {"retriever": "BM25", "system": ["CoT", "SearChain", "DSP"], "mean": [5.0, 9.0, 5.0]}
MEANS |= {"tokens": [99.0, 20.0, 9.0], "reported": [1.0, np.nan, 2.0], "on_front": False}
MEANS |= {"low": 4.0, "high": 10.0, "p_holm": [0.01, np.nan, 0.2]}


def test_a_front_has_the_best_first_and_marks_what_is_not_told_apart():
    dense = pd.DataFrame(MEANS).assign(retriever="dense", mean=[9.0, 8.0, 7.0])
    figure = draw_front(pd.concat([pd.DataFrame(MEANS), dense]), "t")
    left, right, below, _ = figure.axes
    names = texts(left.get_yticklabels())
    assert names == ["SearChain", "DSP", "CoT"]  # of equals the cheaper one
    assert texts(below.get_yticklabels()) == ["CoT", "SearChain", "DSP"]
    assert [label.get_fontweight() for label in left.get_yticklabels()] == [
        "bold",
        "normal",
        "normal",
    ]
    said = "SearChain: 9.0 (4.0 to 10.0)", "DSP: 5.0 (4.0 to 10.0)", "DSP, the paper: 2.0"
    assert marked(left)[:3] == [*said]
    assert marked(right)[1] == "DSP: 9 tokens a question"
    assert (
        [band.get_y() for band in left.patches] == [band.get_y() for band in right.patches] == [0.5]
    )
    legend = texts(figure.legends[0].get_texts())
    assert legend[-2:] == ["in the paper", "not told apart from SearChain"]


@pytest.mark.parametrize(
    ("changes", "panels_of_it"),
    [
        ({"mean": 0.0, "low": 0.0, "high": 0.0, "reported": np.nan, "p_holm": np.nan}, 2),
        ({"tokens": 0.0}, 1),
        ({"tokens": 243.0, "mean": 20.0}, 2),
    ],
)
def test_a_front_without_differences_reports_or_costs(recwarn, changes, panels_of_it):
    figure = draw_front(pd.DataFrame(MEANS).assign(**changes), "t")
    figure.draw_without_rendering()
    assert len(figure.axes) == panels_of_it and not recwarn.list
    assert figure.axes[0].get_xlim() == (-4, 104)
    for axis in figure.axes[1:]:
        assert any(label.get_text() for label in axis.get_xticklabels())
    has_papers = "in the paper" in texts(figure.legends[0].get_texts())
    assert has_papers == ("reported" not in changes)


def test_saved_twice_the_bytes_are_the_same(tmp_path, monkeypatch):
    saved = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        monkeypatch.setattr(paths, "FIGURES", folder)
        panels.save_figure(draw_with_reported(TABLE, "t", "recall, %"), TABLE, "figure")
        figure = draw_by_size(SIZES, "t", "recall, %")
        panels.save_figure(figure, SIZES, "sizes", read_parameters("paper"), "profile paper, n = 1")
        assert figure.texts[-1].get_text() == "profile paper, n = 1"
        saved.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert saved[0] == saved[1]
    endings = ("png", "svg", "pdf", "csv")
    assert {*saved[0]} == {f"{n}.{end}" for n in ("figure", "sizes_paper") for end in endings}


def test_a_name_is_no_markup(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    name = '<script> & "more"'
    figure = draw_with_reported(TABLE.replace({"system": {"OneR": name}}), "t", "recall, %")
    panels.save_figure(figure, TABLE, "<profile>_a")
    titles = ElementTree.parse(tmp_path / "mini_a.svg").iter("{http://www.w3.org/2000/svg}title")
    assert f"{name}: 50.0 (45.0 to 57.0)" in [title.text for title in titles]


TREE = [
    Node("In which country was Grieg born?", "Norway", 1, 1, passage="p", mark=1),
    Node("What is its capital?", "Bergen", 1, 2, after=0, passage="q", found="Oslo",
         feedback="verification", mark=2),
    Node("How many live in Bergen?", "300,000", 1, 3, after=1),
    Node("What is its capital?", "Oslo", 2, 1, after=1),
    Node("How many of $5 or 6$ live in Oslo?", "", 2, 2, True, after=3, passage="r",
         feedback="completion", mark=3),
]  # fmt: skip


def test_a_tree_has_a_column_a_chain_that_begins_below_the_node_with_the_feedback():
    figure = draw_tree(TREE, "How many live in the capital?")
    [axis] = figure.axes
    nodes = {text.get_text().replace("\n", " "): text for text in axis.texts if text.get_text()}
    places = [text.get_position() for text in nodes.values()]
    assert places == [(0, 0), (0, -1), (0, -2), (1, -2), (1, -3)]
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
    labels = texts(figure.legends[0].get_texts())
    assert labels[:3] == ["passed", "corrected by retrieval", "completed by retrieval"]
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
    assert titles(figure) == [
        "HotpotQA: recall, %",
        "HotpotQA: F1, %",
        "MuSiQue: recall, %",
        "MuSiQue: F1, %",
    ]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["NoR QA", "OneR QA, as many", "IRCoT QA"]
    shown = [[float(mark.split()[-4]) for mark in marked(axis)] for axis in figure.axes]
    assert shown == [[80, 70], [7, 19], [45], [2]]
    assert {axis.get_xlim() for axis in figure.axes} == {(-4, 104)}  # one scale
