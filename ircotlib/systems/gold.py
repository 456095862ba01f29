"""Gold: the paragraphs that support the answer, then the reader (an upper bound)."""

from ircotlib.data import Paragraph, Prediction, Question
from ircotlib.program import Program, Retrieve
from ircotlib.systems import system


@system("Gold QA", m=(1, 2, 3))
def gold_qa(
    question: Question,
    *,
    read,
    depth: int = 20,  # paragraphs of a page among which its gold ones are (ours)
) -> Program:
    """Read the gold paragraphs alone, of the titles that the data set's steps state:
    what the reader could answer if retrieval missed nothing.
    """
    paragraphs: list[Paragraph] = []
    for title in dict.fromkeys(step.title for step in question.steps if step.title):
        pages = yield Retrieve(title, depth, titles=(title,))
        paragraphs += [page for page in pages if page.id in question.gold]
    answer, reading = yield from read(question, paragraphs)
    missing = {*question.gold} - {paragraph.id for paragraph in paragraphs}
    fault = f"{len(missing)} gold paragraphs without a title" if missing else ""
    return Prediction(answer, tuple(paragraphs), reading=reading, fault=fault)
