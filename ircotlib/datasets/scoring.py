"""The scores of a system's prediction for a question, as defined by the question's data set."""

from ircotlib.data import Prediction, Question
from ircotlib.datasets import Dataset, find_dataset
from ircotlib.metrics import paragraph_recall


def score(
    question: Question, prediction: Prediction, dataset: Dataset | None = None
) -> dict[str, float]:
    """Recall (NaN without gold paragraphs), the data set's scores of the answer, from 0 to 1, and
    the numbers of paragraphs and steps (IRCoT §4.1). `dataset`: the record that scores; None: that
    of the question's data set.

    Where no answer could be read, the whole text from which it was to be read is scored: IRCoT's
    rule (§3.2), here for all systems alike.
    """
    retrieved = [paragraph.id for paragraph in prediction.paragraphs]
    scores = {"recall": paragraph_recall(retrieved, question.gold)}
    dataset = dataset or find_dataset(question.dataset)
    answer = prediction.answer or prediction.reading  # §3.2
    for name, measure in dataset.scores.items():
        scores[name] = measure(answer, question.answers)
    return scores | {"paragraphs": len(prediction.paragraphs), "steps": len(prediction.thoughts)}
