"""OneR: one-step retrieval with the question as the query (IRCoT §4.1)."""

from ircotlib.data import Prediction, Question
from ircotlib.program import Program, Retrieve
from ircotlib.systems.iirc import beside_passage
from ircotlib.systems.readers import WritePrompt


def oner(question: Question, *, k: int, titles: tuple[str, ...] | None = None) -> Program:
    """Retrieve k paragraphs with the question (IRCoT §4.1; K is one of 5, 7, 9, 11, 13, 15, the
    best on the dev set).

    `titles`: within these pages only; None: in the whole corpus (App. B).
    """
    found = yield Retrieve(question.text, k, titles)
    return Prediction(paragraphs=beside_passage(question, found))


def oner_qa(
    question: Question,
    prompt: WritePrompt,
    reader,
    *,
    k: int,
    titles: tuple[str, ...] | None = None,
) -> Program:
    """Retrieve once, then read (IRCoT §4.1)."""
    found = yield from oner(question, k=k, titles=titles)
    answer, reading = yield from reader(question, found.paragraphs, prompt)
    return Prediction(answer, found.paragraphs, reading=reading)
