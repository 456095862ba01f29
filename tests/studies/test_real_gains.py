"""Where retrieval helps real models: the kept scores, and tests against brute force."""

from itertools import combinations
from math import nan

import numpy as np
import pandas as pd
import pytest

from bench.real_anchor import FIXED, count_found
from ircot_studies.real_gains import (
    HOPS,
    MORE,
    TWO,
    compare_gains,
    compare_hops,
    compare_searches,
    compare_with_paper,
    draw_hops,
    subtract,
)
from ircot_studies.real_outputs import read_scores
from ircotlib.files import FIGURES, ROOT, SHIPPED
from ircotlib.parameters import read_parameters
from ircotlib.results.statistics import LEVEL, Difference, resampled_means

LLAMA, DAVINCI = "Llama-3.1-8B-Instruct", "text-davinci-003"
NO_GAIN, GAIN = "read at once − no retrieval", "step by step − no retrieval"
STEPS = "step by step − read at once"


@pytest.fixture(scope="module")
def scores():
    return read_scores()


@pytest.fixture(scope="module")
def hops(scores):
    return compare_hops(scores)


def tiny(two: list[float], more: list[float]) -> pd.DataFrame:
    """Scores of NoR QA, all 0, and of IRCoT QA, on questions of 2 and of 3 hops."""
    ids = [f"2hop__{n}" for n in range(len(two))]
    ids += [f"3hop1__{n}" for n in range(len(more))]
    own = {"model": "m", "dataset": "musique", "id": ids, "steps": nan}
    none = pd.DataFrame(own | {"system": "NoR QA", "f1": 0.0})
    ircot = pd.DataFrame(own | {"system": "IRCoT QA", "f1": two + more})
    return pd.concat([none, ircot])


@pytest.mark.parametrize(
    ("model", "contrast", "group", "n", "expected"),
    [
        (LLAMA, GAIN, TWO, 511, (10.6, 6.6, 14.6)),
        (LLAMA, GAIN, MORE, 489, (-1.2, -4.2, 1.8)),
        (LLAMA, STEPS, TWO, 511, (9.0, 5.8, 12.3)),
        (LLAMA, STEPS, MORE, 489, (2.9, 0.5, 5.3)),
        (LLAMA, NO_GAIN, TWO, 511, (1.5, -2.1, 5.2)),
        (LLAMA, NO_GAIN, MORE, 489, (-4.1, -7.1, -1.1)),
        (DAVINCI, STEPS, TWO, 254, (7.1, 2.2, 12.1)),
        (DAVINCI, STEPS, "3 hops", 154, (15.3, 9.4, 21.7)),
        (DAVINCI, STEPS, "4 hops", 92, (-2.1, -9.7, 5.4)),
    ],
)
def test_differences_by_hops(hops, model, contrast, group, n, expected):
    rows = hops.set_index(["model", "contrast", "hops"])
    row = rows.loc[model, contrast, group]
    ends = tuple(row[["difference", "low", "high"]])
    assert row["n"] == n and ends == pytest.approx(expected, abs=0.35)


def test_six_tests_of_a_model_are_corrected(hops):
    tested = hops[hops["p_holm"].notna()]
    assert set(tested["hops"]) == {TWO, MORE}
    assert list(tested.groupby("model").size()) == [6, 6]
    rows = tested[tested["model"] == LLAMA]
    worse = rows.set_index(["contrast", "hops"]).loc[NO_GAIN, MORE]
    assert worse["p"] == pytest.approx(0.0064, abs=0.0003)
    assert worse["p_holm"] == pytest.approx(0.026, abs=0.001)
    # what README.md says in words of its own
    gain = rows[rows["contrast"] == GAIN].set_index("hops")
    assert gain["p_holm"][TWO] < LEVEL < gain["p_holm"][MORE]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "IRCoT beats no retrieval on two-hop questions; with three and" in readme


def test_the_interaction_is_that_of_all_ways_to_name_the_hops():
    two, more = [1.0, 0.8, 0.5, 0.9], [0.1, 0.6, 0.0]
    [row] = compare_gains(tiny(two, more)).to_dict("records")
    values = np.array(two + more)
    ways = []
    for chosen in combinations(range(7), 4):
        has_two = np.isin(range(7), chosen)
        ways.append(values[has_two].mean() - values[~has_two].mean())
    ours = np.mean(two) - np.mean(more)
    by_hand = 2 * np.mean(np.array(ways) >= ours - 1e-9)
    assert row["difference"] == pytest.approx(100 * ours)
    assert row["p"] == pytest.approx(by_hand) and 0 < by_hand < 0.2
    [same] = compare_gains(tiny(more, more)).to_dict("records")
    assert (same["difference"], same["p"]) == (0, 1)


def test_the_interval_of_the_difference_of_two_estimates():
    rng = np.random.default_rng(1)
    a, b = rng.exponential(20, 400), rng.normal(3, 30, 300)
    means = resampled_means(a, 1) - resampled_means(b, 2)
    sides = []
    for values in (a, b):
        ends = np.percentile(resampled_means(values), [2.5, 97.5])
        sides.append(Difference(values.mean(), *ends, nan))
    ours = subtract(*sides)
    low, high = np.percentile(means, [2.5, 97.5])
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.25)
    assert ours.high - ours.low > sides[0].high - sides[0].low


def test_the_papers_difference_is_an_estimate_too(scores):
    differences = compare_searches(scores, "dataset")
    table = compare_with_paper(differences)
    assert len(table) == 9 * 2  # of text-davinci-003 none: the paper ran other systems
    rows = table.set_index(["dataset", "contrast", "paper_model"])
    row = rows.loc["hotpotqa", STEPS, "Flan-T5-XXL"]
    assert row["paper"] == pytest.approx(9.4)
    assert row["ours_minus_paper"] == pytest.approx(3.68 - 9.4, abs=0.01)
    # half of ours and, of half as many questions, of the paper's: a root of 3 as wide
    wide = row["ours_minus_high"] - row["ours_minus_low"]
    assert wide == pytest.approx(3**0.5 * (row["high"] - row["low"]), abs=0.05)


def test_all_panels_have_the_same_rows(hops):
    figure = draw_hops(hops, "title")
    assert len(figure.axes) == 3
    for axis in figure.axes:
        marks = [line.get_marker() for line in axis.lines]
        assert marks.count("o") == 2 * len(HOPS)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[:3] == [LLAMA, "2 hops (n = 511)", "3 and 4 hops (n = 489)"]
    kept = (FIGURES / "real_outputs_hops.svg").read_text(encoding="utf-8")
    assert "profile" not in kept and "outputs of Llama" in kept


def test_the_kept_tables_are_those_of_the_kept_scores(scores, hops):
    by_dataset = compare_searches(scores, "dataset")
    tables = {
        "hops": hops,
        "gains": compare_gains(scores),
        "paper": compare_with_paper(by_dataset),
    }
    for name, table in tables.items():
        kept = pd.read_csv(FIGURES / f"real_outputs_{name}.csv")
        pd.testing.assert_frame_equal(kept, table, check_dtype=False, rtol=1e-9)


def test_what_a_real_model_found_beside_it(shared):
    p = read_parameters("sample", {"data_dir": str(shared)}).change(**FIXED)
    counted = count_found(p, pd.read_csv(FIGURES / "real_anchor.csv"))
    kept = pd.read_csv(SHIPPED / "data" / "real_found.csv")
    pd.testing.assert_frame_equal(counted, kept)
