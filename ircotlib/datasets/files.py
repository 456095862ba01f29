"""The questions and the corpus of a data set, from the official files in a user's folder."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import Dataset, QuestionContext, find_dataset
from ircotlib.datasets.corpora import full_corpus_folder, make_full_corpus
from ircotlib.datasets.official import AGAIN, find_file
from ircotlib.datasets.own import CORPUS
from ircotlib.datasets.pooled import pool
from ircotlib.errors import DataError
from ircotlib.files import ROOT

OWN_CONTEXTS = "what is to be searched goes into the questions' own paragraphs (docs/data.md)"


def read_dataset(
    name: str, data_dir: str | Path, corpus: str = "pooled", released: bool = False
) -> tuple[list[Question], Iterable[Paragraph]]:
    """The development questions of a data set, and its corpus: "pooled" from their contexts, or
    "full" as in the paper (IRCoT §4, App. A).

    `data_dir`: absolute, or relative to the repository. If paragraphs come in a file of their own,
    such as IIRC's pages, all of it is the "pooled" corpus, an iterator. A full corpus is made if it
    is missing (make_full_corpus). `released`: as IRCoT's released program reads. Differs from the
    paper, unless "full": its corpora are pooled from all splits, and HotpotQA's has all of
    Wikipedia's abstracts.
    """
    dataset = find_dataset(name, released)
    if corpus not in ("pooled", "full"):
        raise DataError(f"found corpus {corpus!r}, expected pooled or full")
    if corpus == "full" and dataset.full_corpus is None:
        raise DataError(f"found no full corpus of {name}, expected corpus pooled: {OWN_CONTEXTS}")
    path = find_questions(dataset, ROOT / data_dir)
    if corpus == "full":
        folder = full_corpus_folder(dataset.full_corpus, data_dir)
        full = make_full_corpus(dataset.full_corpus, data_dir, folder)
        read = dataset.read_with_corpus
        return questions_of(read(path, full) if read else dataset.read(path), path), full
    examples = list(dataset.read(path))
    questions = questions_of(examples, path) if path.name != CORPUS else []
    if dataset.read_paragraphs is not None:
        return questions, dataset.read_paragraphs(path)
    if not (paragraphs := pool(context for _, context in examples)):
        remedy = "open it with corpus full" if dataset.full_corpus else OWN_CONTEXTS
        raise DataError(f"{path}: found no contexts to pool a corpus from: {remedy}")
    return questions, paragraphs


def find_questions(dataset: Dataset, data_dir: Path) -> Path:
    """The file of a data set's development questions, in `data_dir`/<its name> or in `data_dir`,
    with its official name or that of a sample. Raises FileNotFoundError if there is none.
    """
    folders = (Path(data_dir) / dataset.name, Path(data_dir))
    return find_file(f"questions of {dataset.name}", dataset.files, folders, dataset.source)


def questions_of(examples: Iterable[QuestionContext], path: Path) -> list[Question]:
    """The questions read from a file. Raises DataError if there are none, one cannot be asked or
    scored, or two have the same id.
    """
    questions = [question for question, _ in examples]
    if not questions:
        raise DataError(f"{path}: found no questions, expected at least one: {AGAIN}")
    for number, question in enumerate(questions, start=1):
        texts = (question.id, question.text, *(question.answers or [""]))
        if wrong := [text for text in texts if not isinstance(text, str) or not text.strip()]:
            blank = f"expected id, text and answers that are not blank, found {wrong[0]!r:.60}"
            raise DataError(f"{path}, question {number}: {blank}: {AGAIN}")
    [(id, count)] = Counter(question.id for question in questions).most_common(1)
    if count > 1:
        raise DataError(f"{path}: found {count} questions with the id {id!r}, expected one")
    return questions
