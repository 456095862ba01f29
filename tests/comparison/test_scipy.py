"""Intervals and tests of differences beside those of scipy."""

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap, ttest_rel

from ircotlib.results import statistics
from ircotlib.results.statistics import bootstrap_interval, paired_difference, paired_p


def test_the_bootstrap_is_that_of_scipy():
    values = np.sort(np.random.default_rng(2).integers(-1, 2, size=60) / 3)
    options = {"n_resamples": 10_000, "method": "percentile", "rng": np.random.default_rng(4)}
    expected = bootstrap((values,), np.mean, **options)
    means = statistics.resampled_means(values, seed=4)
    assert means == pytest.approx(expected.bootstrap_distribution, abs=1e-11)
    assert bootstrap_interval(values, 4) == pytest.approx(expected.confidence_interval, abs=1e-11)
    together = statistics.resampled_means(np.array([values[::-1], values - 1]).T, 4)
    assert together == pytest.approx(np.array([means, means - 1]).T)


def test_the_difference_of_two_systems_agrees_with_the_t_test():
    random = np.random.default_rng(7)
    b = random.uniform(0, 1, size=400)
    for shift in (0.0, -0.03, 0.3):
        a = b + random.normal(shift, 0.25, size=400)
        ours, expected = paired_difference(a, b), ttest_rel(a, b)
        low, high = expected.confidence_interval()
        assert ours.mean == pytest.approx((a - b).mean())
        assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.004)
        assert ours.p == pytest.approx(expected.pvalue, abs=0.03)
        other = paired_difference(b, a)
        mirrored = (-ours.mean, -ours.high, -ours.low)
        assert (other.mean, other.low, other.high) == pytest.approx(mirrored, abs=0.004)


@pytest.mark.parametrize(
    ("wins", "losses", "ties"), [(6, 0, 14), (9, 3, 88), (0, 0, 5), (40, 71, 9)]
)
def test_of_right_and_wrong_answers_p_is_that_of_the_sign_test(wins, losses, ties):
    differences = np.repeat([100.0, -100.0, 0.0], [wins, losses, ties])
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1
    assert paired_p(differences) == pytest.approx(p, rel=1e-12)
