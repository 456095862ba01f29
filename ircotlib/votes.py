"""Majority vote over the answers of several sampled texts."""

from collections import Counter
from collections.abc import Sequence

from ircotlib.text import normalise_answer


def majority(answers: Sequence[str]) -> str:
    """The most frequent answer, as first written; ties go to the earlier one (CoT-SC §2: plain
    majority; answers are compared after normalisation, ours).

    An answer that is empty once normalised wins only if all are; "" for no answers.
    """
    votes = Counter(normalise_answer(answer) for answer in answers)
    del votes[""]
    if not votes:
        return answers[0] if answers else ""
    [(most, _)] = votes.most_common(1)  # among equals the one counted first
    return next(answer for answer in answers if normalise_answer(answer) == most)
