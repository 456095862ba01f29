"""Scores of one prediction, from 0 to 1, for answers and for retrieved paragraphs.

A score of answers is a function of the predicted text and the gold answers; the record of a data
set names the scores that it uses.
"""

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import wraps

import numpy as np

from ircotlib.text import normalise_answer

# HotpotQA's scorer gives no partial credit if either side is one of these
WHOLE_ANSWERS = frozenset({"yes", "no", "noanswer"})


def against_best(score: Callable[[str, str], float]) -> Callable[[str, Sequence[str]], float]:
    """The score of a prediction against the best of several answers."""

    @wraps(score)
    def best(prediction: str, answers: Sequence[str]) -> float:
        _check_answers(answers)
        return max(score(prediction, answer) for answer in answers)

    return best


@against_best
def exact_match(prediction: str, answer: str) -> float:
    """1.0 if both are equal once normalised (scorers of HotpotQA, 2WikiMultihopQA and MuSiQue)."""
    return float(normalise_answer(prediction) == normalise_answer(answer))


@against_best
def hotpotqa_f1(prediction: str, answer: str) -> float:
    """The word F1 (official scorer of HotpotQA, and its copy for 2WikiMultihopQA). If either side
    is yes, no or noanswer, only equality counts; two empty texts score 0.
    """
    predicted, gold = normalise_answer(prediction), normalise_answer(answer)
    if predicted != gold and not WHOLE_ANSWERS.isdisjoint((predicted, gold)):
        return 0.0
    return _word_f1(predicted.split(), gold.split(), empty=0.0)


@against_best
def squad_f1(prediction: str, answer: str) -> float:
    """The word F1 (official scorer of MuSiQue, which is SQuAD's). There is no rule for yes and no;
    two empty texts score 1.
    """
    predicted, gold = normalise_answer(prediction), normalise_answer(answer)
    return _word_f1(predicted.split(), gold.split(), empty=1.0)


@against_best
def drop_exact_match(prediction: str, answer: str) -> float:
    """1.0 if both are equal once normalised (official scorer of DROP, for IIRC). Numbers are equal
    by value; an answer of several spans, in any order, is a JSON list.
    """
    predicted, gold = _drop_spans(prediction), _drop_spans(answer)
    return float(set(predicted) == set(gold) and len(predicted) == len(gold))


@against_best
def drop_f1(prediction: str, answer: str) -> float:
    """The word F1 of sets of words (official scorer of DROP, for IIRC). If the answer's span has
    numbers, the prediction's must have one of them, else F1 is 0. Spans are paired for the greatest
    sum of F1, which is divided by the number of spans on the longer side and rounded to two
    decimals.
    """
    predicted = [set(span.split()) for span in _drop_spans(prediction)]
    gold = [set(span.split()) for span in _drop_spans(answer)]
    scores = np.array([[_drop_span_f1(words, wanted) for words in predicted] for wanted in gold])
    if 1 in scores.shape:
        return float(np.round(scores.max() / max(scores.shape), 2))
    from scipy.optimize import linear_sum_assignment  # takes a while to import

    total = scores[linear_sum_assignment(scores, maximize=True)].sum()
    return float(np.round(total / max(scores.shape), 2))


@against_best
def cover_em(prediction: str, answer: str) -> float:
    """1.0 if the answer occurs in the prediction as whole words, both normalised (SearChain §4.1).

    Differs from the released program, which finds "no" in "know" (`cover_em_of_letters`).
    """
    gold = normalise_answer(answer)
    return float(bool(gold) and f" {gold} " in f" {normalise_answer(prediction)} ")


@against_best
def cover_em_of_letters(prediction: str, answer: str) -> float:
    """1.0 if the answer is within the prediction, both normalised (SearChain, released program)."""
    return float(normalise_answer(answer) in normalise_answer(prediction))


