"""Intervals and tests of differences beside those of scipy."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap, fisher_exact, permutation_test, ttest_rel

from ircotlib.results import statistics
from ircotlib.results.statistics import (
    bootstrap_interval,
    paired_difference,
    paired_p,
    unpaired_difference,
    unpaired_p,
)


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


def test_p_of_other_scores_is_that_of_all_signs():
    random = np.random.default_rng(5)
    for n in (2, 4, 11):
        f1 = random.choice([0, 1 / 3, 0.5, 2 / 3, 0.8, 1], (2, n))
        for differences in (f1[0] - f1[1], random.normal(0.3, 1, n)):
            steps = np.rint(differences / (abs(differences).max() or 1) * statistics.PAIRED)
            sums = [abs(steps @ signs) for signs in itertools.product((1, -1), repeat=n)]
            expected = np.mean(np.array(sums) >= abs(steps.sum()))
            assert paired_p(differences) == pytest.approx(expected, rel=1e-12)
            exact = permutation_test(
                (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
            )
            assert paired_p(differences) == pytest.approx(exact.pvalue, abs=0.01)


def test_p_of_different_questions_is_that_of_all_groups():
    random = np.random.default_rng(6)
    a, b = random.integers(1, 6, 5), random.integers(2, 7, 8)
    far = abs(a.mean() - b.mean()) - 1e-9
    together, groups = np.concatenate([a, b]), itertools.combinations(range(13), 5)
    means = [(together[[*g]].mean(), np.delete(together, g).mean()) for g in groups]
    assert unpaired_p(a, b) == pytest.approx(np.mean([abs(x - y) >= far for x, y in means]))
    assert unpaired_p(b, a) == pytest.approx(unpaired_p(a, b))
    right, wrong = [1] * 9 + [0] * 3, [1] * 3 + [0] * 9  # symmetrical: as Fisher's exact test
    expected = fisher_exact([[9, 3], [3, 9]]).pvalue
    assert unpaired_p(right, wrong) == pytest.approx(expected)
    test = unpaired_difference(right, wrong)
    assert test.low < test.mean == 0.5 < test.high and test.p == unpaired_p(right, wrong)


def test_p_of_many_different_questions_is_nearly_that_of_all_groups(monkeypatch):
    random = np.random.default_rng(10)
    for size, more in itertools.product((60, 200), (0, 0.1, 0.2)):
        a, b = (np.rint(random.beta(0.5, 0.5, n) * 6) / 6 for n in (size, 200))
        a = np.clip(a + (random.random(size) < more), 0, 1)
        exact = unpaired_p(a, b)
        with monkeypatch.context() as patch:
            patch.setattr(statistics, "EXACT", 0)
            assert unpaired_p(a, b) == pytest.approx(exact, rel=0.1, abs=1e-4)
            assert unpaired_p([1] * 9, [1] * 8) == 1
    large = np.arange(statistics.EXACT) % 2
    assert unpaired_p(large, large) == 1


def test_draws_that_are_kept_or_made_in_pieces_are_the_same(monkeypatch):
    values = np.random.default_rng(11).random(50)
    kept = statistics.resampled_means(values, seed=5)
    monkeypatch.setattr(statistics, "KEPT", 10)
    assert statistics.resampled_means(values, seed=5).tolist() == kept.tolist()
    counts = np.concatenate(list(statistics._draw(50, 5)))
    drawn = np.random.default_rng(5).integers(50, size=counts.shape)
    expected = [np.bincount(row, minlength=50) for row in drawn[[0, 499, 500, 9_999]]]
    assert (counts[[0, 499, 500, 9_999]] == expected).all()
