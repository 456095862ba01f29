"""Makes the full corpora of IRCoT's experiments from official downloads, as a stream (App. A)."""

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph
from ircotlib.datasets import FullCorpus
from ircotlib.datasets.official import find_file
from ircotlib.datasets.pooled import digest
from ircotlib.files import DATA, ROOT, locked, track
from ircotlib.retrieval.corpus import Corpus, write_corpus


def full_corpus_folder(corpus: FullCorpus, data_dir: str | Path) -> Path:
    """Where the full corpus that is made of the files in `data_dir` is."""
    made_of = digest(str((ROOT / data_dir).resolve()), 6)
    return DATA / "corpora" / f"{corpus.name}-full-{made_of}"


def make_full_corpus(corpus: FullCorpus, data_dir: str | Path, folder: str | Path) -> Corpus:
    """Write a full corpus to a folder, completely or not at all, and open it; one that is there is
    opened as it is, so delete the folder if the files have changed (IRCoT App. A).

    `data_dir`: absolute, or relative to the repository. A number of paragraphs that differs from
    the paper's is a warning. Raises FileNotFoundError for a missing file, DataError for a damaged
    one. Differs from the released program: texts are stripped at both ends, and sentences of
    abstracts are joined without the space added there.
    """
    folder = Path(folder)
    with locked(folder.with_name(f"{folder.name}.lock")):
        try:
            made = Corpus(folder)
        except FileNotFoundError:
            paragraphs = read_full_corpus(corpus, data_dir)
            made = write_corpus(folder, track(paragraphs, f"corpus of {corpus.name}", corpus.count))
    if corpus.count not in (None, len(made)):
        counts = f"{len(made):,} paragraphs, and the paper {corpus.count:,} (App. A, footnote 18)"
        other = "is a file cut off, or of another version?"
        warnings.warn(f"{folder}: found {counts}: {other}", stacklevel=2)
    return made


def find_files(corpus: FullCorpus, data_dir: str | Path) -> list[Path]:
    """The files of a full corpus in reading order, in `data_dir`/<name> or in `data_dir`."""
    folders = (ROOT / data_dir / corpus.name, ROOT / data_dir)
    title = f"full corpus of {corpus.name}"
    return [find_file(title, [name], folders, corpus.source) for name in corpus.files]


def read_full_corpus(corpus: FullCorpus, data_dir: str | Path) -> Iterator[Paragraph]:
    """The paragraphs of a full corpus. Ids, titles and texts are those of the questions' contexts.
    Repeats of title and text are dropped if the record says so; otherwise repeated ids get "-2",
    "-3", ... at the end.
    """
    counts = Counter()
    for paragraph in chain.from_iterable(map(corpus.read, find_files(corpus, data_dir))):
        # IRCoT App. A: contexts share paragraphs; their program compares title and text
        content = f"{paragraph.title}\n{paragraph.text}" if corpus.drop_repeats else paragraph.id
        counts[key := digest(content, 24)] += 1
        if counts[key] == 1:
            yield paragraph
        elif not corpus.drop_repeats:
            yield replace(paragraph, id=f"{paragraph.id}-{counts[key]}")
