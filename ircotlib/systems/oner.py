"""OneR: one-step retrieval with the question as the query (IRCoT §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Program, Retrieve
from ircotlib.systems import RECALL, System
from ircotlib.text import remove_question_words


def oner(
    question: Question,
    *,
    k: int,  # one of 5, 7, 9, 11, 13, 15, the best on the dev set (§4.1)
    released: bool = False,
) -> Program:
    """Retrieve k paragraphs with the question (IRCoT §4.1).

    `released`: follow the authors' program: no question words in the query, no equal texts.
    """
    query = remove_question_words(question.text) if released else question.text
    paragraphs = yield Retrieve(query, k, distinct=released)
    return Prediction(paragraphs=paragraphs)


def oner_qa(question: Question, *, read, k: int, released: bool = False) -> Program:
    """Retrieve once, then read (IRCoT §4.1)."""
    retrieved = yield from oner(question, k=k, released=released)
    answer, reading = yield from read(question, retrieved.paragraphs)
    return Prediction(answer, retrieved.paragraphs, reading=reading)


SYSTEMS = (
    System(
        name="OneR",
        program=oner,
        grid={"k": (5, 7, 9, 11, 13, 15)},
        tuned_by=RECALL,
        color="#e08e45",
        order=20,
    ),
    System(
        name="OneR QA",
        program=oner_qa,
        grid={"k": (5, 7, 9, 11, 13, 15), "m": (1, 2, 3)},
        better_than=("NoR QA",),
        color="#e08e45",
        order=21,
    ),
)
