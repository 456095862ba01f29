"""Bootstrap intervals, and differences of two systems on the same questions."""

import math
import warnings

import numpy as np
import pytest
from scipy.stats import bootstrap, ttest_rel

from ircotlib.results.statistics import (
    Difference,
    bootstrap_interval,
    paired_difference,
    resampled_means,
)


def test_bootstrap_interval_agrees_with_the_normal_interval():
    values = np.random.default_rng(7).normal(0.5, 0.2, size=500)
    low, high = bootstrap_interval(values, resamples=4000)
    half = 1.96 * values.std() / np.sqrt(values.size)
    assert low == pytest.approx(values.mean() - half, abs=0.002)
    assert high == pytest.approx(values.mean() + half, abs=0.002)


def test_bootstrap_interval_depends_on_the_seed_only():
    values = [0.0, 1.0, 1.0, 0.5]
    assert bootstrap_interval(values, resamples=200) == bootstrap_interval(
        values, seed=0, resamples=200
    )
    assert bootstrap_interval(list(range(30)), seed=1, resamples=200) != bootstrap_interval(
        list(range(30)), seed=2, resamples=200
    )
    assert bootstrap_interval([0.25], resamples=10) == (0.25, 0.25)
    with pytest.raises(ValueError, match="at least one value"):
        bootstrap_interval([])
    with pytest.raises(ValueError, match="found 1 NaN among 2 values: leave questions without"):
        bootstrap_interval([0.5, math.nan])


def test_bootstrap_interval_stays_the_same():
    values = np.random.default_rng(1).uniform(size=101)
    expected = (0.4593279274732244, 0.5696368822850943)
    assert bootstrap_interval(values, seed=3) == pytest.approx(expected, abs=1e-11)


def test_the_bootstrap_is_that_of_scipy():
    values = np.random.default_rng(2).integers(-1, 2, size=60) / 3
    told = bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(4)
    )
    means = resampled_means(values, seed=4)
    assert means == pytest.approx(told.bootstrap_distribution, abs=1e-11)
    assert bootstrap_interval(values, 4) == pytest.approx(told.confidence_interval, abs=1e-11)
    assert (resampled_means(np.array([values, -values]).T, 4) == np.array([means, -means]).T).all()


def test_the_difference_of_two_systems_agrees_with_the_t_test():
    random = np.random.default_rng(7)
    b = random.uniform(0, 1, size=400)
    for shift in (0.0, 0.02, -0.03, 0.3):
        a = b + random.normal(shift, 0.25, size=400)
        found, expected = paired_difference(a, b), ttest_rel(a, b)
        low, high = expected.confidence_interval()
        assert found.mean == pytest.approx((a - b).mean())
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.004)
        assert found.p == pytest.approx(expected.pvalue, abs=0.03)
        assert (found.p < 0.05) == (not found.low <= 0 <= found.high)
        other = paired_difference(b, a)
        assert (other.mean, other.low, other.high) == pytest.approx(
            (-found.mean, -found.high, -found.low), abs=0.004
        )


def test_pairs_see_what_intervals_of_their_own_do_not():
    random = np.random.default_rng(3)
    b = random.integers(0, 2, size=300).astype(float)
    a = b + (random.uniform(size=300) < 0.05) * (1 - b)  # a few more are right, and none fewer
    assert bootstrap_interval(a)[0] < bootstrap_interval(b)[1]
    assert paired_difference(a, b).low > 0 and paired_difference(a, b).p < 0.01


def test_the_difference_depends_on_the_seed_only():
    a, b = [0.0, 1.0, 1.0, 0.5, 1.0, 0.2], [0.0, 0.5, 1.0, 1.0, 0.0, 0.1]
    assert paired_difference(a, b) == paired_difference(tuple(a), np.array(b), seed=0)
    wide = np.random.default_rng(0).normal(size=(2, 50))
    assert paired_difference(*wide, seed=1) != paired_difference(*wide, seed=2)


@pytest.mark.parametrize(
    ("a", "b", "mean", "p"),
    [
        ([1, 0, 0.5], [1, 0, 0.5], 0, 1),
        ([1, 1], [0.5, 0.5], 0.5, 0.5),
        ([1], [0], 1, 1),
        ([1] * 10, [0] * 10, 1, 2**-9),
    ],
)
def test_equal_differences_are_judged_by_their_sign(a, b, mean, p):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_difference(a, b) == Difference(mean, mean, mean, p)


def test_a_difference_needs_pairs():
    with pytest.raises(ValueError, match="on the same questions, found 2 and 1"):
        paired_difference([1, 0], [1])
    with pytest.raises(ValueError, match="at least one value"):
        paired_difference([], [])
    with pytest.raises(ValueError, match="found 1 NaN among 2 values"):
        paired_difference([1, math.nan], [1, 1])
