"""DROP's scores of answers, for IIRC (Dua et al. 2019)."""

import json
import re
import string

import numpy as np

from ircotlib.metrics import against_best


@against_best
def exact_match(prediction: str, answer: str) -> float:
    """1.0 if both are equal once normalised (official scorer of DROP). Numbers are equal
    by value; an answer of several spans, in any order, is a JSON list.
    """
    predicted = _spans(prediction)
    gold = _spans(answer)
    return float(set(predicted) == set(gold) and len(predicted) == len(gold))


@against_best
def f1(prediction: str, answer: str) -> float:
    """The word F1 of sets of words (official scorer of DROP). If the answer's span has
    numbers, the prediction's must have one of them, else F1 is 0. Spans are paired for the greatest
    sum of F1, which is divided by the number of spans on the longer side and rounded to two
    decimals.
    """
    # DROP's scorer compares sets of words, SQuAD's bags: a repeated word counts once
    predicted = [set(span.split()) for span in _spans(prediction)]
    gold = [set(span.split()) for span in _spans(answer)]
    scores = np.array([[_span_f1(words, wanted) for words in predicted] for wanted in gold])
    if 1 in scores.shape:  # one pair, without an assignment
        return float(np.round(scores.max() / max(scores.shape), 2))
    from scipy.optimize import linear_sum_assignment  # takes a while to import

    # DROP's scorer: each span is paired with at most one of the other side, as is best for the sum
    total = scores[linear_sum_assignment(scores, maximize=True)].sum()
    return float(np.round(total / max(scores.shape), 2))


def _spans(text: str) -> list[str]:
    """The normalised spans of an answer: the items of a JSON list or of a list that is not valid
    JSON (IRCoT's program), which a bracket at one end makes, else the whole text.
    """
    text = text.strip()
    if not (text.startswith("[") or text.endswith("]")):
        return [_normalise(text)]
    try:
        spans = json.loads(text)
    except (ValueError, RecursionError):  # as IRCoT's program reads a list that the model wrote
        spans = text.translate(str.maketrans("", "", '"[]')).split(",")
    spans = spans if isinstance(spans, list) and spans else [""]
    return [_normalise(str(span)) for span in spans]


def _normalise(text: str) -> str:
    """The words between spaces and hyphens: numbers by value, others as in SQuAD (DROP)."""
    normal = []
    for word in re.split("[ -]", text.lower()):
        if not _is_number(word):
            word = word.translate(str.maketrans("", "", string.punctuation))
        word = str(float(word)) if _is_number(word) else word
        normal.append(re.sub(r"\b(a|an|the)\b", " ", word))
    return " ".join(" ".join(normal).split())


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _span_f1(predicted: set[str], answer: set[str]) -> float:
    # DROP's scorer: of the answer's numbers, one must be there, or nothing counts
    numbers = set(filter(_is_number, answer))
    if numbers and not numbers & predicted:
        return 0.0
    if not predicted or not answer:
        return float(predicted == answer)
    precision, recall = (len(predicted & answer) / len(words) for words in (predicted, answer))
    return 2 * precision * recall / (precision + recall) if precision else 0.0
