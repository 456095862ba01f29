"""The questions and the corpus of a data set, from the files in a user's folder."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ircotlib.data import REPAIR, Paragraph, Question
from ircotlib.datasets import Dataset, FullCorpus, digest, find_dataset, pool
from ircotlib.datasets.official import find_file
from ircotlib.datasets.own import CORPUS
from ircotlib.errors import DataError
from ircotlib.files import DATA, ROOT, locked, track
from ircotlib.retrieval.corpus import Corpus, write_corpus


def read_dataset(
    name: str, data_dir: str | Path, corpus: str = "pooled", released: bool = False
) -> tuple[list[Question], Iterable[Paragraph]]:
    """The development questions of a data set, and its corpus (IRCoT §4, App. A).

    `data_dir`: absolute, or relative to the repository. `corpus`: "full" as in the
    paper, or "pooled" from the questions' contexts (or a file of paragraphs, such as
    IIRC's pages). `released`: as IRCoT's released program reads them. Differs from the
    paper, unless "full": its corpora are pooled from all splits, and HotpotQA's has all
    of Wikipedia's abstracts.
    """
    dataset = find_dataset(name, released)
    if corpus == "full" and dataset.full_corpus is None:
        raise DataError(f"found corpus 'full' for {name}, expected pooled")
    path = find_questions(dataset, ROOT / data_dir)
    if corpus == "full" and dataset.full_corpus is not None:
        made = make_full_corpus(dataset.full_corpus, data_dir)
        examples = dataset.read(path)
        if dataset.read_with_corpus is not None:
            examples = dataset.read_with_corpus(path, made)
        return _check_questions(examples, path), made
    examples = list(dataset.read(path))
    questions: list[Question] = []
    if path.name != CORPUS:  # which needs no questions: they are asked later
        questions = _check_questions(examples, path)
    if dataset.read_paragraphs is not None:
        return questions, dataset.read_paragraphs(path)
    paragraphs = pool(context for _, context in examples)
    if not paragraphs:
        raise DataError(
            f"{path}: found no contexts to pool a corpus from (docs/data.md)"
        )
    return questions, paragraphs


def find_questions(dataset: Dataset, data_dir: str | Path) -> Path:
    """The file of development questions, or of a sample of them: in `data_dir`/<name of
    the data set>, else in `data_dir`. Raises FileNotFoundError.
    """
    folders = (Path(data_dir) / dataset.name, Path(data_dir))
    title = f"questions of {dataset.name}"
    return find_file(title, dataset.files, folders, dataset.source)


def list_files(name: str, data_dir: Path) -> tuple:
    """The files that a data set may be read from, each with its last changes in ns: of
    its content, and, as `cp -p` leaves that as it was, of anything.
    """
    dataset = find_dataset(name)
    folders = {data_dir, data_dir / name}
    if dataset.full_corpus:
        folders.add(data_dir / dataset.full_corpus.name)
    paths = sorted(path for folder in folders for path in folder.glob("*"))
    found = [(path, path.stat()) for path in paths if path.is_file()]
    return tuple((path, stat.st_mtime_ns, stat.st_ctime_ns) for path, stat in found)


def _check_questions(
    examples: Iterable[tuple[Question, object]], path: Path
) -> list[Question]:
    questions = [question for question, _ in examples]
    if not questions:
        raise DataError(f"{path}: found no questions, expected at least one: {REPAIR}")
    [(id, count)] = Counter(question.id for question in questions).most_common(1)
    if count > 1:
        raise DataError(f"{path}: found {count} questions with the id {id!r}")
    return questions


def full_corpus_folder(corpus: FullCorpus, data_dir: str | Path) -> Path:
    """Where the full corpus that is made of the files in `data_dir` is."""
    made_of = digest(str((ROOT / data_dir).resolve()), 6)
    return DATA / "corpora" / f"{corpus.name}-full-{made_of}"


def make_full_corpus(corpus: FullCorpus, data_dir: str | Path) -> Corpus:
    """Open a full corpus, or make it (IRCoT App. A). Warns if the number of paragraphs
    differs from the paper's.
    """
    folder = full_corpus_folder(corpus, data_dir)
    with locked(folder.with_name(f"{folder.name}.lock")):
        try:
            made = Corpus(folder)
        except FileNotFoundError:
            label = f"corpus of {corpus.name}"
            paragraphs = track(read_full_corpus(corpus, data_dir), label, corpus.count)
            made = write_corpus(folder, paragraphs)
    if corpus.count is not None and corpus.count != len(made):
        warnings.warn(
            f"{folder}: found {len(made):,} paragraphs, the paper {corpus.count:,}"
            " (App. A, footnote 18): is a file truncated?",
            stacklevel=2,
        )
    return made


def read_full_corpus(corpus: FullCorpus, data_dir: str | Path) -> Iterator[Paragraph]:
    """The paragraphs of a full corpus, from `data_dir`/<its name> or `data_dir`.
    Differs from the released program: texts are stripped, sentences joined as they are.
    """
    title = f"full corpus of {corpus.name}"
    folders = (ROOT / data_dir / corpus.name, ROOT / data_dir)
    paths = [find_file(title, [name], folders, corpus.source) for name in corpus.files]
    counts: Counter[str] = Counter()
    for paragraph in chain.from_iterable(map(corpus.read, paths)):
        content = paragraph.id
        if corpus.drop_repeats:
            # contexts share paragraphs; IRCoT's program compares title and text
            content = f"{paragraph.title}\n{paragraph.text}"
        key = digest(content, 24)  # shorter than a text: millions are held
        counts[key] += 1
        if counts[key] == 1:
            yield paragraph
        elif not corpus.drop_repeats:
            yield replace(paragraph, id=f"{paragraph.id}-{counts[key]}")
