"""Scores of one prediction, from 0 to 1: exact match and F1 of answers, recall of paragraphs; and an interval for their mean."""

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from ircotlib.text import normalise_answer

WHOLE_ANSWERS = frozenset({"yes", "no", "noanswer"})  # HotpotQA's scorer gives no partial credit for or against these
SCORERS = {"hotpotqa": "HotpotQA", "2wikimultihopqa": "HotpotQA", "musique": "SQuAD", "mini": "HotpotQA"}  # 2WikiMultihopQA's is a copy


def exact_match(prediction: str, answers: Sequence[str], dataset: str = "hotpotqa") -> float:
    """1.0 if the prediction equals one of the answers once both are normalised, else 0.0 (official scorer of `dataset`: all the same).

    Raises ValueError for other data sets than HotpotQA, 2WikiMultihopQA, MuSiQue and mini.
    """
    _scorer(answers, dataset)
    return float(any(normalise_answer(prediction) == normalise_answer(answer) for answer in answers))


def answer_f1(prediction: str, answers: Sequence[str], dataset: str = "hotpotqa") -> float:
    """F1 of the words of the prediction against the best of the answers (official scorer of `dataset`).

    They differ in two rules. HotpotQA's and its copy for 2WikiMultihopQA (also taken for "mini"): where either side is yes, no or noanswer,
    only equality counts; two empty texts score 0. MuSiQue's, which is SQuAD's: no rule for yes and no; two empty texts score 1.
    Raises ValueError for other data sets (IIRC is scored by the DROP metric, which is not here).
    """
    scorer = _scorer(answers, dataset)
    return max(_f1(normalise_answer(prediction), normalise_answer(answer), scorer) for answer in answers)


def paragraph_recall(found_ids: Collection[str], gold_ids: Collection[str]) -> float:
    """The share of the gold paragraphs that were found; the order does not matter (IRCoT §4.1, Retrieval Metric)."""
    gold = set(gold_ids)
    if not gold:
        raise ValueError("recall needs at least one gold paragraph, found none: leave questions without gold paragraphs out")
    return len(gold & set(found_ids)) / len(gold)


def bootstrap_interval(values: Sequence[float], seed: int = 0, resamples: int = 10_000) -> tuple[float, float]:
    """Low and high end of the 95% percentile bootstrap interval of the mean of the values (Efron 1979; in neither paper)."""
    observed = np.asarray(values, dtype=float)
    if observed.size == 0:
        raise ValueError("an interval needs at least one value, found none")
    random = np.random.default_rng(seed)
    means = [observed[random.integers(observed.size, size=observed.size)].mean() for _ in range(resamples)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _f1(predicted: str, answer: str, scorer: str) -> float:
    words, answer_words = predicted.split(), answer.split()
    if scorer == "HotpotQA" and predicted != answer and not WHOLE_ANSWERS.isdisjoint((predicted, answer)):
        return 0.0
    if not words or not answer_words:
        return float(words == answer_words and scorer == "SQuAD")
    same = sum((Counter(words) & Counter(answer_words)).values())
    return 2 * same / (len(words) + len(answer_words))


def _scorer(answers: Sequence[str], dataset: str) -> str:
    if isinstance(answers, str) or not answers:
        raise ValueError(f"expected a list of gold answers, at least one, found {answers!r}")
    if dataset not in SCORERS:
        raise ValueError(
            f"found no scorer for data set {dataset!r}, expected one of {', '.join(SCORERS)}: name the one whose rules are to be used"
        )
    return SCORERS[dataset]
