"""OneR: one-step retrieval with the question as the query (IRCoT §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Program, Retrieve
from ircotlib.systems.readers import WritePrompt


def oner(question: Question, *, k: int) -> Program:
    """Retrieve k paragraphs with the question (IRCoT §4.1; K is one of 5, 7, 9, 11, 13, 15, the best on the dev set)."""
    paragraphs = yield Retrieve(question.text, k)
    return Prediction(paragraphs=paragraphs)


def oner_qa(question: Question, prompt: WritePrompt, reader, *, k: int) -> Program:
    """Retrieve once, then read (IRCoT §4.1)."""
    found = yield from oner(question, k=k)
    answer, reading = yield from reader(question, found.paragraphs, prompt)
    return Prediction(answer, found.paragraphs, reading=reading)
