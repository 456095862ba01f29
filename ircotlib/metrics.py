"""Scores of one prediction, from 0 to 1, for answers and for retrieved paragraphs."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import wraps

from ircotlib.text import normalise_answer

# HotpotQA's scorer gives no partial credit if either side is one of these
WHOLE_ANSWERS = frozenset({"yes", "no", "noanswer"})
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
    commas of numbers, and articles, unless nothing else is left: A, The The, !!!
    (ours).
    """
    plain = " ".join(text.translate(_ALIKE).split())
    bare = " ".join(word.lstrip(OPENING) for word in plain.split())
    words = (word.rstrip(CLOSING) for word in _ARTICLE.sub("", bare).split())
    return _INNER.sub("", " ".join(filter(None, words)) or plain).lower()


def majority(answers: Sequence[str]) -> str:
    """The most frequent answer, of ties the earliest; an empty one only if all are
    (CoT-SC §2).
    """
    votes = Counter(map(as_compared, answers))
    del votes[""]
    if not votes:
        return next(iter(answers), "")
    most = max(votes, key=votes.get)  # of ties the one counted first
    return next(answer for answer in answers if as_compared(answer) == most)


def against_best(
    score: Callable[[str, str], float],
) -> Callable[[str, Sequence[str]], float]:
    """The score of a prediction against the best of several answers."""

    @wraps(score)
    def best(prediction: str, answers: Sequence[str]) -> float:
        if isinstance(answers, str):  # its letters would count as answers
            raise TypeError(f"found the gold answers {answers!r}, expected a list")
        return max(score(prediction, answer) for answer in answers)

    return best


@against_best
def exact_match(prediction: str, answer: str) -> float:
    """1.0 if both are equal once normalised (scorers of HotpotQA, 2WikiMultihopQA and
    MuSiQue).
    """
    return float(normalise_answer(prediction) == normalise_answer(answer))


@against_best
def hotpotqa_f1(prediction: str, answer: str) -> float:
    """The word F1 (official scorer of HotpotQA, and its copy for 2WikiMultihopQA)."""
    predicted, gold = normalise_answer(prediction), normalise_answer(answer)
    if predicted != gold and not WHOLE_ANSWERS.isdisjoint((predicted, gold)):
        return 0.0  # HotpotQA's scorer; SQuAD's has no such rule
    return _word_f1(predicted.split(), gold.split(), empty=0.0)


@against_best
def squad_f1(prediction: str, answer: str) -> float:
    """The word F1 (official scorer of MuSiQue, which is SQuAD's): no rule for yes and
    no.
    """
    predicted, gold = normalise_answer(prediction), normalise_answer(answer)
    return _word_f1(predicted.split(), gold.split(), empty=1.0)


def even_bare(score: Callable[[str, Sequence[str]], float]) -> Callable:
    """The score; a text that normalising would leave empty (A, !!!) is compared as it
    is (ours).
    """

    @against_best
    @wraps(score)
    def compare(prediction: str, answer: str) -> float:
        if normalise_answer(prediction) and normalise_answer(answer):
            return score(prediction, [answer])
        return float(as_compared(prediction) == as_compared(answer))

    return compare


@against_best
def cover_em(prediction: str, answer: str) -> float:
    """1.0 if the answer occurs in the prediction as whole words, both normalised
    (SearChain §4.1). Differs from the released program, which finds "no" in "know".
    """
    if gold := normalise_answer(answer):
        return float(f" {gold} " in f" {normalise_answer(prediction)} ")
    # ours: normalising leaves nothing of "A", which their program then finds in each
    # prediction
    return float(
        re.search(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", prediction) is not None
    )


def one_verdict(
    prediction: str, answers: Sequence[str], verdicts: Sequence[str]
) -> float:
    """1.0 if the prediction contains the right one of the verdicts and no other, else
    0.0.
    """
    given = [verdict for verdict in verdicts if cover_em(prediction, [verdict])]
    return float(len(given) == 1 and given[0] in answers)


@against_best
def rouge_l(prediction: str, answer: str) -> float:
    """ROUGE-L F, from the library `rouge` as in KILT's scorer; 0.0 for an empty
    prediction.
    """
    from rouge import Rouge

    if not prediction.strip(" .") or not answer.strip(" ."):
        return 0.0  # `rouge` would raise an error
    return Rouge(metrics=["rouge-l"]).get_scores(prediction, answer)[0]["rouge-l"]["f"]


def paragraph_recall(found_ids: Collection[str], gold_ids: Collection[str]) -> float:
    """The share of gold paragraphs that were found (IRCoT §4.1); NaN if there are none."""
    gold = set(gold_ids)
    return len(gold & set(found_ids)) / len(gold) if gold else float("nan")


def _word_f1(words: Sequence[str], answer_words: Sequence[str], empty: float) -> float:
    """F1 of two bags of words, which is `empty` for two empty bags."""
    if not words or not answer_words:
        return empty if words == answer_words else 0.0
    same = sum((Counter(words) & Counter(answer_words)).values())
    return 2 * same / (len(words) + len(answer_words))
