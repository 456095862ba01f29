"""NoR QA: no retriever, the reader answers from what the model knows (IRCoT §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Program
from ircotlib.systems.readers import WritePrompt


def nor_qa(question: Question, prompt: WritePrompt, reader) -> Program:
    """Answer without any paragraph (IRCoT §4.1, "Open-Domain QA models")."""
    answer, reading = yield from reader(question, (), prompt)
    return Prediction(answer, reading=reading)
