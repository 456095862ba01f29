"""Direct Retrieval, played by hand."""

from replying import play, writers

from ircotlib.data import Paragraph, Question
from ircotlib.program import Generate, Retrieve
from ircotlib.systems.direct_retrieval import direct_retrieval

QUESTION = Question("q", "Where is Oslo?", ("Norway",), (), "test")
OSLO = Paragraph("o", "Oslo", "Oslo is in Norway.")
LUND = Paragraph("l", "Lund", "Lund is in Sweden.")
PROMPTS = writers("direct_retrieval", "read")
PROMPT = (
    "Wikipedia Title: Oslo\nOslo is in Norway.\n\nWikipedia Title: Lund\nLund is in Sweden.\n\n"
)
PROMPT += "Answer the question with the help of the paragraphs above.\nQuestion: Where is Oslo?\n"
PROMPT += "Answer:"
NEXT = ("\nWikipedia Title: ", "\nQuestion:")


def test_it_retrieves_once_and_all_that_is_written_is_the_answer():
    program = direct_retrieval(QUESTION, prompts=PROMPTS)
    requests, result = play(program, [(OSLO, LUND), "Oslo is in Norway.\nIt is."])
    assert requests == [Retrieve(QUESTION.text, 5), Generate(PROMPT, NEXT, 200)]
    assert result.answer == result.reading == "Oslo is in Norway.\nIt is."
    assert (result.paragraphs, result.fault) == ((OSLO, LUND), "")


def test_nothing_found_and_nothing_written():
    requests, result = play(direct_retrieval(QUESTION, prompts=PROMPTS, k=2), [(), ""])
    assert requests[0] == Retrieve(QUESTION.text, 2)
    assert requests[1].prompt.startswith("Answer the question")
    assert (result.answer, result.paragraphs, result.fault) == ("", (), "no answer")
