"""Makes the full corpora of IRCoT's experiments from the official downloads, as a stream (IRCoT
App. A).
"""

import html
import shutil
import unicodedata
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph, read_jsonl, write_jsonl
from ircotlib.datasets import FullCorpus
from ircotlib.datasets.downloads import Progress, find_files
from ircotlib.files.paths import ROOT, hold_lock
from ircotlib.files.progress import show_progress
from ircotlib.retrieval.corpus import DESCRIPTION, Corpus, write_corpus

TOLERANCE = 0.01  # of the count: a larger difference is an error, a smaller one a warning
MADE = "full.json"  # in the folder of a corpus: which full corpus it is


def read_full_corpus(corpus: FullCorpus, data_dir: str | Path) -> Iterator[Paragraph]:
    """The paragraphs of a full corpus, the same in the same order on every machine (IRCoT App. A).

    `data_dir`: absolute, or relative to the repository; see find_files. Ids, titles and texts are
    those of the questions' contexts. For 2WikiMultihopQA and MuSiQue, repeats of title and text are
    dropped. For HotpotQA all abstracts are kept, and for IIRC all that read_articles yields;
    repeated ids get "-2", "-3", ... at the end. 16 bytes per paragraph are held in memory. Raises
    whatever find_files raises, and ValueError, naming file and line, if a file is damaged. Differs
    from the released program: texts are stripped at both ends, sentences of abstracts are joined
    without the space added there, and files are read in the order of their names.
    """
    seen, parts = set(), find_files(corpus, ROOT / data_dir)
    return chain.from_iterable(_read_part(corpus, files, seen) for files in parts)


def make_full_corpus(
    corpus: FullCorpus,
    data_dir: str | Path,
    folder: str | Path,
    expected: int | None = None,
    progress: Progress = show_progress,
) -> Corpus:
    """Write a full corpus to a folder, completely or not at all, and open it; one that was made
    there before is opened as it is.

    The paragraphs are first written to `folder`.parts, part by part: after a kill or an error the
    next call continues after the last complete part (100 of HotpotQA's 15,517 shards, or one file
    of the others). Parts are read again if the size of a file has changed. While a corpus is made,
    it takes twice its space. `expected`: how many paragraphs there should be; None: the record's
    count. A count that differs by more than 1 % raises ValueError but leaves the parts, so that a
    call with another `expected` need not read them again; a smaller difference is a warning.
    `progress`: as show_progress. Also raises whatever read_full_corpus raises, and ValueError for a
    folder that holds another corpus.
    """
    folder, parts = Path(folder), Path(f"{folder}.parts")
    expected = expected or corpus.count
    folder.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(Path(f"{folder}.lock"), f"the full corpus {folder}"):
        if not _is_made(corpus, folder):
            files = find_files(corpus, ROOT / data_dir, progress)
            with progress(f"reading {corpus.name}", expected) as show:
                paths, count = _write_parts(corpus, files, parts, _Counter(show, expected))
            _check_count(corpus, count, expected, parts)
            write_jsonl(folder / MADE, [{"dataset": corpus.name}])
            paragraphs = chain.from_iterable(read_jsonl(path, Paragraph) for path in paths)
            with progress(f"corpus of {corpus.name}", count) as show:
                write_corpus(folder, _Counter(show, count).pass_on(paragraphs))
            shutil.rmtree(parts)
    return Corpus(folder)


def find_ids(corpus: Iterable[Paragraph], titles: Iterable[str]) -> dict[str, str]:
    """The ids of the paragraphs with these titles, by title, from one pass over the corpus (IRCoT
    §4, for HotpotQA with its full corpus).

    If several paragraphs have the same title, the first counts. A title is also found if the corpus
    only has it in another encoding of the same characters ("&amp;" for "&", an accent as a separate
    character). Titles that the corpus lacks are left out.
    """
    wanted = {}
    for title in dict.fromkeys(titles):
        wanted.setdefault(_plain(title), []).append(title)
    same, alike = {}, {}
    for paragraph in corpus:
        for title in wanted.get(_plain(paragraph.title), ()):
            (same if title == paragraph.title else alike).setdefault(title, paragraph.id)
    return alike | same


