"""OneR: one-step retrieval with the question as the query (IRCoT §4.1)."""

from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import Program, Retrieve
from ircotlib.systems import ONCE, RECALL, System, read_hops
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
    return replace(retrieved, answer=answer, reading=reading, hops=read_hops(reading))


SYSTEMS = (
    System(
        name="OneR",
        program=oner,
        grid={"k": (5, 7, 9, 11, 13, 15)},  # §4.1
        tuned_by=RECALL,  # §4.1, "Retrieval Metric"
        family=(ONCE, 0),
        order=20,
    ),
    System(
        name="OneR QA",
        program=oner_qa,
        grid={"k": (5, 7, 9, 11, 13, 15), "m": (1, 2, 3)},  # §4.1
        better_than=("NoR QA",),  # App. E, Table 4
        family=(ONCE, 0),
        order=21,
    ),
)
