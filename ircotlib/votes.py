"""The answer that most of several drawn texts give."""

from collections import Counter
from collections.abc import Sequence

from ircotlib.text import normalise_answer


def majority(answers: Sequence[str]) -> str:
    """The first of the answers that most of them equal once normalised; of as many, the earlier
    one (CoT-SC §2: plain majority; how texts are compared is ours).

    An answer that is empty, or nothing once normalised, never wins while there is another; "" for
    no answers.
    """
    votes = Counter(normalise_answer(answer) for answer in answers)
    del votes[""]
    if not votes:
        return answers[0] if answers else ""
    [(most, _)] = votes.most_common(1)  # of as many votes, what was counted first
    return next(answer for answer in answers if normalise_answer(answer) == most)
