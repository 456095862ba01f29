"""Scores of answers on pairs that follow the official scorers, each for one rule."""

import inspect
import math
import random
from itertools import permutations

import numpy as np
import pytest

from ircotlib import metrics
from ircotlib.datasets import find_dataset, iirc
from ircotlib.metrics import paragraph_recall

HOTPOT = ("hotpotqa", "2wikimultihopqa")
ALL = (*HOTPOT, "musique")
# rule, data sets, prediction, answers, exact match, F1
PAIRS = [
    ("nothing in common", ALL, "Rome", ["Paris"], 0, 0),
    ("case does not count", ALL, "rome", ["Rome"], 1, 1),
    ("articles do not count", ALL, "the Tower of London", ["A Tower of London"], 1, 1),
    ("ASCII punctuation vanishes: one word", ALL, "15140.", ["15,140"], 1, 1),
    ("a hyphen glues its words: ⅓, ½", ALL, "a1 b1 c1", ["a1-b1 c1"], 0, 0.4),
    ("other punctuation stays", ALL, "Lee-Enfield", ["Lee–Enfield"], 0, 0),
    ("precision 2/3, recall 1", ALL, "New York City", ["New York"], 0, 0.8),
    ("order does not count for F1", ALL, "York New", ["New York"], 0, 1),
    ("words count as often as in both", ALL, "a1 a1 b1", ["a1 b1 a1 a1"], 0, 6 / 7),
    ("the best of the aliases", ALL, "NYC", ["New York City", "NYC", "New York"], 1, 1),
    ("yes must stand alone", HOTPOT, "yes, both are", ["yes"], 0, 0),
    ("no against yes", HOTPOT, "no", ["yes"], 0, 0),
    ("noanswer is of the same kind", HOTPOT, "noanswer here", ["noanswer"], 0, 0),
    ("no in a text is a word", HOTPOT, "Hurricane No 2", ["Hurricane No. 1"], 0, 2 / 3),
    ("MuSiQue has no rule for yes", ("musique",), "yes, both are", ["yes"], 0, 0.5),
    ("an empty prediction", ALL, "", ["Rome"], 0, 0),
    ("HotpotQA's F1 of two empty texts is 0", HOTPOT, "", ["the"], 1, 0),
    ("SQuAD's F1 of two empty texts is 1", ("musique",), "", ["the"], 1, 1),
]
# DROP's metric: words are cut at spaces and hyphens, numbers become values, F1 is of
# sets of words and has two decimals.
DROP = [
    ("no case, article, punctuation", "the  O'Brien\nHouse.", ["Obrien house"], 1, 1),
    ("a hyphen parts its words, unlike in SQuAD", "first party", ["first-party"], 1, 1),
    ("an article left alone by a hyphen goes", "vitamin", ["vitamin-A"], 1, 1),
    ("numbers are equal by value", "53.0", ["53"], 1, 1),
    ("digits grouped by commas are one number", "12,500 BC", ["12500 bc"], 1, 1),
    ("the point of a number is no punctuation", "3.5", ["35"], 0, 0),
    ("the numbers of the answer must be there", "34 years", ["53 years"], 0, 0),
    ("one of them is enough: ⅔, 1", "April 1954", ["April 19, 1954"], 0, 0.8),
    ("F1 has two decimals", "first party", ["first"], 0, 0.67),
    ("words are sets", "New New York", ["New York New New"], 0, 1),
    ("two empty texts are equal", "", ["the"], 1, 1),
    ("the best of the alternatives", "53 years", ["53", "53 years"], 1, 1),
    ("spans in any order", '["Lund", "Malmö, S"]', ['["Malmö, S", "Lund"]'], 1, 1),
    ("no JSON is cut at its commas", "[Lund, Malmö", ['["Lund", "Malmö"]'], 1, 1),
    ("a span too many: 2 / 3", '["a1", "b1", "c1"]', ['["a1", "b1"]'], 0, 0.67),
    ("without brackets, one span: ⅔ / 2", "a1, b1", ['["a1", "b1"]'], 0, 0.33),
    ("greatest sum: (⅔ + 1) / 2", '["a1 b1", "b1"]', ['["b1 c1", "a1 b1"]'], 0, 0.83),
    ("not greatest pair first", '["p q r", "s t"]', ['["p q r s", "p q"]'], 0, 0.57),
    ("a repeated span counts", '["Lund", "Lund"]', ["Lund"], 0, 0.5),
    ("sets of spans", '["a1", "a1", "b1"]', ['["a1", "b1", "b1"]'], 1, 0.67),
    ("numbers in a JSON list", "[1882, 1900.0]", ['["1900", "1882"]'], 1, 1),
]
# "Not the greatest pair first": "p q r" with "p q r s" has 2·1·¾/(1+¾) = .857 and
# leaves "s t" with "p q": 0. The other way round: "p q r" with "p q" has 2·⅔·1/(⅔+1) =
# .8, "s t" with "p q r s" 2·½·¼/(½+¼) = .333, together 1.133, by 2 spans .57.
PAIRS += [(rule, ("iirc",), *pair) for rule, *pair in DROP]
# answers that normalising leaves empty: only our scores compare them as they are
PAIRS += [
    ("A is an answer", ("own",), "a.", ["A"], 1, 1),
    ("and nothing is none", ("own",), "", ["A"], 0, 0),
    ("a name of articles", ("own",), "the the", ["The The"], 1, 1),
    ("any other as in SQuAD", ("own",), "the Rome", ["Rome", "A"], 1, 1),
    ("MuSiQue's scorer has nothing left", ("musique",), "", ["A"], 1, 1),
    ("HotpotQA's too", HOTPOT, "", ["The The"], 1, 0),
]


