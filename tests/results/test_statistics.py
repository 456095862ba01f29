"""Intervals, exact tests of differences, what is equal, and many tests at once."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from ircotlib.results import statistics
from ircotlib.results.statistics import (
    bootstrap_interval,
    holm,
    is_equal,
    mean_interval,
    paired_difference,
    paired_p,
    unpaired_p,
)


def test_bootstrap_interval_depends_on_the_seed_only_and_stays_the_same():
    values = np.random.default_rng(1).uniform(size=101)
    expected = (0.458630649873675, 0.569069028392675)
    assert bootstrap_interval(values, seed=3) == pytest.approx(expected, abs=1e-11)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


def test_p_is_below_5_percent_only_if_the_interval_excludes_zero():
    """What verdicts rest on, also for few questions and near the border."""
    random, decided = np.random.default_rng(0), 0
    for n in (2, 6, 40, 100) * 40:
        a, b = random.integers(0, 2, (2, n)) + random.choice([0.0, 0.15]) * np.array([[1], [0]])
        test = paired_difference(a, b)
        decided += test.p < 0.05
        assert test.p >= 0.05 or not test.low <= 0 <= test.high
    assert decided > 20


@pytest.mark.parametrize(("mean", "n", "p"), [(0, 3, 1), (0.5, 2, 0.5), (1, 1, 1), (1, 10, 2**-9)])
def test_equal_differences_are_judged_by_their_sign(mean, n, p):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_difference([mean] * n, [0] * n) == (mean, mean, mean, p)


def test_nothing_depends_on_the_order_of_questions():
    random = np.random.default_rng(8)
    a, b = np.array([1] * 6 + [0] * 14), np.zeros(20)
    for values in (a, random.uniform(size=20)):
        for order in (random.permutation(20) for _ in range(3)):
            again, first = paired_difference(values[order], b), paired_difference(values, b)
            assert again == pytest.approx(first, rel=1e-12)
            assert unpaired_p(values[order], b[:9] + 0.5) == unpaired_p(values, b[:9] + 0.5)
    assert paired_difference(a, b).p == 0.03125


def test_scores_that_differ_by_rounding_are_equal():
    """0.1 + 0.2 is not 0.3, and sums depend on their order (scipy#17667)."""
    noise = [0.1 + 0.2 - 0.3] * 12
    assert noise[0] and paired_p(noise) == 1 and paired_p([0.3, *noise]) == 1
    means = [sum(of) / 3 for of in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1))]
    assert means[0] != means[1] and paired_difference(*([mean] * 12 for mean in means)).p == 1


def test_many_differences_are_tested_by_some_of_their_signs(monkeypatch):
    random = np.random.default_rng(4)
    values = random.choice([-1, -0.5, 0, 0.4, 1], 200)
    exact = paired_p(values)
    monkeypatch.setattr(statistics, "EXACT", 0)
    assert exact != paired_p(values) == pytest.approx(exact, abs=0.01)
    assert paired_p([1.0] * 60 + [-1.0]) == 1 / (1 + statistics.DRAWS)  # is never 0


@pytest.mark.parametrize(
    ("right", "n", "expected"),
    [(0, 3, (0, 70.8)), (0, 25, (0, 13.7)), (4, 4, (39.8, 100)), (13, 40, (18.6, 49.1))],
)
def test_the_interval_of_a_share_is_exact(right, n, expected):
    """It is not of no width where all are right or wrong (Clopper & Pearson 1934)."""
    ends = mean_interval([1] * right + [0] * (n - right))
    assert [100 * end for end in ends] == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("scores", [[0.5, 1, 0], [1 / 3, 0, 0], [0.25] * 4])
def test_the_interval_of_other_scores_is_the_bootstraps(scores):
    assert mean_interval(scores) == bootstrap_interval(scores)


@pytest.mark.parametrize(
    "test", [mean_interval, bootstrap_interval, lambda a: paired_difference(a, a)]
)
def test_no_values_and_nan_have_no_interval(test):
    with pytest.raises(ValueError, match="at least one value"):
        test([])
    with pytest.raises(ValueError, match="1 NaN among 2 values"):
        test([0.5, math.nan])
    with pytest.raises(ValueError, match="shorter"):
        paired_difference([1, 0], [1])


def test_what_differs_by_less_than_3_points_is_equal():
    assert is_equal([0.0] * 100) and not is_equal([0.0] * 40)
    flips = [100.0, -100.0] * 10  # of 1,000 questions 20 change
    assert is_equal([0.0] * 980 + flips) and not is_equal([0.0] * 80 + flips)
    assert is_equal([1.5] * 3000) and not is_equal([3.5] * 3000)
    assert is_equal([2.9, -2.9] * 2000) and not is_equal([100.0] + [0.0] * 99)


def test_seldom_is_something_called_equal_that_is_3_points_better():
    """Of 0 and 1, at the border, where a bootstrap interval would err most: few differ."""
    random = np.random.default_rng(12)
    for n, worse in ((100, 0), (100, 0.05), (400, 0.02)):
        chances = [0.03 + worse, worse, 1 - 0.03 - 2 * worse]
        draws = random.multinomial(n, chances, size=1_000)
        values = [np.repeat([100.0, -100.0, 0.0], counts) for counts in draws]
        assert np.mean([is_equal(of) for of in values]) < 0.07


def test_holm_as_computed_by_hand():
    by_hand = np.array([0.03, 0.06, 0.06, 0.02])  # 4 × .005, 3 × .01, 2 × .03, .06
    assert list(holm([0.01, 0.04, 0.03, 0.005])) == pytest.approx(by_hand)
    assert list(holm([0.2, 0.6, 0.9])) == pytest.approx([0.6, 1, 1]) and len(holm([])) == 0


def test_verdicts_are_by_p_and_sign():
    p, differences = pd.Series([0.049, 0.05, 0.01]), pd.Series([1, 1, -1])
    assert list(statistics.verdicts(p, differences)) == ["holds", "cannot tell", "does not hold"]


def test_means_say_how_many_demonstrations_were_shown():
    rows = [("a", "NoR QA", 9), ("b", "NoR QA", 7), ("a", "OneR", None), ("a", "OneR QA", 0.25)]
    scores = pd.DataFrame(rows, columns=["dataset", "system", "demonstrations_shown"])
    scores = scores.assign(model="m", id="q", f1=0.5, metric="f1", demonstration_set=0)
    scores = scores.astype({"demonstrations_shown": object}).assign(
        demonstrations=scores["dataset"]
    )
    table = statistics.summarise(scores, ("dataset", "system"))
    assert list(table.columns[-3:]) == ["deviation", "demonstrations_shown", "n"]
    assert list(table["demonstrations_shown"].dropna()) == [9, 7, 0.25]
    sets = pd.concat([scores, scores.assign(demonstration_set=1, f1=0.3)])
    deviations = statistics.summarise(sets, ("dataset", "system"))["deviation"]
    assert list(deviations.isna()) == [False, False, False, True]  # of a quarter of one: none
    known = scores.drop(columns="demonstrations_shown")
    assert "demonstrations_shown" not in statistics.summarise(known, ("dataset", "system"))
