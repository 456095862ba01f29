"""Makes the full corpora of IRCoT's experiments from official downloads, as a stream (App. A)."""

import html
import shutil
import sys
import unicodedata
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from ircotlib.data import Paragraph, read_jsonl, write_jsonl
from ircotlib.datasets import FullCorpus
from ircotlib.datasets.downloads import find_files
from ircotlib.errors import DataError
from ircotlib.files.paths import ROOT, hold_lock, write_partial
from ircotlib.files.progress import show_progress, track
from ircotlib.files.tables import Number, read_table
from ircotlib.retrieval.corpus import DESCRIPTION, Corpus, write_corpus

MADE = "full.json"  # in the folder of a corpus: which full corpus it is
COUNTS = "corpora.csv"  # in data_dir: corpora that do not have the paper's number of paragraphs
Show = Callable[[int], None]  # shows how many paragraphs there were so far


def make_full_corpus(corpus: FullCorpus, data_dir: str | Path, folder: str | Path) -> Corpus:
    """Write a full corpus to a folder, completely or not at all, and open it; one that was made
    there before is opened as it is. It is the same on every machine (IRCoT App. A).

    `data_dir`: absolute, or relative to the repository. Ids, titles and texts are those of the
    questions' contexts. Repeats of title and text are dropped if the record says so; otherwise
    repeated ids get "-2", "-3", ... at the end. 16 bytes per paragraph are held in memory.

    The paragraphs are first written to `folder`.parts, part by part: after a kill or an error the
    next call continues after the last complete part (100 of HotpotQA's 15,517 shards, or one file
    of the others), unless the size of a file has changed. While a corpus is made, it takes twice
    its space. A number of paragraphs that differs by more than 1 % from the paper's, or from that
    in `data_dir`/corpora.csv, raises ValueError but leaves the parts for the next call; a smaller
    difference is a warning. Also raises FileNotFoundError for a missing file, and ValueError for a
    damaged one, with file and line, and for a folder that holds another corpus, or one of another
    size that was accepted. Differs from the released program: texts are stripped at both ends,
    sentences of abstracts are joined without the space added there, and files are read in the order
    of their names.
    """
    folder = Path(folder)
    parts = Path(f"{folder}.parts")
    expected, counted_in = _expect(corpus, ROOT / data_dir / COUNTS)
    about = {"dataset": corpus.name}
    about |= {"expected": expected} if expected != corpus.count else {}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(Path(f"{folder}.lock"), f"the full corpus {folder}"):
        if _is_made(about, folder):
            _say_newer(corpus, ROOT / data_dir, folder)
        else:
            files = find_files(corpus, ROOT / data_dir)
            with show_progress(f"reading {corpus.name}", expected) as show:
                paths, count = _write_parts(corpus, files, parts, lambda done: show(done, expected))
            if expected not in (None, count):
                accept = f"{corpus.name},{count} in {ROOT / data_dir / COUNTS}"
                _check_count(corpus.name, count, expected, counted_in, parts, accept)
            write_jsonl(folder / MADE, [about])
            paragraphs = chain.from_iterable(map(_read_part, paths))
            write_corpus(folder, track(paragraphs, f"corpus of {corpus.name}", count))
            shutil.rmtree(parts)
    return Corpus(folder)


def read_full_corpus(corpus: FullCorpus, data_dir: str | Path) -> Iterator[Paragraph]:
    """The paragraphs of a full corpus, as make_full_corpus writes them."""
    files = chain.from_iterable(find_files(corpus, ROOT / data_dir))
    return _distinct(corpus, chain.from_iterable(map(corpus.read, files)), set(), lambda done: None)


def find_ids(corpus: Iterable[Paragraph], titles: Iterable[str]) -> dict[str, str]:
    """The ids of the paragraphs with these titles, by title, from one pass over the corpus (IRCoT
    §4); of several with the same title, the first.

    A title is also found in another encoding of the same characters ("&amp;" for "&", an accent as
    a separate character). Titles that the corpus lacks are left out.
    """
    wanted = {}
    for title in dict.fromkeys(titles):
        wanted.setdefault(_plain(title), []).append(title)
    same = {}
    alike = {}
    for paragraph in corpus:
        for title in wanted.get(_plain(paragraph.title), ()):
            (same if title == paragraph.title else alike).setdefault(title, paragraph.id)
    return alike | same