@pytest.mark.parametrize(
    ("rule", "datasets", "prediction", "answers", "em", "f1"), PAIRS
)
def test_answers_are_scored_as_by_the_official_scorer(
    rule, datasets, prediction, answers, em, f1
):
    for dataset in datasets:
        scores = find_dataset(dataset).scores
        assert scores["em"](prediction, answers) == em, (rule, dataset)
        assert scores["f1"](prediction, answers) == pytest.approx(f1), (rule, dataset)


COVERED = [("The answer is A.", "A", 1), ("(A) Rome", "A", 1), ("", "A", 0)]
COVERED += [("It is a town.", "A", 0), ("It was by The The, in 1983", "The The", 1)]
COVERED += [("It is the Rome of old", "Rome", 1), ("Romeo", "Rome", 0)]


@pytest.mark.parametrize(("prediction", "answer", "covered"), COVERED)
def test_an_answer_that_would_be_left_empty_is_covered_as_it_is(
    prediction, answer, covered
):
    assert metrics.cover_em(prediction, [answer]) == covered


def brute_force(predicted, answer):
    """DROP F1 of spans of words by trying every pairing, for spans without numbers."""
    shorter, longer = sorted((predicted, answer), key=len)

    def f1(a, b):
        words, others = set(a.split()), set(b.split())
        return 2 * len(words & others) / (len(words) + len(others))

    pairings = permutations(longer, len(shorter))
    best = max(sum(map(f1, shorter, chosen)) for chosen in pairings)
    return np.round(best / len(longer), 2)


ODD = ["[" * 9999, "[" * 9999 + "]" * 9999, f"[{'9' * 5000}]", "[1e999]"]


@pytest.mark.parametrize("text", ODD, ids=range(4))
def test_lists_that_json_cannot_hold_are_cut_at_commas(text):
    """A model may write anything: it is scored, and never raises an error."""
    assert iirc.f1(text, ["Paris"]) == iirc.exact_match(text, ["Paris"]) == 0
    assert iirc.exact_match(text, [text]) == 1


def test_spans_of_drop_are_paired_for_the_greatest_sum():
    rng = random.Random(4)
    for _ in range(60):
        predicted, answer = (
            [" ".join(rng.choices("pqrstuv", k=rng.randint(1, 4))) for _ in range(n)]
            for n in (rng.randint(1, 5), rng.randint(1, 5))
        )
        score = iirc.f1(f"[{', '.join(predicted)}]", [f"[{', '.join(answer)}]"])
        assert score == brute_force(predicted, answer), (predicted, answer)


def test_paragraph_recall():
    assert paragraph_recall(["a", "b", "x"], ["a", "b"]) == 1
    assert paragraph_recall(["b", "x", "b"], ["a", "b"]) == 0.5
    with pytest.raises(TypeError, match="gold paragraphs 'p12', expected a tuple"):
        paragraph_recall(["p12"], "p12")
    assert paragraph_recall([], ["a", "b", "c"]) == 0
    assert paragraph_recall(("c", "a"), ("a", "b", "c", "a")) == pytest.approx(2 / 3)
    assert math.isnan(paragraph_recall(["a"], []))


@pytest.mark.parametrize("name", ["cover_em", "exact_match", "squad_f1", "rouge_l"])
def test_help_shows_how_a_score_is_called(name):
    given = inspect.signature(getattr(metrics, name)).parameters
    assert [*given] == ["prediction", "answers"]


def test_rouge_takes_a_sentence_of_any_length():
    words = " ".join(f"w{number}" for number in range(600))
    assert metrics.rouge_l(words, [f"{words} more"]) == pytest.approx(
        600 / 600.5, abs=1e-5
    )
