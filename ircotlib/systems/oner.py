"""NoR and OneR: no retrieval, or one with the question; and a reader (IRCoT §4.1)."""

from dataclasses import replace

from ircotlib.data import Prediction, Question
from ircotlib.program import Program, Retrieve
from ircotlib.systems import RECALL, system
from ircotlib.text import remove_question_words

K = (5, 7, 9, 11, 13, 15)  # the best on the dev set (§4.1)


@system("NoR QA")
def nor_qa(question: Question, *, read) -> Program:
    """Answer without retrieved paragraphs (IRCoT §4.1, "Open-Domain QA models")."""
    answer, reading = yield from read(question, ())  # parametric knowledge alone (§4.1)
    return Prediction(answer, reading=reading)


@system("OneR", tuned_by=RECALL, k=K)  # §4.1, "Retrieval Metric"
def oner(question: Question, *, k: int, released: bool = False) -> Program:
    """Retrieve k paragraphs with the question (IRCoT §4.1). `released`: as in the
    authors' program, the query has no question words, and equal texts count once.
    """
    query = remove_question_words(question.text) if released else question.text
    paragraphs = yield Retrieve(query, k, distinct=released)
    return Prediction(paragraphs=paragraphs)


@system("OneR QA", k=K, m=(1, 2, 3))  # §4.1
def oner_qa(question: Question, *, read, k: int, released: bool = False) -> Program:
    """Retrieve once, then read (IRCoT §4.1)."""
    retrieved = yield from oner(question, k=k, released=released)
    answer, reading = yield from read(question, retrieved.paragraphs)
    return replace(retrieved, answer=answer, reading=reading)