@against_best
def set_f1(prediction: str, answer: str) -> float:
    """The F1 of the names in a list against the set of all right names (Gong et al. 2025).
    `answer`: one name, or several as a JSON list, all of them wanted. Only whole names count.

    Differs from the paper's program, which splits at commas alone and only lowers the case.
    """
    predicted, gold = _name_sets(prediction, answer)
    return 2 * len(predicted & gold) / (len(predicted) + len(gold))


@against_best
def set_exact_match(prediction: str, answer: str) -> float:
    """1.0 if a list has all right names and no other, in any order (Gong et al. 2025)."""
    predicted, gold = _name_sets(prediction, answer)
    return float(predicted == gold)


def one_verdict(prediction: str, answers: Sequence[str], verdicts: Sequence[str]) -> float:
    """1.0 if the prediction contains the right one of the verdicts and no other, else 0.0."""
    _check_answers(answers)
    given = [verdict for verdict in verdicts if cover_em(prediction, [verdict])]
    return float(len(given) == 1 and given[0] in answers)


@against_best
def rouge_l(prediction: str, answer: str) -> float:
    """ROUGE-L F, from the library `rouge` as in KILT's scorer; 0.0 for an empty prediction."""
    from rouge import Rouge

    if not prediction.strip(" .") or not answer.strip(" ."):
        return 0.0
    return Rouge(metrics=["rouge-l"]).get_scores(prediction, answer)[0]["rouge-l"]["f"]


def paragraph_recall(found_ids: Collection[str], gold_ids: Collection[str]) -> float:
    """The share of the gold paragraphs that were found, in any order (IRCoT §4.1, Retrieval
    Metric); NaN, which pandas leaves out of means, for a question without gold paragraphs.
    """
    gold = set(gold_ids)
    return len(gold & set(found_ids)) / len(gold) if gold else float("nan")


def _word_f1(words: Sequence[str], answer_words: Sequence[str], empty: float) -> float:
    """F1 of two bags of words; `empty`: the value for two empty bags."""
    if not words or not answer_words:
        return empty if words == answer_words else 0.0
    same = sum((Counter(words) & Counter(answer_words)).values())
    return 2 * same / (len(words) + len(answer_words))


def _name_sets(prediction: str, answer: str) -> tuple[set[str], set[str]]:
    """The normalised names in a predicted list and in the gold answer. A list is split at commas,
    semicolons, line ends and "and"; an "and" within a gold name ("health and safety") stays.
    """
    names = json.loads(answer) if answer.startswith("[") else [answer]
    gold = sorted(map(normalise_answer, names), key=len, reverse=True)
    parts = [f" {normalise_answer(part)} " for part in re.split(r"[,;\n]", prediction)]
    for name in gold:
        parts = [part.replace(f" {name} ", f" {name.replace(' ', '_')} ") for part in parts]
    predicted = {name.strip() for part in parts for name in part.split(" and ")}
    return predicted - {""}, {name.replace(" ", "_") for name in gold}


def _drop_spans(text: str) -> list[str]:
    """The normalised spans of an answer: the items of a JSON list or of a list that is not valid
    JSON (IRCoT's program), else the whole text.
    """
    text = text.strip()
    if not (text.startswith("[") or text.endswith("]")):
        return [_drop_normalise(text)]
    try:
        spans = json.loads(text)
    except (ValueError, RecursionError):
        spans = text.translate(str.maketrans("", "", '"[]')).split(",")
    spans = spans if isinstance(spans, list) and spans else [""]
    return [_drop_normalise(str(span)) for span in spans]


def _drop_normalise(text: str) -> str:
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


def _drop_span_f1(predicted: set[str], answer: set[str]) -> float:
    numbers = set(filter(_is_number, answer))
    if numbers and not numbers & predicted:
        return 0.0
    if not predicted or not answer:
        return float(predicted == answer)
    precision, recall = (len(predicted & answer) / len(words) for words in (predicted, answer))
    return 2 * precision * recall / (precision + recall) if precision else 0.0


def _check_answers(answers: Sequence[str]) -> None:
    if isinstance(answers, str) or not answers:
        raise ValueError(f"expected a list of gold answers, at least one, found {answers!r}")
