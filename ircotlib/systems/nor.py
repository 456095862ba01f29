"""NoR QA: no retriever; the reader answers from what the model knows (IRCoT §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Program
from ircotlib.systems import CLOSED, System, read_hops


def nor_qa(question: Question, *, read) -> Program:
    """Answer without retrieved paragraphs (IRCoT §4.1, "Open-Domain QA models")."""
    answer, reading = yield from read(question, ())  # parametric knowledge alone (§4.1)
    return Prediction(answer, reading=reading, hops=read_hops(reading))


SYSTEMS = (
    System(
        name="NoR QA",
        program=nor_qa,
        family=(CLOSED, 0),
        order=10,
    ),
)
