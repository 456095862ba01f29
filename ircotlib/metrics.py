"""Scores of one prediction, from 0 to 1, for answers and for retrieved paragraphs.

A score of answers is a function of the predicted text and the gold answers; the record of a data
set names the scores that it uses.
"""

import json
import re
import string
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from ircotlib.text import normalise_answer

# HotpotQA's scorer gives no partial credit if either side is one of these
WHOLE_ANSWERS = frozenset({"yes", "no", "noanswer"})


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """1.0 if the prediction equals one of the answers once both are normalised, else 0.0 (official
    scorers of HotpotQA, 2WikiMultihopQA and MuSiQue).
    """
    _check_answers(answers)
    found = normalise_answer(prediction)
    return float(any(found == normalise_answer(answer) for answer in answers))


def hotpotqa_f1(prediction: str, answers: Sequence[str]) -> float:
    """The word F1 of the prediction against the best of the answers (official scorer of HotpotQA,
    and its copy for 2WikiMultihopQA).

    If either side is yes, no or noanswer, only equality counts; two empty texts score 0.
    """
    _check_answers(answers)
    found = normalise_answer(prediction)
    return max(_whole_or_f1(found, normalise_answer(answer)) for answer in answers)


def squad_f1(prediction: str, answers: Sequence[str]) -> float:
    """The word F1 of the prediction against the best of the answers (official scorer of MuSiQue,
    which is SQuAD's).

    There is no rule for yes and no; two empty texts score 1.
    """
    _check_answers(answers)
    found = normalise_answer(prediction)
    golds = map(normalise_answer, answers)
    return max(_word_f1(found.split(), gold.split(), empty=1.0) for gold in golds)


def drop_exact_match(prediction: str, answers: Sequence[str]) -> float:
    """1.0 if the prediction equals one of the answers once both are normalised, else 0.0 (official
    scorer of DROP, for IIRC).

    Numbers are equal by value; an answer of several spans, in any order, is a JSON list.
    """
    _check_answers(answers)
    found, golds = _drop_spans(prediction), map(_drop_spans, answers)
    return float(any(set(found) == set(gold) and len(found) == len(gold) for gold in golds))


def drop_f1(prediction: str, answers: Sequence[str]) -> float:
    """The word F1 of the prediction against the best of the answers (official scorer of DROP, for
    IIRC).

    A span is a set of words. If the answer's span has numbers, the prediction's must have one of
    them, else F1 is 0. Spans are paired for the greatest sum of F1, which is divided by the number
    of spans on the longer side and rounded to two decimals.
    """
    _check_answers(answers)
    found = _drop_spans(prediction)
    return max(_drop_f1(found, _drop_spans(answer)) for answer in answers)


def cover_em(prediction: str, answers: Sequence[str]) -> float:
    """1.0 if one of the answers occurs in the prediction as whole words, once both are normalised,
    else 0.0 (SearChain §4.1).

    Differs from the released program, which finds "no" in "know" (`cover_em_of_letters`).
    """
    _check_answers(answers)
    found = f" {normalise_answer(prediction)} "
    golds = map(normalise_answer, answers)
    return float(any(gold and f" {gold} " in found for gold in golds))


def cover_em_of_letters(prediction: str, answers: Sequence[str]) -> float:
    """1.0 if one of the answers is a substring of the prediction, once both are normalised, else
    0.0 (SearChain, released program).
    """
    _check_answers(answers)
    found = normalise_answer(prediction)
    return float(any(normalise_answer(answer) in found for answer in answers))


def one_verdict(prediction: str, answers: Sequence[str], verdicts: Sequence[str]) -> float:
    """1.0 if the prediction contains exactly one of the verdicts, and that is the right one, else
    0.0.
    """
    _check_answers(answers)
    said = [verdict for verdict in verdicts if cover_em(prediction, [verdict])]
    return float(len(said) == 1 and said[0] in answers)


def rouge_l(prediction: str, answers: Sequence[str]) -> float:
    """ROUGE-L F against the best of the answers, from the library `rouge` as in KILT's scorer; 0.0
    for an empty prediction.
    """
    from rouge import Rouge

    _check_answers(answers)
    scorer = Rouge(metrics=["rouge-l"])
    if not prediction.strip(" ."):
        return 0.0
    golds = [answer for answer in answers if answer.strip(" .")]
    return max(
        (scorer.get_scores(prediction, gold)[0]["rouge-l"]["f"] for gold in golds), default=0.0
    )


def paragraph_recall(found_ids: Collection[str], gold_ids: Collection[str]) -> float:
    """The share of the gold paragraphs that were found, in any order (IRCoT §4.1, Retrieval
    Metric).

    NaN for a question without gold paragraphs; pandas leaves NaN out of means.
    """
    gold = set(gold_ids)
    return len(gold & set(found_ids)) / len(gold) if gold else float("nan")


def _whole_or_f1(predicted: str, answer: str) -> float:
    if predicted != answer and not WHOLE_ANSWERS.isdisjoint((predicted, answer)):
        return 0.0
    return _word_f1(predicted.split(), answer.split(), empty=0.0)


def _word_f1(words: Sequence[str], answer_words: Sequence[str], empty: float) -> float:
    """F1 of two bags of words; `empty`: the value for two empty bags."""
    if not words or not answer_words:
        return empty if words == answer_words else 0.0
    same = sum((Counter(words) & Counter(answer_words)).values())
    return 2 * same / (len(words) + len(answer_words))


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
    """The words between spaces and hyphens: numbers by value, others in lower case without ASCII
    punctuation and without a, an, the (DROP).
    """
    words = (_drop_word(word.lower()) for word in re.split("[ -]", text))
    return " ".join(" ".join(re.sub(r"\b(a|an|the)\b", " ", word) for word in words).split())


def _drop_word(word: str) -> str:
    if not _is_number(word):
        word = word.translate(str.maketrans("", "", string.punctuation))
    return str(float(word)) if _is_number(word) else word


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _drop_f1(predicted: Sequence[str], answer: Sequence[str]) -> float:
    """The greatest sum of F1 over one-to-one pairs of spans, divided by the number of spans on the
    longer side, to two decimals.
    """
    found, gold = ([set(span.split()) for span in spans] for spans in (predicted, answer))
    scores = np.array([[_drop_span_f1(words, wanted) for words in found] for wanted in gold])
    return float(np.round(_greatest_sum(scores) / max(scores.shape), 2))


def _drop_span_f1(predicted: set[str], answer: set[str]) -> float:
    numbers = set(filter(_is_number, answer))
    if numbers and not numbers & predicted:
        return 0.0
    if not predicted or not answer:
        return float(predicted == answer)
    precision, recall = (len(predicted & answer) / len(words) for words in (predicted, answer))
    return 2 * precision * recall / (precision + recall) if precision else 0.0


def _greatest_sum(scores: np.ndarray) -> float:
    """The greatest sum of numbers of which no two share a row or a column."""
    if 1 in scores.shape:
        return scores.max()
    from scipy.optimize import linear_sum_assignment  # takes a while to import

    return scores[linear_sum_assignment(scores, maximize=True)].sum()


def _check_answers(answers: Sequence[str]) -> None:
    if isinstance(answers, str) or not answers:
        raise ValueError(f"expected a list of gold answers, at least one, found {answers!r}")
