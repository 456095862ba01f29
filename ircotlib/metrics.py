"""Scores of one prediction, from 0 to 1: exact match and F1 of answers, recall of paragraphs; and
an interval for their mean.
"""

import json
import re
import string
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from ircotlib.text import normalise_answer

# HotpotQA's scorer gives no partial credit for or against these
WHOLE_ANSWERS = frozenset({"yes", "no", "noanswer"})
# 2WikiMultihopQA's is a copy of HotpotQA's
SCORERS = {
    "hotpotqa": "HotpotQA",
    "2wikimultihopqa": "HotpotQA",
    "musique": "SQuAD",
    "iirc": "DROP",
}


def exact_match(prediction: str, answers: Sequence[str], dataset: str = "hotpotqa") -> float:
    """1.0 if the prediction equals one of the answers once both are normalised, else 0.0 (official
    scorer of `dataset`).

    All have the same rule but IIRC's, DROP's: numbers are equal by value, and an answer of several
    spans, in any order, is a JSON list. Raises ValueError for other data sets than HotpotQA,
    2WikiMultihopQA, MuSiQue and IIRC.
    """
    if _scorer(answers, dataset) == "DROP":
        return float(
            any(_drop_equal(_drop_spans(prediction), _drop_spans(answer)) for answer in answers)
        )
    return float(
        any(normalise_answer(prediction) == normalise_answer(answer) for answer in answers)
    )


def answer_f1(prediction: str, answers: Sequence[str], dataset: str = "hotpotqa") -> float:
    """F1 of the words of the prediction against the best of the answers (official scorer of
    `dataset`).

    HotpotQA's and its copy for 2WikiMultihopQA: where either side is yes, no or noanswer, only
    equality counts; two empty texts score 0. MuSiQue's, which is SQuAD's: no rule for yes and no;
    two empty texts score 1. IIRC's, DROP's: a span is a set of words; where the answer's span has
    numbers, the prediction's must have one of them; spans are paired for the greatest sum, which is
    divided by the number of spans on the longer side and rounded to two decimals. Raises ValueError
    for other data sets.
    """
    scorer = _scorer(answers, dataset)
    if scorer == "DROP":
        return max(_drop_f1(_drop_spans(prediction), _drop_spans(answer)) for answer in answers)
    return max(
        _f1(normalise_answer(prediction), normalise_answer(answer), scorer) for answer in answers
    )


def paragraph_recall(found_ids: Collection[str], gold_ids: Collection[str]) -> float:
    """The share of the gold paragraphs that were found; the order does not matter (IRCoT §4.1,
    Retrieval Metric).
    """
    gold = set(gold_ids)
    if not gold:
        raise ValueError(
            "recall needs at least one gold paragraph, found none: leave questions without gold paragraphs out"
        )
    return len(gold & set(found_ids)) / len(gold)


def bootstrap_interval(
    values: Sequence[float], seed: int = 0, resamples: int = 10_000
) -> tuple[float, float]:
    """Low and high end of the 95% percentile bootstrap interval of the mean of the values (Efron
    1979; in neither paper).
    """
    observed = np.asarray(values, dtype=float)
    if observed.size == 0:
        raise ValueError("an interval needs at least one value, found none")
    random = np.random.default_rng(seed)
    means = [
        observed[random.integers(observed.size, size=observed.size)].mean()
        for _ in range(resamples)
    ]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _f1(predicted: str, answer: str, scorer: str) -> float:
    words, answer_words = predicted.split(), answer.split()
    if (
        scorer == "HotpotQA"
        and predicted != answer
        and not WHOLE_ANSWERS.isdisjoint((predicted, answer))
    ):
        return 0.0
    if not words or not answer_words:
        return float(words == answer_words and scorer == "SQuAD")
    same = sum((Counter(words) & Counter(answer_words)).values())
    return 2 * same / (len(words) + len(answer_words))


def _drop_spans(text: str) -> list[str]:
    """The spans of an answer, normalised: of a JSON list, or of a list that is not quite JSON
    (IRCoT's program), else the whole text.
    """
    text = text.strip()
    if not (text.startswith("[") or text.endswith("]")):
        return [_drop_normalise(text)]
    try:
        spans = json.loads(text)
    except json.JSONDecodeError:
        spans = text.translate(str.maketrans("", "", '"[]')).split(",")
    return [
        _drop_normalise(str(span))
        for span in (spans if isinstance(spans, list) and spans else [""])
    ]


def _drop_normalise(text: str) -> str:
    """Words between spaces and hyphens: numbers by value, others in lower case without ASCII
    punctuation; without a, an, the (DROP).
    """
    words = (_drop_word(word.lower()) for word in re.split("[ -]", text))
    return " ".join(" ".join(re.sub(r"\b(a|an|the)\b", " ", word) for word in words).split())


def _drop_word(word: str) -> str:
    bare = (
        word
        if _is_number(word)
        else "".join(character for character in word if character not in string.punctuation)
    )
    return str(float(bare)) if _is_number(bare) else bare


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _drop_equal(predicted: Sequence[str], answer: Sequence[str]) -> bool:
    return set(predicted) == set(answer) and len(predicted) == len(answer)


def _drop_f1(predicted: Sequence[str], answer: Sequence[str]) -> float:
    """The greatest sum of F1 over one-to-one pairs of spans, by the number of spans on the longer
    side, to two decimals.
    """
    scores = np.array(
        [
            [_drop_span_f1(set(found.split()), set(gold.split())) for found in predicted]
            for gold in answer
        ]
    )
    rows = scores if len(answer) >= len(predicted) else scores.T
    return float(np.round(_greatest_sum(rows) / len(rows), 2))


def _drop_span_f1(predicted: set[str], answer: set[str]) -> float:
    numbers = set(filter(_is_number, answer))
    if numbers and not numbers & predicted:
        return 0.0
    if not predicted or not answer:
        return float(predicted == answer)
    precision, recall = (len(predicted & answer) / len(words) for words in (predicted, answer))
    return 2 * precision * recall / (precision + recall) if precision else 0.0


def _greatest_sum(rows: np.ndarray) -> float:
    """The greatest sum of one number from each of some rows, no two of them from one column; at
    least as many rows as columns.
    """
    sums = {0: 0.0}  # by the columns taken, as bits
    for row in rows:
        for taken, total in list(sums.items()):
            for column in np.flatnonzero(row):
                if not taken >> int(column) & 1:
                    now = taken | 1 << int(column)
                    sums[now] = max(sums.get(now, 0.0), total + row[column])
    return max(sums.values())


def _scorer(answers: Sequence[str], dataset: str) -> str:
    if isinstance(answers, str) or not answers:
        raise ValueError(f"expected a list of gold answers, at least one, found {answers!r}")
    if dataset not in SCORERS:
        raise ValueError(
            f"found no scorer for data set {dataset!r}, expected one of {', '.join(SCORERS)}: name the one whose rules are to be used"
        )
    return SCORERS[dataset]
