"""NoR QA: no retriever, the reader answers from what the model knows (IRCoT §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Program
from ircotlib.systems.iirc import main_passage
from ircotlib.systems.readers import WritePrompt


def nor_qa(question: Question, prompt: WritePrompt, reader) -> Program:
    """Answer without any paragraph but the main passage, where the question has one (IRCoT §4.1,
    "Open-Domain QA models"; App. B).
    """
    answer, reading = yield from reader(question, main_passage(question), prompt)
    return Prediction(answer, main_passage(question), reading=reading)
