"""When two answers or queries are the same: one rule, wherever texts are compared."""

import pytest

from ircotlib.data import Node
from ircotlib.metrics import as_compared, majority
from ircotlib.models.extractor import EqualTexts
from ircotlib.program import Duplicate
from ircotlib.systems.searchain import link, read_chain

SAME = [("the Eiffel Tower.", "Eiffel Tower")]
SAME += [("Who directed the Ring?", "who  directed Ring"), ("“Imagine”", "'imagine'")]
SAME += [("J.K. Rowling, Ph.D.", "JK Rowling PhD")]
SAME += [("1,500,000 people", "1500000 people"), ("(A)", "a."), ("Yahoo!", "Yahoo")]
DIFFERENT = [("C++", "C#"), ("1.5", "15"), ("-5", "5"), ("5%", "5"), ("A", "")]
DIFFERENT += [("A", "The"), ("The The", ""), ("!!!", "")]
DIFFERENT += [("vitamin A deficiency", "vitamin deficiency")]
DIFFERENT += [("Who sang in The The?", "Who sang in The?")]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_texts_that_differ_only_in_form_are_the_same(a, b):
    assert as_compared(a) == as_compared(b) != ""


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different_things_are_different_wherever_they_are_compared(a, b):
    assert as_compared(a) != as_compared(b)
    assert majority([a, b, b]) == (b or a) and majority([b, a, a]) == a
    scores = EqualTexts().answer([Duplicate(a, (b,)), Duplicate(a, (a,))])
    assert list(scores) == [(0, "0.0"), (1, "1.0")]
    if b:
        path = [Node(a, "yes", 1, 1, passage="p"), Node(b, "yes", 1, 2, passage="p")]
        assert [node.mark for node in link(path)] == [1, 2]
        chain = read_chain(f"[Query 1]: {a}\n[Unsolved Query]: {b}\n[Final Content]: x")
        assert len(chain.nodes) == 2


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["Oslo", "Bergen", "Bergen"], "Bergen"),
        # as first written
        (["Oslo", "The Nile.", "the nile", "Oslo", "Nile"], "The Nile."),
        (["Bergen", "Oslo", "Oslo", "Bergen"], "Bergen"),  # of ties, the first
        (["", "", "", "Oslo"], "Oslo"),
        (["The", "the", "Oslo"], "The"),
        (["", "!!!"], "!!!"),
        ([], ""),
    ],
)
def test_the_majority_answer(answers, expected):
    assert majority(answers) == expected
