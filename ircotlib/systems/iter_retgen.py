"""Iter-RetGen: retrieve with the last answer and the question, answer again, and so on
(Shao 2023).
"""

from ircotlib.data import Prediction, Question
from ircotlib.program import Program, Retrieve
from ircotlib.systems import system


@system("Iter-RetGen", k=(5,), m=(1, 2, 3))  # 5: its paper
def iter_retgen(
    question: Question,
    *,
    read,
    k: int,
    rounds: int = 2,  # its main tables; up to 7
) -> Program:
    """Retrieve with the question, and answer by a chain; retrieve with that chain and
    the question, and answer from these paragraphs alone.

    Differs from the paper: the chain is that of IRCoT's reader, with its
    demonstrations; a direct reader writes the answer alone.
    """
    reading, readings = "", []
    for _ in range(rounds):
        # the first query is the question; then its answer comes first
        paragraphs = yield Retrieve(f"{reading} {question.text}".strip(), k)
        # of this round only
        answer, reading = yield from read(question, paragraphs)
        readings.append(reading)
    return Prediction(answer, tuple(paragraphs), tuple(readings), reading)
