"""DecomP, played by hand."""

import pytest
from replying import play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Retrieve
from ircotlib.systems.decomp import decomp, read_answers

QUESTION = Question("q", "What is Grieg's capital?", ("Oslo",), (), "test")
PROMPTS = writers("decomp", "decompose", "singlehop", "multihop")
GRIEG = Paragraph("g", "Grieg", "Grieg was born in Norway.")
OSLO = Paragraph("o", "Oslo", "Oslo is Norway's capital.")
LUND = Paragraph("l", "Lund", "Lund is in Sweden.")
CALLS = ["(select) [retrieve_odqa] Where was Grieg born?"]
CALLS += ["(select) [retrieve_odqa] What is Norway's capital?"]
CALLS += ['(select) [multihop_titleqa] Titles: ["Oslo", "Grieg"]. Question: Grieg\'s capital?']
LINES = [f"QS: {CALLS[0]}", 'A: {"titles": ["Grieg", "Lund"], "answer": ["Norway"]}']
LINES += [f"QS: {CALLS[1]}", 'A: {"titles": ["Oslo"], "answer": ["Oslo city"]}']
LINES += [f"QS: {CALLS[2]}", 'A: ["Oslo"]', "QS: [EOQ]"]


def decomposing(lines):
    text = "\n".join(["QC: What is Grieg's capital?", *LINES[:lines], "QS:"])
    return Generate(text, LINE, 200)


def reading(asked, *paragraphs):
    shown = "".join(f"Wikipedia Title: {p.title}\n{p.text}\n\n" for p in paragraphs)
    return Generate(f"{shown}Q: {asked}\nA:", LINE, 200)


def test_sub_questions_are_answered_and_then_the_question():
    replies = [CALLS[0], (GRIEG, LUND), '["Norway"]']
    replies += [CALLS[1], (OSLO,), '["Oslo city"]', CALLS[2], "It is. So the answer is: Oslo."]
    requests, result = play(decomp(QUESTION, prompts=PROMPTS), [*replies, "[EOQ]"])
    born, capital = "Where was Grieg born?", "What is Norway's capital?"
    expected = [decomposing(0), Retrieve(born, 4), reading(born, GRIEG, LUND)]
    expected += [decomposing(2), Retrieve(capital, 4), reading(capital, OSLO)]
    expected += [decomposing(4), reading("Grieg's capital?", GRIEG, OSLO), decomposing(6)]
    assert requests == expected
    assert (result.answer, result.fault, result.thoughts) == ("Oslo", "", tuple(LINES))
    assert result.paragraphs == (GRIEG, LUND, OSLO)
    assert result.reading == "It is. So the answer is: Oslo."


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ('["Norway"]', ["Norway"]),
        ('["Bergen", "Norway"]', ["Bergen", "Norway"]),
        ("[1843]", ["1843"]),
        ('["Nor', ['["Nor']),  # cut, or no list
        ("[" * 5_000, ["[" * 5_000]),
        ("He was born in Norway. So the answer is: Norway.", ["Norway"]),
        ("Norway", ["Norway"]),
    ],
)
def test_answers_are_read_from_a_list_a_chain_or_the_whole_reply(reply, answers):
    assert read_answers(reply) == answers


@pytest.mark.parametrize(
    "line", ["", "(project) [x] Who?", CALLS[2].replace("Titles", ""), CALLS[2].replace('"]', "]")]
)
def test_a_line_that_is_no_call_ends_it(line):
    replies = [CALLS[0], (GRIEG,), "Norway", line]
    requests, result = play(decomp(QUESTION, prompts=PROMPTS), replies)
    assert len(requests) == 4 and (result.answer, result.paragraphs) == ("", (GRIEG,))
    assert result.fault == f"no call: {line[:60]!r}" and result.reading == line


def test_an_end_at_once_and_eight_sub_questions_at_most():
    _, result = play(decomp(QUESTION, prompts=PROMPTS), ["[EOQ]"])
    assert (result.answer, result.fault) == ("", "no answer before [EOQ]")
    replies = [CALLS[0], (GRIEG,), "Norway"] * 8
    requests, result = play(decomp(QUESTION, prompts=PROMPTS, k=6), replies)
    assert len(requests) == 24 and requests[1].k == 6
    assert (result.answer, result.fault) == ("Norway", "no [EOQ] in 8 sub-questions")
