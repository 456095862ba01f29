"""The scores of what a system says of a question, as the question's data set wants them."""

from ircotlib.data import Prediction, Question
from ircotlib.datasets import find_dataset
from ircotlib.metrics import paragraph_recall


def score(question: Question, prediction: Prediction, released: bool = False) -> dict[str, float]:
    """Recall, the scores of the answer that the data set names, all 0 to 1, and how many paragraphs
    and steps there were (IRCoT §4.1).

    "recall" is NaN for a question without gold paragraphs. `released`: as IRCoT's released program
    scores, where it differs.
    """
    scores = find_dataset(question.dataset, released).scores
    found = [paragraph.id for paragraph in prediction.paragraphs]
    return {
        "recall": paragraph_recall(found, question.gold),
        **{name: of(prediction.answer, question.answers) for name, of in scores.items()},
        "paragraphs": len(prediction.paragraphs),
        "steps": len(prediction.thoughts),
    }
