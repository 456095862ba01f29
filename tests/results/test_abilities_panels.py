"""What the panels of 15_abilities hold and show, with ten questions a play."""

import itertools
import json

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

matplotlib.use("Agg")

from corpora import random_paragraphs

from ircotlib.files.paths import FIGURES
from ircotlib.parameters import read_parameters
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.results.abilities import ceilings, dials
from ircotlib.results.abilities.flawed_retriever import FlawedRetriever
from ircotlib.results.abilities.simulated_plays import average
from ircotlib.results.figures.lines import draw_abilities, draw_settings
from ircotlib.results.figures.maps import draw_ceilings
from ircotlib.retrieval.bm25 import open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.systems import all_systems


@pytest.fixture(scope="module")
def p():
    return read_parameters("mini", {"abilities_test": 10})


@pytest.fixture(autouse=True)
def closed():
    """Every figure is closed at the end of its test."""
    yield
    pyplot.close("all")


def mean_of(table, **values):
    """The only mean in the rows with these values."""
    for name, value in values.items():
        table = table[table[name] == value]
    [mean] = table["mean"]
    return mean


def test_ceilings_are_the_kept_ones(monkeypatch):
    p = read_parameters("mini", {"head_to_head": ["hotpotqa"]})
    names = ["CoT", "Auto-CoT", "OneR QA", "IRCoT QA", "DecomP", "Self-Ask"]
    some = {name: all_systems()[name] for name in names}  # all but Auto-CoT are drawn
    monkeypatch.setattr(ceilings, "all_systems", lambda: some)
    table = ceilings.play_ceilings(p)
    kept = pd.read_csv(FIGURES / "abilities_ceilings.csv").query("dataset == 'hotpotqa'")
    kept = kept[kept["system"].isin(names)]
    rows = [rows.sort_values("system", ignore_index=True) for rows in (table, kept)]
    pd.testing.assert_frame_equal(*rows, check_dtype=False)
    assert not table["system"].duplicated().any()
    assert list(table["mean"]) == sorted(table["mean"], reverse=True)
    # what is found step by step answers all; what is searched for once, or not at all, does not
    assert mean_of(table, system="IRCoT QA") == 100 > mean_of(table, system="OneR QA")
    assert mean_of(table, system="CoT") == 0
    tuned = table[table["k"] > 0]
    assert {"OneR QA", "IRCoT QA", "DecomP"} <= {*tuned["system"]}
    for row in tuned.itertuples():
        system = all_systems()[row.system]
        assert row.k in p.grid(system.module, "k", system.grid["k"])
    figure = draw_ceilings(table, "title")
    cells = [text.get_text() for text in figure.axes[0].texts]
    assert len(cells) == len(table) and "100 (K 2)" in cells and "0" in cells


def test_settings(p, monkeypatch):
    monkeypatch.setattr(ceilings, "DATASETS", ["musique"])
    table = ceilings.play_settings(p)
    few = mean_of(table, panel="IRCoT QA: kept paragraphs, K 8", x=5)
    assert few < mean_of(table, panel="IRCoT QA: kept paragraphs, K 8", x=30) == 100
    # as many rounds as hops are needed, whatever they are called
    for panel in ("IRCoT QA: sentences, K 4", "Self-Ask: follow-up questions", "SearChain: rounds"):
        lines = table[table["panel"] == panel]
        assert lines["mean"].is_monotonic_increasing and lines["mean"].iloc[0] <= 10
        assert set(lines["at"]) == {8 if "SearChain" not in panel else 5}
    figure = draw_settings(table, "title")
    axis = figure.axes[1]
    assert axis.get_title("left") == "IRCoT QA: K"
    assert list(axis.get_xticks()) == [2, 4, 6, 8, 12]


def test_dials(p, monkeypatch):
    ends = {dial: sorted({xs[0], dials.BASE[dial], xs[-1]}) for dial, xs in dials.STEPS.items()}
    monkeypatch.setattr(dials, "STEPS", ends)
    monkeypatch.setattr(dials, "DATASETS", ("musique", "hotpotqa"))
    table, _ = dials.play_dials(p)
    assert set(table["panel"]) == set(dials.BASE)
    # all know everything, and then CoT needs no more
    assert mean_of(table, panel="knows", x=1, system="CoT") == 100
    assert mean_of(table, panel="knows", x=0, system="CoT") < 20
    lost = {}
    for system in ("Self-Ask", "IRCoT QA", "SearChain"):
        right, wrong = (mean_of(table, panel="misreads", x=x, system=system) for x in (0, 0.5))
        lost[system] = right - wrong
    assert min(lost["Self-Ask"], lost["IRCoT QA"]) > 20
    assert 0 < lost["SearChain"] < lost["Self-Ask"]  # a second reader corrects it
    # the extractive reader is SearChain's alone
    of_extractor = table[table["panel"] == "extractor_misreads"]
    spread = of_extractor.groupby("system")["mean"].agg(np.ptp)
    assert set(spread[spread > 0].index) <= {"SearChain"}
    # where a dial is at its base, it is the same play in every panel
    at_base = table[table["x"] == table["at"]].groupby("system")["mean"]
    assert (at_base.nunique() == 1).all() and (at_base.size() > 4).all()


