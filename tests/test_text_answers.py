"""Answers and queries in the texts that a model writes."""

import re

import pytest

from ircotlib import text as texts
from ircotlib.text import answer_from_chain, gives_answer


@pytest.mark.parametrize(
    ("chain", "answer"),
    [
        ("Mack Rides is German. So the answer is: Germany.", "Germany"),
        ("So the answer is: The Operation M.D..", "The Operation M.D."),  # one stop
        ("So the answer is Germany", "Germany"),  # without colon
        ("So the answer is: no. So the answer is: yes.", "yes"),  # the last on a line
        ("The answer is: 1.\nSo the answer is: 2.", "2"),  # also across lines
        ("So the answer is: 3.5 million.", "3.5 million"),
        ("So the answer is:  Rome. ", "Rome"),
        ("So the answer is: ", ""),
    ],
)
def test_answer_from_chain(chain, answer):
    assert answer_from_chain(chain) == answer
    # no text after it, no space after or before it, another case
    without = ["So the answer is:", "So the answer is:Rome.", "answer is: Rome"]
    without += ["SO THE ANSWER IS: Rome", "Rome.", ""]
    assert [answer_from_chain(text) for text in without] == [None] * 6


ENDS = {  # whether the chain ends in the paper, and in the program
    "So the answer is: Germany.": (True, True),
    "Thus, the answer is: 1.": (True, True),
    "So the answer is Germany.": (False, True),
    "It is not known what the answer is to that.": (False, True),
    "So the answer is:": (True, False),  # and nothing
    "answer is: Germany.": (True, False),  # nothing before " answer"
    "So the answer is": (False, False),
    "The Answer is: Germany.": (False, False),
    "So the answers is: Rome.": (False, False),
    "": (False, False),
}


@pytest.mark.parametrize(("sentence", "ends"), ENDS.items())
def test_where_the_chain_ends_in_paper_and_program(sentence, ends):
    assert (gives_answer(sentence), gives_answer(sentence, released=True)) == ends
    # as the program writes its pattern
    assert bool(re.match(r".* answer is:? (.*)\.?", sentence)) is ends[1]


REASONING = """
Thus, they are not in the same country.
Thus Brownist is older.
So, it is 4.
So the answer is: 53.
That is, it has 4 members.
Therefore they share it.
Hence it is older.
It had 460 + 387 = 847 losses.
He lived 1,542.5 - 1,483 = 59.5 years.
""".strip().splitlines()
FACTS = """
It has 12 + 12, = 7 parts.
Sony made it.
That is a film.
Thusly named.
1990 - 1991 was long.
""".strip().splitlines()


def test_reasoning_is_no_query():
    for sentence in REASONING:
        assert texts.query_from([sentence], "Rome?") == "Rome?"
    for sentence in FACTS:
        assert texts.query_from([sentence], "Rome?") != "Rome?"


def test_queries_of_the_paper_and_of_the_program():
    question = "What is the age of the ship?"
    thoughts = ["The ship is General Hewitt.", "It was sold in 1864."]
    thoughts += ["So she served for 53 years."]
    assert texts.last_sentence([], question) == question
    assert texts.last_sentence(thoughts, question) == "So she served for 53 years."
    # the first query too
    assert texts.query_from([], question) == "the age of the ship?"
    asked = "Which of these is it, when does it end?"
    assert texts.query_from((), asked) == "of these it, it end?"
    assert texts.query_from(thoughts[:1], question) == "The ship General Hewitt."
    # the previous factual sentence once more
    assert texts.query_from(thoughts, question) == "It was sold in 1864."
    assert texts.query_from(["Thus, nothing.", " "], question) == "the age of the ship?"