def _plain(title: str) -> str:
    return unicodedata.normalize("NFC", html.unescape(title))


def _distinct(
    corpus: FullCorpus, paragraphs: Iterable[Paragraph], seen: set[bytes], show: Show
) -> Iterator[Paragraph]:
    """Paragraphs without repeats of title and text, or all, with numbers at repeated ids. `seen`:
    hashes of all so far.
    """
    for paragraph in paragraphs:
        id = paragraph.id
        number = 1
        # IRCoT App. A: contexts share paragraphs; their program compares title and text
        content = f"{paragraph.title}\n{paragraph.text}"
        key = _digest(content if corpus.drop_repeats else id)
        if corpus.drop_repeats and key in seen:
            continue
        while key in seen:
            number += 1
            id = f"{paragraph.id}-{number}"
            key = _digest(id)
        seen.add(key)
        if len(seen) % 1000 == 0:
            show(len(seen))
        yield paragraph if number == 1 else replace(paragraph, id=id)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def _write_parts(
    corpus: FullCorpus, parts: list[list[Path]], folder: Path, show: Show
) -> tuple[list[Path], int]:
    """Write the missing parts, each completely or not at all; return the files of all, and the
    number of paragraphs. A part's name changes with names and sizes of the files up to its end.
    """
    seen: set[bytes] = set()
    written = []
    sources = blake2b(digest_size=8)
    for number, files in enumerate(parts):
        sizes = (f"{path.name} {path.stat().st_size}\n" for path in files)
        sources.update("".join(sizes).encode())
        path = folder / f"{number:03}-{sources.hexdigest()}.jsonl"
        if path.is_file():  # read again to fill `seen`
            deque(_distinct(corpus, _read_part(path), seen, show), maxlen=0)
        else:
            paragraphs = chain.from_iterable(map(corpus.read, files))
            with write_partial(path) as partial:
                write_jsonl(partial, _distinct(corpus, paragraphs, seen, show))
        written.append(path)
        show(len(seen))
    return written, len(seen)


def _read_part(path: Path) -> Iterator[Paragraph]:
    return (Paragraph(**row) for row in read_jsonl(path))


def _expect(corpus: FullCorpus, path: Path) -> tuple[int | None, str]:
    """How many paragraphs a corpus should have, None if nobody knows, and who says so."""
    columns = {"corpus": None, "paragraphs": Number(1, kind=int)}
    rows = read_table(path, columns, ["corpus"]) if path.is_file() else []
    accepted = {row["corpus"]: (row["paragraphs"], str(path)) for row in rows}
    return accepted.get(corpus.name, (corpus.count, corpus.counted_in))


def _is_made(about: dict, folder: Path) -> bool:
    """Whether this full corpus is in the folder. Raises DataError if another corpus is there."""
    if not (folder / DESCRIPTION).is_file():
        return False
    try:
        made = next(read_jsonl(folder / MADE), "an empty file")
    except (FileNotFoundError, ValueError):
        made = f"no whole {MADE}"
    if made != about:
        expected = f"expected the full corpus {about} or no corpus, found {made}"
        raise DataError(f"{folder}: {expected}; choose another IRCOT_DATA or delete this folder")
    return True


def _say_newer(corpus: FullCorpus, data_dir: Path, folder: Path) -> None:
    """Say on stderr if a file is newer than the corpus that was made of it."""
    with suppress(FileNotFoundError):
        made = (folder / MADE).stat().st_mtime_ns
        paths = chain.from_iterable(find_files(corpus, data_dir, unpack=False))
        if newer := [path for path in paths if path.stat().st_mtime_ns > made]:
            again = f"to make the corpus of it again, delete {folder}"
            print(f"{newer[0]} is newer than what was made of it: {again}", file=sys.stderr)


def _check_count(
    name: str, count: int, expected: int, counted_in: str, parts: Path, accept: str
) -> None:
    counts = f"{name}: found {count:,} paragraphs, expected {expected:,} ({counted_in})"
    if abs(count - expected) > 0.01 * expected:
        cut = "is a file cut off, or of another version? To accept the files, write a line"
        raise DataError(f"{counts}: {cut} {accept} below corpus,paragraphs; read: {parts}")
    warnings.warn(f"{counts}: the downloads differ a little from the paper's", stacklevel=3)
