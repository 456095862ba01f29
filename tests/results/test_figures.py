"""Figures draw the numbers they are given, and the same numbers give the same bytes."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from cycler import cycler
from matplotlib import pyplot

matplotlib.use("Agg")


from ircot_studies.head_to_head import draw_means
from ircotlib import files
from ircotlib.files import FIGURES
from ircotlib.parameters import read_parameters
from ircotlib.results.figures import (
    MARKERS,
    PAGE,
    draw_dots,
    draw_lines,
    save_figure,
)

ROWS = [
    ("hotpotqa", "OneR", 50.0, 45.0, 57.0, None),
    ("hotpotqa", "IRCoT", 97.5, 96.0, 99.0, 90.5),
    ("musique", "IRCoT", 70.0, 60.0, 80.0, 60.0),
]
COLUMNS = ["dataset", "system", "mean", "low", "high", "reported"]
TABLE = pd.DataFrame(ROWS, columns=COLUMNS)


@pytest.fixture(autouse=True)
def closed():
    """Every figure is closed at the end of its test."""
    yield
    pyplot.close("all")


def texts(labels):
    return [label.get_text() for label in labels]


def titles(figure):
    return [axis.get_title("left") for axis in figure.axes]


def legend(figure):
    return texts(figure.legends[0].get_texts())


def marks(axis):
    """Where the dots of a panel are: (x, row)."""
    dots = [line for line in axis.lines if line.get_marker() in [*MARKERS.values()]]
    places = [tuple(dot.get_xydata()[0].tolist()) for dot in dots]
    return [(x, row) for x, row in places if not np.isnan(x)]


def test_dots_are_the_table_with_intervals_and_the_papers_values():
    figure = draw_dots(TABLE.assign(chance=[np.nan, np.nan, 50]), "Recall", "recall, %")
    hotpotqa, musique = figure.axes
    assert titles(figure) == ["HotpotQA", "MuSiQue"]
    assert figure.legends[0].get_title().get_text() == "Recall"
    assert marks(hotpotqa) == [(50, 0), (97.5, 1), (90.5, 1)]
    assert marks(musique) == [(70, 1), (60, 1)]
    ends = [tuple(line.get_xdata()) for line in hotpotqa.lines]
    assert [end for end in ends if len(end) == 2][:2] == [(45, 57), (96, 99)]
    assert texts(hotpotqa.get_yticklabels()) == ["OneR", "IRCoT"]
    weights = [label.get_fontweight() for label in hotpotqa.get_yticklabels()]
    assert weights == ["normal", "bold"] and hotpotqa.get_xlabel() == "recall, %"
    families = ["one round of retrieval", "step by step"]
    assert legend(figure) == [*families, "in the paper", "chance"]
    assert list(musique.lines[-1].get_xdata()) == [50, 50]
    alone = draw_dots(TABLE.drop(columns="reported"), "t", "%", names=["IRCoT", "OneR"])
    assert "in the paper" not in legend(alone)
    assert marks(alone.axes[0]) == [(50, 1), (97.5, 0)]


def test_a_line_for_each_system_through_models_of_one_style():
    sizes = [("s", "flan_t5", 20), ("m", "flan_t5", 60), ("gpt", "codex", 40)]
    rows = [(name, *size) for name in ("OneR QA", "IRCoT QA") for size in sizes]
    table = pd.DataFrame(rows, columns=["system", "size", "style", "mean"])
    table = table.assign(low=table["mean"] - 5, high=table["mean"] + 5, dataset="iirc")
    figure = draw_lines(table, "By size", "F1, %", "size", part="style", xlabel="model")
    [axis] = figure.axes
    assert [list(line.get_ydata()) for line in axis.lines] == [[20, 60], [40]] * 2
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("model", "F1, %")
    assert legend(figure) == ["OneR QA", "IRCoT QA"]
    shapes = {line.get_marker() for line in axis.lines}
    assert len(shapes) == 2  # lines differ in more than their colour
    table["k"] = 1
    other = draw_lines(table, "By size", "F1, %", "k", line="style", ylim=(0, 50))
    assert legend(other) == ["flan_t5", "codex"]
    assert other.axes[0].get_ylim() == (0, 50)


ROWS = [  # system, mean, tokens, p_holm, gold
    ("CoT", 5.0, 99.0, 0.01, 7.0),
    ("SearChain", 9.0, 20.0, np.nan, 10.0),
    ("DSP", 5.0, 9.0, 0.2, np.nan),
]
MEANS = pd.DataFrame(ROWS, columns=["system", "mean", "tokens", "p_holm", "gold"])
MEANS = MEANS.assign(retriever="BM25", low=4.0, high=10.0)
APART = MEANS.assign(dataset="fever", reported=1.0)


def test_means_have_the_best_first_and_marks_what_does_not_differ_from_searchain():
    figure = draw_means(MEANS, APART, "t")
    left, middle, right = figure.axes
    # of equals the cheaper one
    assert texts(left.get_yticklabels()) == ["SearChain", "DSP", "CoT"]
    assert marks(left)[:3] == [(9, 0), (5, 1), (5, 2)]
    assert {*marks(middle)[:3]} == {*marks(left)[:3]}
    assert left.lines[-1].get_xdata()[[0, 2]].tolist() == [10, 7]  # with right replies
    assert (middle.get_xlabel(), middle.lines[-1].get_xdata()) == ("FEVER, %", [50, 50])
    assert marks(right) == [(20, 0), (9, 1), (99, 2)]
    # families differ without colours, too
    assert [line.get_marker() for line in right.lines] == ["D", "o", "s"]
    bands = [[band.get_y() for band in axis.patches] for axis in (left, right)]
    assert bands == [[0.5], [0.5]]
    assert legend(figure)[-1] == "no significant difference from SearChain"


# what a user's matplotlibrc may say
USERS = {"text.usetex": True, "font.size": 30, "savefig.bbox": "tight"}
USERS |= {"svg.fonttype": "path", "axes.prop_cycle": cycler(color="r")}


def test_saved_twice_the_bytes_are_the_same(tmp_path, monkeypatch):
    saved = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        monkeypatch.setattr(files, "FIGURES", folder)
        save_figure(draw_dots(TABLE, "t", "recall, %"), TABLE, "dots")
        p = read_parameters("paper", {"seed": 3})
        means = draw_means(MEANS, APART, "t")
        save_figure(means, TABLE, "front", p, "model m, n = 1")
        save_figure(None, TABLE, "alone")
        files_of = [path for path in folder.rglob("*") if path.is_file()]
        saved.append({str(f.relative_to(folder)): f.read_bytes() for f in files_of})
        pyplot.rcParams.update(USERS)
    pyplot.rcdefaults()
    assert saved[0] == saved[1]
    drawn = ("dots", "trials/seed=3/front_paper")
    names = [f"{name}.{end}" for name in drawn for end in ("csv", "png", "svg")]
    assert sorted(saved[0]) == ["alone.csv", *sorted(names)]
    text = saved[0]["trials/seed=3/front_paper.svg"].decode()
    assert "profile paper, model m, n = 1; with seed=3" in text
    assert b"profile" not in saved[0]["dots.svg"]


def test_kept_numbers_fit_on_a_page():
    table = pd.read_csv(FIGURES / "ircot_fig04_f1.csv")
    table = table[table["mean"].notna()]
    figure = draw_dots(table, "A title that is long enough for two lines. " * 3, "%")
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()  # in inches
    assert figure.get_figwidth() == PAGE and figure.get_figheight() < 9.2
    assert drawn.x0 > -0.03 and drawn.x1 < PAGE + 0.03