def test_retrieval(p, monkeypatch):
    ends = {panel: (xs[0], xs[-1]) for panel, xs in dials.RETRIEVAL.items()}
    monkeypatch.setattr(dials, "RETRIEVAL", ends)
    table = dials.play_retrieval(p)
    for system in ("Self-Ask", "IRCoT QA"):
        whole, gone = (mean_of(table, panel="misses", x=x, system=system) for x in (0, 0.8))
        assert whole > gone
    closed_book = table[table["system"] == "CoT"].groupby("panel")["mean"].nunique()
    assert (closed_book.drop("pages") == 1).all()
    assert set(table["x"][table["panel"] == "pages"]) == {300, 2400}


def scores_of(lines: dict[str, list[float]], n=40) -> pd.DataFrame:
    """Scores of questions by system, whose means at x = 0, 1, … are these, in one panel."""
    rows = []
    for (system, means), q in itertools.product(lines.items(), range(n)):
        rows += [
            ("knows", x, system, "musique", f"q{q}", float(q < m * n)) for x, m in enumerate(means)
        ]
    return pd.DataFrame(rows, columns=["panel", "x", "system", "dataset", "id", "score"])


def test_lines_cross_where_the_order_changes_by_more_than_chance():
    lines = {"A": [0.2, 0.5, 0.8], "B": [0.8, 0.5, 0.2], "C": [0.225, 0.525, 0.775]}
    found = dials.find_crossings(scores_of(lines))
    pairs = {(row.ahead, row.behind): (row.x, row.y) for row in found.itertuples()}
    assert pairs[("B", "A")] == (1, 50) and set(pairs) == {("B", "A"), ("B", "C")}
    apart = {"A": [0.9, 0.9, 0.9], "B": [0.1, 0.5, 0.89]}
    assert dials.find_crossings(scores_of(apart)).empty


def test_bands_have_the_means_and_their_intervals():
    scores = scores_of({"CoT": [0.1, 0.6], "DSP": [0.9, 0.2]}).assign(at=1)
    table = average(scores, "panel", "at", "x", "system")
    assert list(table["mean"]) == [10, 60, 90, 20] and (table["low"] < table["mean"]).all()
    figure = draw_abilities(table, "title", dials.find_crossings(scores), log=())
    [axis] = figure.axes
    means = [list(line.get_ydata()) for line in axis.lines]
    assert [10, 60] in means and [90, 20] in means
    assert [list(line.get_xdata()) for line in axis.lines if line.get_linestyle() == ":"] == [
        [1, 1]
    ]
    [rings] = [c for c in axis.collections if len(c.get_offsets()) and c.get_sizes().size]
    x, y = rings.get_offsets()[0]
    assert (x, y) == (0.667, 43.33)  # 80 of 120 points of the gap


@pytest.fixture(scope="module")
def bm25(tmp_path_factory):
    folder = tmp_path_factory.mktemp("retriever")
    return open_index(write_corpus(folder / "corpus", random_paragraphs(300)), folder / "index")


def positions(backend, request):
    [(_, reply)] = backend.answer([request])
    return [position for position, _ in json.loads(reply)]


def test_a_flawed_retriever(bm25):
    requests = [Retrieve(p.text[:40], 10) for p in random_paragraphs(300)]
    whole = [positions(bm25, r) for r in requests]
    assert [positions(FlawedRetriever(bm25), r) for r in requests] == whole
    missing = FlawedRetriever(bm25, misses=1.0)
    assert all(positions(missing, r)[:9] == best[1:] for r, best in zip(requests, whole))
    # more misses are the same ones and others
    rare, often = FlawedRetriever(bm25, misses=0.2), FlawedRetriever(bm25, misses=0.6)
    missed = [
        {n for n, r in enumerate(requests) if positions(backend, r)[0] != whole[n][0]}
        for backend in (rare, often)
    ]
    assert missed[0] < missed[1] and 40 < len(missed[0]) < 80 and 150 < len(missed[1]) < 210
    diluted = FlawedRetriever(bm25, distractors=0.5)
    kept = [[x for x in positions(diluted, r) if x in best] for r, best in zip(requests, whole)]
    assert all(len(k) < 10 for k in kept) and 4 < np.mean([len(k) for k in kept]) < 6.5
    # the best k are the first of more, as `depth` says
    few = [positions(diluted, Retrieve(r.query, 4)) for r in requests]
    assert few == [positions(diluted, r)[:4] for r in requests]
    assert len({bm25.fingerprint, rare.fingerprint, often.fingerprint, diluted.fingerprint}) == 4
    titled = Retrieve(requests[0].query, 3, titles=(random_paragraphs(300)[5].title,))
    for request in (titled, NearestTitle("boru", 3)):
        assert list(diluted.answer([request])) == list(bm25.answer([request]))
