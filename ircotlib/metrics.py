"""Scores of one prediction, from 0 to 1, for answers and for retrieved paragraphs."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import wraps

from ircotlib.text import normalise_answer

# of a prediction against the gold answer and its aliases
Score = Callable[[str, Sequence[str]], float]
# HotpotQA's scorer gives no partial credit if either side is one of these
WHOLE_ANSWERS = frozenset({"yes", "no", "noanswer"})
# what a score has of the function that it is made of
NAMED = ("__module__", "__name__", "__qualname__", "__doc__")
# these marks make no difference around a word
OPENING = "\"'([{¿¡"
CLOSING = "\"')]}.,;:!?…"
# before a word that is no article itself; a later capital may be a name: vitamin A
_ARTICLE = re.compile(r"(?:^A|(?<!\S)(?:a|(?i:an|the))) (?!(?i:a|an|the)\W*(?: |$))")
_ALIKE = str.maketrans("“”‘’–−", "\"\"''--")
# the stops of U.S. and Ph.D, the commas of 1,500; not the point of 1.5 or of .NET
_INNER = re.compile(r"(?<=[^\W\d])\.(?=[^\W\d])|(?<=\d),(?=\d{3}(?!\d))")


def as_compared(text: str) -> str:
    """A text as it is compared: without case, marks around words, stops of initials,
    commas of numbers, and articles, unless nothing else is left (ours).

    >>> [as_compared(text) for text in ("the U.S. (1,500)", "The The", "vitamin A!")]
    ['us 1500', 'the the', 'vitamin a']
    """
    plain = " ".join(text.translate(_ALIKE).split())
    bare = " ".join(word.lstrip(OPENING) for word in plain.split())
    words = [word.rstrip(CLOSING) for word in _ARTICLE.sub("", bare).split()]
    kept = " ".join(word for word in words if word)
    return _INNER.sub("", kept or plain).lower()


def majority(answers: Sequence[str]) -> str:
    """The most frequent answer, of ties the earliest; "" only if all are (CoT-SC §2).

    >>> majority(["Bergen", "", "Oslo.", "", "oslo"])
    'Oslo.'
    """
    votes = Counter(as_compared(answer) for answer in answers if as_compared(answer))
    if not votes:
        return next(iter(answers), "")
    [(most, _)] = votes.most_common(1)  # of ties the one counted first
    return next(answer for answer in answers if as_compared(answer) == most)


def against_best(score: Callable[[str, str], float]) -> Score:
    """The score of a prediction against the best of several answers."""

    @wraps(score, assigned=NAMED)
    def best(prediction: str, answers: Sequence[str]) -> float:
        if isinstance(answers, str):  # its letters would count as answers
            raise TypeError(f"found the gold answers {answers!r}, expected a list")
        return max(score(prediction, answer) for answer in answers)

    del best.__wrapped__  # else help() and editors show the signature of `score`
    return best


def even_bare(score: Score) -> Score:
    """A score that compares a text as it is if normalising leaves nothing (ours)."""

    @against_best
    @wraps(score)
    def compare(prediction: str, answer: str) -> float:
        if normalise_answer(prediction) and normalise_answer(answer):
            return score(prediction, [answer])
        return float(as_compared(prediction) == as_compared(answer))

    return compare


@against_best
def exact_match(prediction: str, answer: str) -> float:
    """1.0 if both are equal once normalised (official scorers of the data sets)."""
    return float(normalise_answer(prediction) == normalise_answer(answer))


@against_best
def hotpotqa_f1(prediction: str, answer: str) -> float:
    """The word F1 (official scorer of HotpotQA, and its copy for 2WikiMultihopQA).

    >>> hotpotqa_f1("yes, both are", ["yes"]), squad_f1("yes, both are", ["yes"])
    (0.0, 0.5)
    """
    predicted = normalise_answer(prediction)
    gold = normalise_answer(answer)
    if predicted != gold and not WHOLE_ANSWERS.isdisjoint((predicted, gold)):
        return 0.0  # HotpotQA's scorer; SQuAD's has no such rule
    return _word_f1(predicted.split(), gold.split(), empty=0.0)


@against_best
def squad_f1(prediction: str, answer: str) -> float:
    """The word F1 (official scorer of MuSiQue, which is SQuAD's)."""
    predicted = normalise_answer(prediction)
    return _word_f1(predicted.split(), normalise_answer(answer).split(), empty=1.0)


@against_best
def cover_em(prediction: str, answer: str) -> float:
    """1.0 if the answer occurs in the prediction as whole words, both normalised
    (SearChain §4.1). Differs from the released program, which finds "no" in "know".

    >>> cover_em("It is in the city of Oslo.", ["Oslo"]), cover_em("I know.", ["no"])
    (1.0, 0.0)
    """
    gold = normalise_answer(answer)
    if gold:
        return float(f" {gold} " in f" {normalise_answer(prediction)} ")
    # of "A" nothing is left, which their program then finds in each prediction (ours)
    as_it_is = rf"(?<!\w){re.escape(answer.strip())}(?!\w)"
    return float(re.search(as_it_is, prediction) is not None)


def one_verdict(
    prediction: str, answers: Sequence[str], verdicts: Sequence[str]
) -> float:
    """1.0 if the prediction contains the right one of the verdicts and no other."""
    given = [verdict for verdict in verdicts if cover_em(prediction, [verdict])]
    return float(len(given) == 1 and given[0] in answers)


@against_best
def rouge_l(prediction: str, answer: str) -> float:
    """ROUGE-L F, from the library `rouge` as in KILT's scorer."""
    from rouge import Rouge

    if not prediction.strip(" .") or not answer.strip(" ."):
        return 0.0  # `rouge` would raise an error
    words = len(prediction.split()) + len(answer.split())
    # it descends word by word, in a sentence of any length
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000 + 2 * words))
    return Rouge(metrics=["rouge-l"]).get_scores(prediction, answer)[0]["rouge-l"]["f"]


def paragraph_recall(found_ids: Collection[str], gold_ids: Collection[str]) -> float:
    """The share of gold paragraphs that were found (IRCoT §4.1); NaN of none."""
    if isinstance(gold_ids, str):  # its letters would count as ids
        raise TypeError(f"found the gold paragraphs {gold_ids!r}, expected a tuple")
    gold = set(gold_ids)
    return len(gold & set(found_ids)) / len(gold) if gold else float("nan")


def _word_f1(words: Sequence[str], answer_words: Sequence[str], empty: float) -> float:
    """F1 of two bags of words, which is `empty` for two empty bags."""
    if not words or not answer_words:
        return empty if words == answer_words else 0.0
    same = sum((Counter(words) & Counter(answer_words)).values())
    return 2 * same / (len(words) + len(answer_words))
