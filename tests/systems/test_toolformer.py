"""ToolFormer, played by hand."""

from replying import play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import LINE, Generate, Retrieve
from ircotlib.systems.toolformer import toolformer

QUESTION = Question("q", "What is Grieg's capital?", ("Oslo",), (), "test")
PROMPTS = writers("toolformer", "write")
GRIEG = Paragraph("g", "Grieg", "Grieg was [in 1843] born in Norway.")
ASK = "Q: What is Grieg's capital?\nA:"
STOP = ("→", "\n")
CALLED = "He is from [WikiSearch(Grieg (composer))→ Grieg was [in 1843] born in Norway.]"


def test_a_call_is_answered_and_the_text_goes_on():
    replies = ["He is from [WikiSearch(Grieg (composer))", (GRIEG,), "Norway. The answer is Oslo."]
    requests, result = play(toolformer(QUESTION, prompts=PROMPTS), replies)
    assert requests == [
        Generate(ASK, STOP, 200),
        Retrieve("Grieg (composer)", 1),
        Generate(f"{ASK} {CALLED}", LINE, 200),
    ]
    assert (result.answer, result.paragraphs, result.fault) == ("Oslo", (GRIEG,), "")
    assert result.thoughts == (f"{CALLED} Norway. The answer is Oslo.",)
    assert result.reading == "He is from Norway. The answer is Oslo."


def test_a_text_without_a_call_or_an_answer():
    requests, result = play(toolformer(QUESTION, prompts=PROMPTS), ["Oslo. The answer is Oslo"])
    assert len(requests) == 1 and (result.answer, result.paragraphs) == ("Oslo", ())
    for text in ("It may be [WikiSearch Grieg", ""):
        _, result = play(toolformer(QUESTION, prompts=PROMPTS), [text])
        assert (result.answer, result.fault) == (text, 'no "The answer is"')
    replies = ["So [WikiSearch(Oslo)", (), "it is."]
    requests, result = play(toolformer(QUESTION, prompts=PROMPTS), replies)
    assert requests[-1].prompt == f"{ASK} So [WikiSearch(Oslo)→ ]"
    assert (result.answer, result.fault) == ("So it is.", 'no "The answer is"')
