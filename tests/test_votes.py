"""Majority votes."""

import pytest

from ircotlib.text import majority


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["Oslo", "Bergen", "Bergen"], "Bergen"),
        (["Oslo", "The Nile.", "the nile", "Oslo", "Nile"], "The Nile."),  # as first written
        (["Bergen", "Oslo", "Oslo", "Bergen"], "Bergen"),  # of equally many, the first
        (["", "", "", "Oslo"], "Oslo"),
        (["The", "the", "Oslo"], "Oslo"),  # empty after normalisation
        (["", ""], ""),
        (["The", ""], "The"),
        ([], ""),
    ],
)
def test_the_answer_that_most_give(answers, expected):
    assert majority(answers) == expected
