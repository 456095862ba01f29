"""The scores of a system's prediction for a question, as defined by the question's data set."""

from ircotlib.data import Prediction, Question
from ircotlib.datasets import find_dataset
from ircotlib.metrics import paragraph_recall


def score(question: Question, prediction: Prediction, released: bool = False) -> dict[str, float]:
    """Recall (NaN without gold paragraphs), the data set's scores of the answer, from 0 to 1, and
    the numbers of paragraphs and steps (IRCoT §4.1). `released`: as in IRCoT's released program.
    """
    scores = find_dataset(question.dataset, released).scores
    retrieved = [paragraph.id for paragraph in prediction.paragraphs]
    return {
        "recall": paragraph_recall(retrieved, question.gold),
        **{name: score(prediction.answer, question.answers) for name, score in scores.items()},
        "paragraphs": len(prediction.paragraphs),
        "steps": len(prediction.thoughts),
    }