def _plain(title: str) -> str:
    return unicodedata.normalize("NFC", html.unescape(title))


def _read_part(corpus: FullCorpus, files: list[Path], seen: set[bytes]) -> Iterator[Paragraph]:
    return _distinct(corpus, chain.from_iterable(map(corpus.read, files)), seen)


def _distinct(
    corpus: FullCorpus, paragraphs: Iterable[Paragraph], seen: set[bytes]
) -> Iterator[Paragraph]:
    """Paragraphs without repeats, or with numbered ones; `seen` holds 16 bytes for each."""
    return (_drop_repeats if corpus.drop_repeats else _number_repeats)(paragraphs, seen)


def _drop_repeats(paragraphs: Iterable[Paragraph], seen: set[bytes]) -> Iterator[Paragraph]:
    """The paragraphs whose title and text did not occur before."""
    for paragraph in paragraphs:
        key = _digest(f"{paragraph.title}\n{paragraph.text}")
        if key not in seen:
            seen.add(key)
            yield paragraph


def _number_repeats(paragraphs: Iterable[Paragraph], seen: set[bytes]) -> Iterator[Paragraph]:
    """All paragraphs, those whose id occurred before with a new id."""
    for paragraph in paragraphs:
        id, number = paragraph.id, 1
        while (key := _digest(id)) in seen:
            number += 1
            id = f"{paragraph.id}-{number}"
        seen.add(key)
        yield paragraph if number == 1 else Paragraph(id, paragraph.title, paragraph.text)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def _write_parts(
    corpus: FullCorpus, parts: list[list[Path]], folder: Path, counter: "_Counter"
) -> tuple[list[Path], int]:
    """Write the missing parts, each completely or not at all; return the files of all parts, and
    the number of paragraphs.

    The name of a part's file changes with the names and sizes of all files read up to its end.
    """
    seen, written, sources = set(), [], blake2b(digest_size=8)
    for number, files in enumerate(parts):
        sizes = (f"{path.name} {path.stat().st_size}\n" for path in files)
        sources.update("".join(sizes).encode())
        path = folder / f"{number:03}-{sources.hexdigest()}.jsonl"
        if path.is_file():  # read again to fill `seen`
            deque(counter.pass_on(_distinct(corpus, read_jsonl(path, Paragraph), seen)), maxlen=0)
        else:
            write_jsonl(path, counter.pass_on(_read_part(corpus, files, seen)))
        written.append(path)
    return written, counter.done


class _Counter:
    """Passes paragraphs on, and shows how many there were so far."""

    def __init__(self, show: Callable[[int, int], None], total: int | None):
        self.show, self.total, self.done = show, total, 0

    def pass_on(self, paragraphs: Iterable[Paragraph]) -> Iterator[Paragraph]:
        for paragraph in paragraphs:
            yield paragraph
            self.done += 1
            if self.done % 1000 == 0:
                self.show(self.done, self.total)
        self.show(self.done, self.total)


def _is_made(corpus: FullCorpus, folder: Path) -> bool:
    """Whether this full corpus is in the folder. Raises ValueError if another corpus is there."""
    if not (folder / DESCRIPTION).is_file():
        return False
    try:
        made = next(read_jsonl(folder / MADE), "an empty file")
    except (FileNotFoundError, ValueError):
        made = f"no whole {MADE}"
    if made != {"dataset": corpus.name}:
        expected = f"expected the full corpus of {corpus.name} or no corpus, found {made}"
        raise ValueError(f"{folder}: {expected}; choose another folder or delete this one")
    return True


def _check_count(corpus: FullCorpus, count: int, expected: int | None, parts: Path) -> None:
    if expected in (None, count):
        return
    counts = f"found {count:,} paragraphs, expected {expected:,} ({corpus.counted_in})"
    if abs(count - expected) > TOLERANCE * expected:
        raise ValueError(
            f"{corpus.name}: {counts}: is a file cut off, or of another version? To accept the"
            f" files as they are, call make_full_corpus with expected={count}; what was read is"
            f" kept in {parts}"
        )
    difference = f"{corpus.name}: {counts}: the downloads differ a little from the paper's"
    warnings.warn(difference, stacklevel=3)
