"""Bootstrap intervals, exact tests of differences, and many tests at once."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from ircotlib.results.dependence import describe_shown
from scipy.stats import binomtest

from ircotlib.results import statistics
from ircotlib.results.statistics import (
    bootstrap_interval,
    detectable,
    holm,
    mean_interval,
    paired_difference,
    questions_needed,
    unpaired_difference,
)


def test_bootstrap_interval_depends_on_the_seed_only_and_stays_the_same():
    values = np.random.default_rng(1).uniform(size=101)
    expected = (0.458630649873675, 0.569069028392675)
    assert bootstrap_interval(values, seed=3) == pytest.approx(expected, abs=1e-11)
    assert bootstrap_interval(list(values), seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


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


def test_nothing_depends_on_the_order_of_questions():
    random = np.random.default_rng(8)
    a, b = np.array([1] * 6 + [0] * 14), np.zeros(20)
    for values in (a, random.uniform(size=20)):
        for order in (random.permutation(20) for _ in range(3)):
            again, first = paired_difference(values[order], b), paired_difference(values, b)
            assert again == pytest.approx(first, rel=1e-12)
            again = unpaired_difference(values[order], b[:9] + 0.5)
            assert again == pytest.approx(unpaired_difference(values, b[:9] + 0.5), rel=1e-12)
    assert paired_difference(a, b).p == 0.03125


def test_so_many_questions_decide_four_times_out_of_five():
    assert questions_needed(0.0, 1.0, 0.05) == math.inf
    assert math.isnan(questions_needed(1.0, 1.0, math.nan))
    random, level = np.random.default_rng(9), 0.05 / 10
    shares = [0.2, 0.05, 0.75]  # of questions won, lost, and equal
    n = math.ceil(questions_needed(0.15, (0.25 - 0.15**2) ** 0.5, level))
    counts = random.multinomial(n, shares, size=300)
    share = np.mean([binomtest(won, won + lost).pvalue < level for won, lost, _ in counts])
    assert share == pytest.approx(0.8, abs=0.06)


def test_the_smallest_difference_that_would_be_found_is_that_for_which_so_many_are_needed():
    for n, deviation, level in itertools.product((20, 100, 3000), (0.3, 45.0), (0.05, 0.0004)):
        mean = detectable(n, deviation, level)
        assert questions_needed(mean, deviation, level) == pytest.approx(n)
    assert detectable(3, 1.0, 0.05) == math.inf and detectable(100, 0.0, 0.05) == 0
    # a sixth of the answers differ: of 100 questions 12 points for one test
    assert detectable(100, 41, 0.05) == pytest.approx(11.9, abs=0.1)


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
    with pytest.raises(ValueError, match="2 and 1"):
        paired_difference([1, 0], [1])


def test_holm_as_computed_by_hand():
    by_hand = np.array([0.03, 0.06, 0.06, 0.02])  # 4 × .005, 3 × .01, 2 × .03, .06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx(by_hand)
    assert list(holm([0.2, 0.6, 0.9])) == pytest.approx([0.6, 1, 1]) and len(holm([])) == 0


def test_verdicts_are_by_p_and_sign():
    p, differences = pd.Series([0.049, 0.05, 0.01]), pd.Series([1, 1, -1])
    assert list(statistics.verdicts(p, differences)) == ["holds", "cannot tell", "does not hold"]


def test_means_and_titles_say_how_many_demonstrations_were_shown():
    rows = [("a", "NoR QA", 9), ("b", "NoR QA", 7), ("a", "OneR", None), ("a", "OneR QA", 0.25)]
    scores = pd.DataFrame(rows, columns=["dataset", "system", "demonstrations_shown"])
    scores = scores.assign(model="m", id="q", f1=0.5, metric="f1", demonstration_set=0)
    scores = scores.astype({"demonstrations_shown": object}).assign(
        demonstrations=scores["dataset"]
    )
    said = "demonstrations in the last prompt: NoR QA 7.0 to 9.0, OneR QA 0.2"
    assert describe_shown(scores) == said
    assert describe_shown(scores[scores["system"] == "OneR"]) == ""
    table = statistics.summarise(scores, ("dataset", "system"))
    assert list(table.columns[-3:]) == ["deviation", "demonstrations_shown", "n"]
    assert list(table["demonstrations_shown"].dropna()) == [9, 7, 0.25]
    sets = pd.concat([scores, scores.assign(demonstration_set=1, f1=0.3)])
    deviations = statistics.summarise(sets, ("dataset", "system"))["deviation"]
    assert list(deviations.isna()) == [False, False, False, True]  # of a quarter of one: none
    known = scores.drop(columns="demonstrations_shown")
    assert "demonstrations_shown" not in statistics.summarise(known, ("dataset", "system"))
