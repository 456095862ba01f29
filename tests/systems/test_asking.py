"""DecomP, ToolFormer and InterAug, with replies by hand."""

from functools import partial

import pytest
from replying import drawn, send, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Retrieve, Sample
from ircotlib.systems.decomp import decomp, read_answers
from ircotlib.systems.interaug import interaug
from ircotlib.systems.toolformer import toolformer

QUESTION = Question("q", "What is Grieg's capital?", ("Oslo",), (), "test")
PROMPTS = writers("decomp", "decompose", "singlehop", "multihop")
GRIEG = Paragraph("g", "Grieg", "Grieg was born in Norway.")
OSLO = Paragraph("o", "Oslo", "Oslo is Norway's capital.")
LUND = Paragraph("l", "Lund", "Lund is in Sweden.")
CALLS = ["(select) [retrieve_odqa] Where was Grieg born?"]
CALLS += ["(select) [retrieve_odqa] What is Norway's capital?"]
CALLS += [
    '(select) [multihop_titleqa] Titles: ["Oslo", "Grieg"]. Question: Grieg\'s capital?'
]
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
    replies = [CALLS[0], (GRIEG, LUND), '["Norway"]', CALLS[1], (OSLO,)]
    replies += ['["Oslo city"]', CALLS[2], "It is. So the answer is: Oslo."]
    requests, result = send(decomp(QUESTION, prompts=PROMPTS), [*replies, "[EOQ]"])
    born, capital = "Where was Grieg born?", "What is Norway's capital?"
    expected = [decomposing(0), Retrieve(born, 4), reading(born, GRIEG, LUND)]
    expected += [decomposing(2), Retrieve(capital, 4), reading(capital, OSLO)]
    expected += [decomposing(4), reading("Grieg's capital?", GRIEG, OSLO)]
    expected += [decomposing(6)]
    assert requests == expected
    assert (result.answer, result.fault, result.thoughts) == ("Oslo", "", tuple(LINES))
    assert result.paragraphs == (GRIEG, LUND, OSLO)
    assert result.reading == "It is. So the answer is: Oslo."


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ('["Nor', ['["Nor']),  # cut, or no list
        ("[" * 5_000, ["[" * 5_000]),
        ("Norway", ["Norway"]),
    ],
)
def test_a_reply_that_is_no_list_is_the_answer(reply, answers):
    assert read_answers(reply) == answers


@pytest.mark.parametrize(
    "line",
    ["", "(project) [x]", CALLS[2].replace("Titles", ""), CALLS[2].replace('"]', "]")],
)
def test_a_line_that_is_no_call_ends_it(line):
    replies = [CALLS[0], (GRIEG,), "Norway", line]
    requests, result = send(decomp(QUESTION, prompts=PROMPTS), replies)
    assert len(requests) == 4 and (result.answer, result.paragraphs) == ("", (GRIEG,))
    assert result.fault == f"no call: {line[:60]!r}"
    assert result.reading == ""  # nothing is scored


def test_an_end_at_once_and_eight_sub_questions_at_most():
    _, result = send(decomp(QUESTION, prompts=PROMPTS), ["[EOQ]"])
    assert (result.answer, result.fault) == ("", "no answer before [EOQ]")
    replies = [CALLS[0], (GRIEG,), "Norway"] * 8
    requests, result = send(decomp(QUESTION, prompts=PROMPTS, k=6), replies)
    assert len(requests) == 24 and requests[1].k == 6
    assert (result.answer, result.fault) == ("Norway", "no [EOQ] in 8 sub-questions")


TOOLS = writers("toolformer", "write")
BORN = Paragraph("g", "Grieg", "Grieg was [in 1843] born in Norway.")
ASK = "Q: What is Grieg's capital?\nA:"
CALLED = (
    "He is from [WikiSearch(Grieg (composer))→ Grieg was [in 1843] born in Norway.]"
)


def test_a_call_is_answered_and_the_text_goes_on():
    replies = ["He is from [WikiSearch(Grieg (composer))", (BORN,)]
    replies += ["Norway. The answer is Oslo."]
    requests, result = send(toolformer(QUESTION, prompts=TOOLS), replies)
    assert requests == [
        Generate(ASK, ("→", "\n"), 200),
        Retrieve("Grieg (composer)", 1),
        Generate(f"{ASK} {CALLED}", LINE, 200),
    ]
    assert (result.answer, result.paragraphs, result.fault) == ("Oslo", (BORN,), "")
    assert result.thoughts == (f"{CALLED} Norway. The answer is Oslo.",)
    assert result.reading == "He is from Norway. The answer is Oslo."


def test_a_text_without_a_call_or_an_answer():
    text = "Oslo. The answer is Oslo"
    requests, result = send(toolformer(QUESTION, prompts=TOOLS), [text])
    assert len(requests) == 1 and (result.answer, result.paragraphs) == ("Oslo", ())
    for text in ("It may be [WikiSearch Grieg", ""):
        _, result = send(toolformer(QUESTION, prompts=TOOLS), [text])
        assert (result.answer, result.fault) == (text, 'no "The answer is"')
    replies = ["So [WikiSearch(Oslo)", (), "it is."]
    requests, result = send(toolformer(QUESTION, prompts=TOOLS), replies)
    assert requests[-1].prompt == f"{ASK} So [WikiSearch(Oslo)→ ]"
    assert (result.answer, result.fault) == ("So it is.", 'no "The answer is"')


def test_interaugs_answer_counts_the_more_the_better_its_paragraph_ranks():
    """log p(answer) + log(1 / rank): the second's must be twice as probable."""
    program = partial(interaug, QUESTION, prompts=writers("interaug", "read"))
    for first, second, best in ((-1.0, -0.4, "Rome"), (-1.0, -0.2, "Norway")):
        replies = [drawn("Rome", scores=[first]), drawn("Norway", scores=[second])]
        requests, result = send(program(), [(GRIEG, OSLO), *replies])
        assert (requests[0], result.answer) == (Retrieve(QUESTION.text, 50), best)
    text = f"Evidence: {OSLO.text}\nQuestion: {QUESTION.text}\nAnswer:"
    assert requests[2] == Sample(text, 1, 0.7, LINE, 50)
