"""Chains of query, read from what a model may write."""

import re

import pytest

from ircotlib.data import Node
from ircotlib.systems.searchain import (
    Chain,
    conclude,
    read_chain,
    read_released_chain,
)

TEXT = """[Query 1]: Who is the performer of Spirit if...?
[Answer 1]: Kevin Drew
[Query 2]: Where was Kevin Drew born?
[Answer 2]: Toronto
[Final Content]: Kevin Drew performed it [1]. He was born in Toronto [2]. So the \
final answer is Toronto."""
FINAL = TEXT.rpartition("]: ")[2]
PAIRS = [("Who is the performer of Spirit if...?", "Kevin Drew")]
PAIRS += [("Where was Kevin Drew born?", "Toronto")]


def pairs(chain):
    return [(node.query, node.answer) for node in chain.nodes]


def test_a_chain_as_the_paper_has_it():
    first, second = PAIRS
    nodes = Node(*first, 3, 1), Node(*second, 3, 2)
    assert read_chain(TEXT, 3) == Chain(nodes, FINAL, "")


def changed(*pairs):
    """A function that replaces texts in a text."""

    def change(text):
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            text = text.replace(old, new)
        return text

    return change


without_numbers = changed(" 1]:", "]:", " 2]:", "]:")
WRITTEN = {
    "as it is": changed(),
    "no numbers": without_numbers,
    "bold inside": changed("[Q", "**[Q", "[A", "**[A", "]: ", "]**: "),
    "no brackets": changed("[Q", "Q", "[A", "A", "[F", "F", "]:", ":"),
    "a list": lambda text: re.sub(r"^(?=.)", "- ", text, flags=re.M),
    "spaces": changed("]:", " ] :", "\n", "\n  "),
    "on lines of their own": changed("]: ", "]:\n"),
    "a numbered list": lambda text: "\n".join(
        f"{n}. {line}" if line else ""
        for n, line in enumerate(text.split("\n"), start=1)
    ),
    "another name": changed("[Final Content]", "[Final answer]"),
    "Windows": changed("\n", "\r\n"),
}
COPIED = (
    "\nIf you don't know the answer:\n[Unsolved Query]: where was Kevin Drew born\n"
)
COPIED += (
    "Instruction: Please Stop your generation.\nIf you know the answer:\n[Answer 2]"
)
ANOTHER = '\n[Question]: "Who?"\n[Query 1]: Who?\n[Answer 1]: I\n[Final Content]: Me'
AROUND = {
    "chatter before": lambda text: f"Sure! Here is the chain you asked for:\n\n{text}",
    "another example": lambda text: text + ANOTHER,
    "the question above": changed("[Final", '[Question]: "Where?" (Yes or No)\n[Final'),
    "quotation marks": changed(
        "]: Kevin Drew\n", ']: "Kevin Drew"\n', ": Toronto", ": “Toronto”"
    ),
    "the examples' instructions": changed("\n[Answer 2]", COPIED),
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("around", AROUND)
def test_the_same_chain_however_it_is_written(around, written):
    chain = read_chain(WRITTEN[written](AROUND[around](TEXT)))
    assert pairs(chain) == PAIRS
    assert chain.final == FINAL and chain.fault == ""


def test_a_chain_on_one_line():
    """T5 writes no line breaks."""
    copied = AROUND["the examples' instructions"](TEXT)
    copied = copied.replace("Instruction: Please Stop your generation.\n", "")
    for text in (TEXT, without_numbers(TEXT), copied):
        chain = read_chain(text.replace("\n", " "))
        assert (pairs(chain), chain.final, chain.fault) == (PAIRS, FINAL, "")


# a text of lines Q1 (a query), A1 (its answer), U (an unsolved query), F (a final
# content); what is read of it, as query=answer; the final content; what is wrong
MALFORMED = [
    ("  \n", "", "", "no query; no final content"),
    ("Toronto, I think.", "", "Toronto, I think.", "no query"),
    ("Q1 a?\nA1 b", "a?=b", "", "no final content"),
    ("Q1 a?\nQ2 c?\nA1 b\nA2 d\nF e", "a?=b, c?=d", "e", ""),
    ("Q1 a?\nA1 b\nA1 c\nF e", "a?=b", "e", "an answer without a query"),
    ("Q1 a?\nU c?\nA2 d\nF e", "a?=, c?=", "e", "an answer without a query"),
    ("Q1 a?\nA1 b\nF e\nF f", "a?=b", "f", "more than one final content"),
    ("Q1 a?\nU a?\n[Question]: other?\nQ1 x?\nA1 y", "a?=", "", ""),
    ("Q1 a?\nand more\nA1 b\nand more\n\nbut not this\nF e", "a?=b and more", "e", ""),
    ("[Query 1] a? [Answer 1] b", "a? [Answer 1] b=", "", ""),
]


def in_full(text):
    """A text with its marks written out."""
    marks = {"Q": "Query ", "A": "Answer ", "U": "Unsolved Query", "F": "Final Content"}
    return re.sub(
        r"^([QAUF])(\d?)\b", lambda m: f"[{marks[m[1]]}{m[2]}]:", text, flags=re.M
    )


@pytest.mark.parametrize(("text", "read", "final", "fault"), MALFORMED)
def test_a_malformed_chain_is_read_as_far_as_it_can_be(text, read, final, fault):
    chain = read_chain(in_full(text))
    assert ", ".join("=".join(pair) for pair in pairs(chain)) == read
    assert (chain.final, chain.fault) == (final, fault)
    assert [node.unsolved for node in chain.nodes] == [
        not answer for _, answer in pairs(chain)
    ]


def test_the_released_program_reads_lines():
    copied = in_full("Q1 a?\nU a?\nQ2 c?\nA2 d\nF e")
    chain = read_released_chain(copied, 2)
    assert chain.nodes == (
        Node("a?", "[Answer 2]: d", 2, 1),  # that of another query
        Node("a?", "[Answer 2]: d", 2, 2, unsolved=True),
        Node("c?", "[Answer 2]: d", 2, 3),
    )
    assert (chain.final, chain.fault) == ("e", "")
    assert read_released_chain("[Query 1]: a?").nodes == (Node("a?", "", 1, 1),)
    assert read_released_chain("Query: a?\nNo.").nodes == ()


@pytest.mark.parametrize(
    ("final", "short", "long"),
    [
        (
            "Rome [1]. So the answer is Rome [1].",
            "Rome",
            "Rome. So the answer is Rome.",
        ),
        ("So the answer is: **Rome**.", "Rome", "So the answer is: **Rome**."),
        ('The answer is "Rome".\n\nMore!', "Rome", 'The answer is "Rome".\n\nMore!'),
        ("Light [1, 2] bends [3][4].", "Light bends.", "Light bends."),
        ("", "", ""),
    ],
)
def test_the_answer_of_a_final_content(final, short, long):
    chains = [Chain((), "first", "no query"), Chain((), final, "")]
    chains += [Chain((), "", "no query")]
    assert conclude(chains[1:2]) == (short, final, "")
    assert conclude(chains[1:2], long_form=True) == (long, final, "")
    assert conclude([*chains, chains[2]])[1] == (final or "first")
    assert conclude(chains)[2] == "reply 1: no query; reply 3: no query"
