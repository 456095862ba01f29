"""The questions and the corpus of a data set, from the official files in a user's
folder.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph, Question
from ircotlib.datasets import (
    Dataset,
    FullCorpus,
    QuestionContext,
    digest,
    find_dataset,
    pool,
)
from ircotlib.datasets.official import AGAIN, find_file
from ircotlib.datasets.own import CORPUS
from ircotlib.errors import DataError
from ircotlib.files import DATA, ROOT, locked, track
from ircotlib.retrieval.corpus import Corpus, write_corpus


def read_dataset(
    name: str, data_dir: str | Path, corpus: str = "pooled", released: bool = False
) -> tuple[list[Question], Iterable[Paragraph]]:
    """The development questions of a data set, and its corpus: "pooled" from their
    contexts, or "full" as in the paper (IRCoT §4, App. A).

    `data_dir`: absolute, or relative to the repository. If paragraphs come in a file of
    their own, such as IIRC's pages, that whole file is the "pooled" corpus, an
    iterator. `released`: as IRCoT's released program reads them. Differs from the
    paper, unless "full": its corpora are pooled from all splits, and HotpotQA's has all
    of Wikipedia's abstracts.
    """
    dataset = find_dataset(name, released)
    full = dataset.full_corpus
    if corpus != "pooled" and (full is None or corpus != "full"):
        offered = "pooled" if full is None else "pooled or full"
        raise DataError(f"found corpus {corpus!r} for {name}, expected {offered}")
    path = find_questions(dataset, ROOT / data_dir)
    if corpus == "full":
        made, read = make_full_corpus(full, data_dir), dataset.read_with_corpus
        return _questions_of(
            read(path, made) if read else dataset.read(path), path
        ), made
    examples = list(dataset.read(path))
    questions = _questions_of(examples, path) if path.name != CORPUS else []
    if dataset.read_paragraphs is not None:
        return questions, dataset.read_paragraphs(path)
    if not (paragraphs := pool(context for _, context in examples)):
        raise DataError(
            f"{path}: found no contexts to pool a corpus from (docs/data.md)"
        )
    return questions, paragraphs


def find_questions(dataset: Dataset, data_dir: Path) -> Path:
    """The file of a data set's development questions, in `data_dir`/<its name> or in
    `data_dir`, with its official name or that of a sample. Raises FileNotFoundError if
    there is none.
    """
    folders = (Path(data_dir) / dataset.name, Path(data_dir))
    return find_file(
        f"questions of {dataset.name}", dataset.files, folders, dataset.source
    )


def _questions_of(examples: Iterable[QuestionContext], path: Path) -> list[Question]:
    questions = [question for question, _ in examples]
    if not questions:
        raise DataError(f"{path}: found no questions, expected at least one: {AGAIN}")
    for question in questions:
        if not all(
            map(str.strip, (question.id, question.text, *(question.answers or [""])))
        ):
            raise DataError(
                f"{path}: found a blank id, text or answer in {question!r:.200}"
            )
    [(id, count)] = Counter(question.id for question in questions).most_common(1)
    if count > 1:
        raise DataError(
            f"{path}: found {count} questions with the id {id!r}, expected one"
        )
    return questions


def full_corpus_folder(corpus: FullCorpus, data_dir: str | Path) -> Path:
    """Where the full corpus that is made of the files in `data_dir` is."""
    made_of = digest(str((ROOT / data_dir).resolve()), 6)
    return DATA / "corpora" / f"{corpus.name}-full-{made_of}"


def make_full_corpus(corpus: FullCorpus, data_dir: str | Path) -> Corpus:
    """Open a full corpus; write it first, completely or not at all, if it is missing
    (IRCoT App. A). Warn if the number of paragraphs differs from the paper's.
    """
    folder = full_corpus_folder(corpus, data_dir)
    with locked(folder.with_name(f"{folder.name}.lock")):
        try:
            made = Corpus(folder)
        except FileNotFoundError:
            paragraphs = read_full_corpus(corpus, data_dir)
            made = write_corpus(
                folder, track(paragraphs, f"corpus of {corpus.name}", corpus.count)
            )
    if corpus.count not in (None, len(made)):
        counts = f"{len(made):,} paragraphs, the paper {corpus.count:,} (App. A, footnote 18)"
        warnings.warn(f"{folder}: found {counts}: is a file truncated?", stacklevel=2)
    return made


def read_full_corpus(corpus: FullCorpus, data_dir: str | Path) -> Iterator[Paragraph]:
    """The paragraphs of a full corpus, from the files in `data_dir`/<name> or in
    `data_dir`. Differs from the released program: texts are stripped, and sentences
    joined without a space.
    """
    folders, counts = (ROOT / data_dir / corpus.name, ROOT / data_dir), Counter()
    title = f"full corpus of {corpus.name}"
    paths = [find_file(title, [name], folders, corpus.source) for name in corpus.files]
    for paragraph in chain.from_iterable(map(corpus.read, paths)):
        # IRCoT App. A: contexts share paragraphs; their program compares title and text
        content = (
            f"{paragraph.title}\n{paragraph.text}"
            if corpus.drop_repeats
            else paragraph.id
        )
        counts[key := digest(content, 24)] += 1
        if counts[key] == 1:
            yield paragraph
        elif not corpus.drop_repeats:
            yield replace(paragraph, id=f"{paragraph.id}-{counts[key]}")
