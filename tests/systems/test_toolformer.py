"""ToolFormer, played by hand."""

import inspect

from playing import own_demonstrations, play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Retrieve
from ircotlib.systems.toolformer import toolformer

QUESTION = Question("q", "What is Grieg's capital?", ("Oslo",), (), "test")
PROMPTS = writers("toolformer", "write")
GRIEG = Paragraph("g", "Grieg", "Grieg was [in 1843] born in Norway.")
OSLO = Paragraph("o", "Oslo", "Oslo is Norway's capital.")
ASK = "Q: What is Grieg's capital?\nA:"
STOP = ("→", "\n")
CALLED = "He is from [WikiSearch(Grieg (composer))→ Grieg was [in 1843] born in Norway.]"


def test_a_call_is_answered_and_the_text_goes_on():
    replies = ["He is from [WikiSearch(Grieg (composer))", (GRIEG,), "Norway. The answer is Oslo."]
    requests, found = play(toolformer(QUESTION, prompts=PROMPTS), replies)
    assert requests == [
        Generate(ASK, STOP, 200),
        Retrieve("Grieg (composer)", 1),
        Generate(f"{ASK} {CALLED}", LINE, 200),
    ]
    assert (found.answer, found.paragraphs, found.fault) == ("Oslo", (GRIEG,), "")
    assert found.reading == f"{CALLED} Norway. The answer is Oslo."


def test_two_calls_where_two_are_allowed():
    replies = ["He is from [WikiSearch(Grieg (composer))", (GRIEG,), "Norway. [WikiSearch(Norway)"]
    replies += [(OSLO,), "Oslo. [WikiSearch(more)→ no] The answer is: Oslo."]
    requests, found = play(toolformer(QUESTION, prompts=PROMPTS, max_calls=2), replies)
    assert requests[2] == Generate(f"{ASK} {CALLED}", STOP, 200)
    again = f"{ASK} {CALLED} Norway. [WikiSearch(Norway)→ Oslo is Norway's capital.]"
    assert requests[3:] == [Retrieve("Norway", 1), Generate(again, LINE, 200)]
    assert (found.answer, found.paragraphs, found.fault) == ("Oslo", (GRIEG, OSLO), "")


def test_a_text_without_a_call_or_an_answer():
    requests, found = play(toolformer(QUESTION, prompts=PROMPTS), ["Oslo. The answer is Oslo"])
    assert len(requests) == 1 and (found.answer, found.paragraphs) == ("Oslo", ())
    for text in ("It may be [WikiSearch Grieg", ""):
        _, found = play(toolformer(QUESTION, prompts=PROMPTS), [text])
        assert (found.answer, found.fault) == (text, 'no "The answer is"')
    replies = ["So [WikiSearch(Oslo)", (), "it is."]
    requests, found = play(toolformer(QUESTION, prompts=PROMPTS), replies)
    assert requests[-1].prompt == f"{ASK} So [WikiSearch(Oslo)→ ]"
    assert (found.answer, found.fault) == ("So it is.", 'no "The answer is"')


def test_a_prompt_as_it_is_shown():
    shown = own_demonstrations("toolformer", "write", "slotfilling")[1:2]
    prompt = writers("toolformer", "write", demonstrations=shown)["write"]
    assert prompt(QUESTION) == (
        "Q: What is the place of death of Nelson Mandela?\n"
        "A: [WikiSearch(Where did Nelson Mandela die?)→ Nelson Mandela was the president of South"
        " Africa from 1994 to 1999. He died in Johannesburg in 2013.] Nelson Mandela was a"
        " president of South Africa. Nelson Mandela died in Johannesburg."
        " The answer is Johannesburg.\n\n\nQ: What is Grieg's capital?\nA:"
    )


def test_as_many_examples_as_in_table_11_and_one_call():
    counts = {"multihop": 4, "strategyqa": 6, "slotfilling": 4, "fever": 2, "eli5": 2}
    assert {f: len(own_demonstrations("toolformer", "write", f)) for f in counts} == counts
    assert inspect.signature(toolformer).parameters["max_calls"].default == 1
