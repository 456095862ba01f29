"""Bootstrap intervals, differences of two systems on the same questions, and many tests at once."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap, ttest_rel

from ircotlib.results import statistics
from ircotlib.results.statistics import bootstrap_interval, holm, p_values, paired_difference


def test_bootstrap_interval_depends_on_the_seed_only_and_stays_the_same():
    values = np.random.default_rng(1).uniform(size=101)
    expected = (0.4593279274732244, 0.5696368822850943)
    assert bootstrap_interval(values, seed=3) == pytest.approx(expected, abs=1e-11)
    assert bootstrap_interval(list(values), seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


def test_the_bootstrap_is_that_of_scipy():
    values = np.random.default_rng(2).integers(-1, 2, size=60) / 3
    options = {"n_resamples": 10_000, "method": "percentile", "rng": np.random.default_rng(4)}
    expected = bootstrap((values,), np.mean, **options)
    means = statistics.resampled_means(values, seed=4)
    assert means == pytest.approx(expected.bootstrap_distribution, abs=1e-11)
    assert bootstrap_interval(values, 4) == pytest.approx(expected.confidence_interval, abs=1e-11)
    together = statistics.resampled_means(np.array([values, -values]).T, 4)
    assert (together == np.array([means, -means]).T).all()


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


def test_p_is_below_5_percent_only_if_the_interval_excludes_zero():
    """What `verdicts` rests on, also for few questions and near the border."""
    random, decided = np.random.default_rng(0), 0
    for n in (2, 6, 40, 100) * 40:
        a, b = random.integers(0, 2, (2, n)) + random.choice([0.0, 0.15]) * np.array([[1], [0]])
        test = paired_difference(a, b)
        decided += test.p < 0.05
        assert test.p >= 0.05 or not test.low <= 0 <= test.high
    assert decided > 20


def test_pairs_see_what_intervals_of_their_own_do_not():
    random = np.random.default_rng(3)
    b = random.integers(0, 2, size=300).astype(float)
    a = b + (random.uniform(size=300) < 0.05) * (1 - b)  # a few more are right, and none fewer
    assert bootstrap_interval(a)[0] < bootstrap_interval(b)[1]
    assert paired_difference(a, b).low > 0 and paired_difference(a, b).p < 0.01


@pytest.mark.parametrize(("mean", "n", "p"), [(0, 3, 1), (0.5, 2, 0.5), (1, 1, 1), (1, 10, 2**-9)])
def test_equal_differences_are_judged_by_their_sign(mean, n, p):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_difference([mean] * n, [0] * n) == statistics.Difference(mean, mean, mean, p)


def test_many_systems_share_their_resamples():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, (2, 60)).astype(float)
    columns = [b - a, np.clip(a + (rng.random(60) < 0.1), 0, 1) - a, a - a, a - a + 1]
    expected = [paired_difference(column, 0 * a).p for column in columns]
    assert list(p_values(np.array(columns).T)) == expected
    assert expected[2] == 1 and expected[3] == 2 * 0.5**60


@pytest.mark.parametrize("test", [bootstrap_interval, lambda a: paired_difference(a, a)])
def test_no_values_and_nan_have_no_interval(test):
    with pytest.raises(ValueError, match="at least one value"):
        test([])
    with pytest.raises(ValueError, match="1 NaN among 2 values"):
        test([0.5, math.nan])
    with pytest.raises(ValueError, match="2 and 1"):
        paired_difference([1, 0], [1])


def test_holm_as_computed_by_hand():
    by_hand = np.array([0.03, 0.06, 0.06, 0.02])  # 4 × .005, 3 × .01, 2 × .03, .06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx(by_hand)
    assert list(holm([0.2, 0.6, 0.9])) == pytest.approx([0.6, 1, 1]) and len(holm([])) == 0


def test_verdicts_are_by_p_and_sign():
    p, differences = pd.Series([0.049, 0.05, 0.01]), pd.Series([1, 1, -1])
    assert list(statistics.verdicts(p, differences)) == ["holds", "cannot tell", "does not hold"]
