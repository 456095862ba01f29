"""Scores of answers on pairs frozen from the official scorers' definitions, each pinning one rule; recall; the bootstrap."""

import numpy as np
import pytest

from ircotlib.metrics import answer_f1, bootstrap_interval, exact_match, paragraph_recall

HOTPOT = ("hotpotqa", "2wikimultihopqa", "mini")
ALL = (*HOTPOT, "musique")

# Rule, data sets, prediction, answers, exact match, F1.
PAIRS = [
    ("equal texts", ALL, "Tierra del Fuego", ["Tierra del Fuego"], 1, 1),
    ("nothing in common", ALL, "Rome", ["Paris"], 0, 0),
    ("case does not count", ALL, "rome", ["Rome"], 1, 1),
    ("articles do not count", ALL, "the Tower of London", ["A Tower of London"], 1, 1),
    ("articles only as words of their own", ALL, "theatre", ["atre"], 0, 0),
    ("ASCII punctuation vanishes, so 15,140 is one word", ALL, "15140.", ["15,140"], 1, 1),
    ("a hyphen glues its words", ALL, "first party games", ["first-party games"], 0, 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),
    ("other punctuation stays", ALL, "Lee-Enfield", ["Lee–Enfield"], 0, 0),
    ("white space does not count", ALL, " New\n York ", ["New York"], 1, 1),
    ("precision 2/3, recall 1", ALL, "New York City", ["New York"], 0, 0.8),
    ("precision 1, recall 1/4", ALL, "July", ["July 21 1926 AD"], 0, 0.4),
    ("order does not count for F1", ALL, "York New", ["New York"], 0, 1),
    ("repeated words count as often as both sides have them", ALL, "New New York", ["New York New New"], 0, 2 * 1 * (3 / 4) / (1 + 3 / 4)),
    ("the best of the aliases, for each score by itself", ALL, "NYC", ["New York City", "NYC", "New York"], 1, 1),
    ("the best alias need not be the first", ALL, "New York", ["Big Apple", "New York City"], 0, 0.8),
    ("yes must stand alone", HOTPOT, "yes, both are", ["yes"], 0, 0),
    ("yes against a longer answer", HOTPOT, "Yes", ["yes minister"], 0, 0),
    ("no against yes", HOTPOT, "no", ["yes"], 0, 0),
    ("yes is normalised first", HOTPOT, "Yes.", ["yes"], 1, 1),
    ("noanswer is of the same kind", HOTPOT, "noanswer here", ["noanswer"], 0, 0),
    ("a word that contains no is not no", HOTPOT, "Hurricane No 1", ["Hurricane No. 1"], 1, 1),
    ("no within a longer text is an ordinary word", HOTPOT, "Hurricane No 2", ["Hurricane No. 1"], 0, 2 / 3),
    ("MuSiQue has no rule for yes", ("musique",), "yes, both are", ["yes"], 0, 0.5),
    ("an empty prediction", ALL, "", ["Rome"], 0, 0),
    ("a prediction of articles and punctuation is empty", ALL, "The ...", ["Rome"], 0, 0),
    ("HotpotQA's F1 of two empty texts is 0 though they match", HOTPOT, "", ["the"], 1, 0),
    ("SQuAD's F1 of two empty texts is 1", ("musique",), "", ["the"], 1, 1),
]


CASES = [(rule, dataset, *rest) for rule, datasets, *rest in PAIRS for dataset in datasets]


@pytest.mark.parametrize(("rule", "dataset", "prediction", "answers", "em", "f1"), CASES)
def test_answers_are_scored_as_by_the_official_scorer(rule, dataset, prediction, answers, em, f1):
    assert exact_match(prediction, answers, dataset) == em, rule
    assert answer_f1(prediction, answers, dataset) == pytest.approx(f1), rule


def test_f1_follows_hotpotqa_unless_told_otherwise():
    assert answer_f1("yes it is", ["yes"]) == 0


@pytest.mark.parametrize("answers", [[], (), "Rome"])
def test_answers_must_be_a_list(answers):
    with pytest.raises(ValueError, match="expected a list of gold answers"):
        exact_match("Rome", answers)
    with pytest.raises(ValueError, match="expected a list of gold answers"):
        answer_f1("Rome", answers)


def test_an_unknown_data_set_is_an_error_that_names_the_known():
    for score in (exact_match, answer_f1):
        with pytest.raises(ValueError, match="data set 'iirc', expected one of hotpotqa, 2wikimultihopqa, musique"):
            score("Rome", ["Rome"], "iirc")


def test_paragraph_recall():
    assert paragraph_recall(["a", "b", "x"], ["a", "b"]) == 1
    assert paragraph_recall(["b", "x", "b"], ["a", "b"]) == 0.5
    assert paragraph_recall([], ["a", "b", "c"]) == 0
    assert paragraph_recall(("c", "a"), ("a", "b", "c", "a")) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="at least one gold paragraph"):
        paragraph_recall(["a"], [])


def test_bootstrap_interval_agrees_with_the_normal_interval():
    values = np.random.default_rng(7).normal(0.5, 0.2, size=500)
    low, high = bootstrap_interval(values, resamples=4000)
    half = 1.96 * values.std() / np.sqrt(values.size)
    assert low == pytest.approx(values.mean() - half, abs=0.002)
    assert high == pytest.approx(values.mean() + half, abs=0.002)


def test_bootstrap_interval_depends_on_the_seed_only():
    values = [0.0, 1.0, 1.0, 0.5]
    assert bootstrap_interval(values, resamples=200) == bootstrap_interval(values, seed=0, resamples=200)
    assert bootstrap_interval(list(range(30)), seed=1, resamples=200) != bootstrap_interval(list(range(30)), seed=2, resamples=200)
    assert bootstrap_interval([0.25], resamples=10) == (0.25, 0.25)
    with pytest.raises(ValueError, match="at least one value"):
        bootstrap_interval([])
