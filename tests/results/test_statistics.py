"""Intervals and exact tests beside scipy's, what is equal, and many tests at once."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, bootstrap, permutation_test

from ircot_studies.differences import unpaired_p
from ircotlib.results import statistics
from ircotlib.results.statistics import (
    holm,
    mean_interval,
    paired_difference,
    paired_interval,
    paired_p,
)


def test_the_bootstrap_is_that_of_scipy_and_stays_the_same():
    values = np.sort(np.random.default_rng(2).integers(-1, 2, size=60) / 3)
    options = {"n_resamples": 10_000, "method": "percentile"}
    rng = np.random.default_rng(0)
    expected = bootstrap((values,), np.mean, rng=rng, **options)
    means = statistics.resampled_means(values)
    assert means == pytest.approx(expected.bootstrap_distribution, abs=1e-11)
    interval = pytest.approx(expected.confidence_interval, abs=1e-11)
    assert mean_interval(values) == interval
    together = statistics.resampled_means(np.array([values[::-1], values - 1]).T)
    assert together == pytest.approx(np.array([means, means - 1]).T)


SHARES = [
    (0, 3, (0, 70.8)),
    (0, 25, (0, 13.7)),
    (4, 4, (39.8, 100)),
    (13, 40, (18.6, 49.1)),
]


@pytest.mark.parametrize(("right", "n", "expected"), SHARES)
def test_the_interval_of_a_share_is_exact(right, n, expected):
    """It is not of no width where all are right or wrong (Clopper & Pearson 1934)."""
    ends = mean_interval([1] * right + [0] * (n - right))
    assert [100 * end for end in ends] == pytest.approx(expected, abs=0.05)


def test_no_values_and_nan_have_no_interval():
    for test in (mean_interval, lambda a: paired_difference(a, a)):
        with pytest.raises(ValueError, match="expected values, no NaN"):
            test([])
        with pytest.raises(ValueError, match="1 NaN among 2 values"):
            test([0.5, math.nan])
    with pytest.raises(ValueError, match="shorter"):
        paired_difference([1, 0], [1])


@pytest.mark.parametrize("counts", [(6, 0, 14), (9, 3, 88), (0, 0, 5), (40, 71, 9)])
def test_of_right_and_wrong_answers_p_is_that_of_the_sign_test(counts):
    wins, losses, _ = counts
    differences = np.repeat([100.0, -100.0, 0.0], counts)
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1
    assert paired_p(differences) == pytest.approx(p, rel=1e-12)


def test_p_of_other_scores_is_that_of_all_signs(monkeypatch):
    random = np.random.default_rng(5)
    for n in (2, 4, 11):
        f1 = random.choice([0, 1 / 3, 0.5, 2 / 3, 0.8, 1], (2, n))
        for differences in (f1[0] - f1[1], random.normal(0.3, 1, n)):
            signs = np.array(list(itertools.product((1, -1), repeat=n)))
            sums = abs(signs @ differences)
            expected = np.mean(sums >= abs(differences.sum()) - statistics.SAME)
            # the test adds up steps of the largest difference
            assert paired_p(differences) == pytest.approx(expected, abs=0.012)
            assert paired_p(random.permutation(differences)) == paired_p(differences)
    values = random.choice([-1, -0.5, 0, 0.4, 1], 200)
    exact = paired_p(values)
    monkeypatch.setattr(statistics, "EXACT", 0)  # too many to count: some of the signs
    assert exact != paired_p(values) == pytest.approx(exact, abs=0.01)
    assert paired_p([1.0] * 60 + [-1.0]) == 1 / (1 + statistics.DRAWS)  # is never 0


def test_p_of_different_questions_is_that_of_all_groups():
    random = np.random.default_rng(6)
    a, b = random.integers(1, 6, 5), random.integers(2, 7, 8)
    test = permutation_test(
        (a, b), lambda x, y: x.mean() - y.mean(), n_resamples=np.inf
    )
    assert unpaired_p(a, b) == unpaired_p(b, a) == pytest.approx(test.pvalue)
    many = [1] * 30 + [0] * 20, [1] * 20 + [0] * 40  # more ways than are drawn
    assert unpaired_p(*many) == pytest.approx(0.0072, abs=0.003)
    assert unpaired_p([1.0], [0.0] * 40) == 1


def test_scores_that_differ_by_rounding_are_equal():
    """0.1 + 0.2 is not 0.3, and sums depend on their order (scipy#17667)."""
    noise = [0.1 + 0.2 - 0.3] * 12
    assert noise[0] and paired_p(noise) == 1 and paired_p([0.3, *noise]) == 1
    # `sum` adds exactly from Python 3.12
    a, b = (0.1 + 0.2 + 0.3) / 3, (0.3 + 0.2 + 0.1) / 3
    assert a != b and paired_difference([a] * 12, [b] * 12).p == 1


def test_an_interval_of_a_difference_has_the_means_that_its_test_does_not_reject():
    random = np.random.default_rng(7)
    for values in (random.choice([-1, 0, 1, 1], 60), random.normal(0.3, 1, 40)):
        low, high = paired_interval(values)
        assert low < values.mean() < high
        for end in (low, high):  # p of a shift to an end is 5%, within its sampling
            assert paired_p(values - end) == pytest.approx(0.05, abs=0.012)
        assert paired_interval(random.permutation(values)) == (low, high)
    assert paired_interval([1.0] * 30) == (1, 1)
    # the other half counts three times as much as the first
    half = random.normal(0, 1, 50), random.normal(1, 1, 50)
    low, high = paired_interval(np.concatenate(half), [1] * 50 + [3] * 50)
    assert low < (half[0].mean() + 3 * half[1].mean()) / 4 < high
    for _ in range(20):  # about as wide as by the bootstrap
        values = random.choice([-100, 0, 0, 100, 100], 100)
        width, usual = (
            np.ptp(paired_interval(values)),
            np.ptp(mean_interval(values)),
        )
        assert width == pytest.approx(usual, rel=0.1)


def test_holm_as_computed_by_hand():
    by_hand = np.array([0.03, 0.06, 0.06, 0.02])  # 4 × .005, 3 × .01, 2 × .03, .06
    assert list(holm([0.01, 0.04, 0.03, 0.005])) == pytest.approx(by_hand)
    assert list(holm([0.2, 0.6, 0.9])) == pytest.approx([0.6, 1, 1])
    assert len(holm([])) == 0


def test_a_mean_of_no_demonstrations_has_no_deviation():
    rows = [("a", "NoR QA", 9), ("b", "NoR QA", 7)]
    rows += [("a", "OneR", None), ("a", "OneR QA", 0.25)]
    scores = pd.DataFrame(rows, columns=["dataset", "system", "demonstrations_shown"])
    scores = scores.assign(id="q", f1=0.5, metric="f1", demonstration_set=0)
    sets = pd.concat([scores, scores.assign(demonstration_set=1, f1=0.3)])
    table = statistics.summarise(sets, ("dataset", "system"))
    assert list(table.columns[-3:]) == ["deviation", "demonstrations_shown", "n"]
    assert list(table["demonstrations_shown"].dropna()) == [9, 7, 0.25]
    # of a quarter of one
    assert list(table["deviation"].isna()) == [False, False, False, True]
