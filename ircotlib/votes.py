"""Voting over drawn answers (Wang et al. 2023, §2)."""

from collections import Counter
from collections.abc import Sequence

from ircotlib.text import normalise_answer


def majority(answers: Sequence[str]) -> str:
    """The answer given most often once normalised, as it was first written; a tie goes to the
    first. "" does not win while another answer is there.
    """
    given = [answer for answer in answers if answer] or list(answers)
    if not given:
        return ""
    [(most, _)] = Counter(map(normalise_answer, given)).most_common(1)
    return next(answer for answer in given if normalise_answer(answer) == most)
