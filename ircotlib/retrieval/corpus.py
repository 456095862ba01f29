"""A corpus on disk: its paragraphs as JSON lines, the offset of each line, and the hash of each id.
A corpus of any size is opened without parsing its lines.
"""

import json
import mmap
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b, sha256
from itertools import islice
from operator import index
from pathlib import Path

import numpy as np

from ircotlib.data import Paragraph
from ircotlib.errors import DataError
from ircotlib.files.old import (
    check_sums,
    hold_lock,
    read_description,
    replace_files,
    take_sums,
    write_description,
)

PARAGRAPHS, OFFSETS, IDS = "paragraphs.jsonl", "offsets.npy", "ids.npy"
FILES = PARAGRAPHS, OFFSETS, IDS
DESCRIPTION = "corpus.json"
REMEDY = "delete the folder, and the next run writes the corpus again"
MOST_KEPT = 10_000  # paragraphs kept in memory: those read last
DIGITS = 16  # of a fingerprint
Progress = Callable[[range], Iterable[int]]  # wraps positions to show a bar, as tqdm does


class Corpus:
    """The paragraphs in a folder that write_corpus wrote: a sequence in the order of writing.

    `fingerprint`: a hash of all lines. Raises FileNotFoundError if there is no corpus.json, and
    ValueError if a file is damaged.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        about = read_description(self.folder / DESCRIPTION, REMEDY)
        if about is None:
            missing = f"{self.folder / DESCRIPTION} not found: no corpus, or an incomplete one"
            raise FileNotFoundError(f"{missing}; write it with write_corpus")
        check_sums(self.folder, about["files"], REMEDY)
        self.fingerprint: str = about["fingerprint"]
        with (self.folder / PARAGRAPHS).open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # as plain arrays, whose items are read five times as fast as those of a memmap
        self._offsets = np.asarray(np.load(self.folder / OFFSETS, mmap_mode="r"))
        self._ids = np.asarray(np.load(self.folder / IDS, mmap_mode="r"))
        self._read = lru_cache(MOST_KEPT)(self._read)

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, position: int) -> Paragraph:
        position = index(position)
        if not 0 <= position < len(self):
            raise IndexError(f"position {position} in a corpus of {len(self)} paragraphs")
        return self._read(position)

    def _read(self, position: int) -> Paragraph:
        start, stop = self._offsets[position : position + 2]
        return Paragraph(**json.loads(self._lines[start:stop]))

    def __iter__(self) -> Iterator[Paragraph]:
        return self.between(0, len(self))

    def between(self, start: int, stop: int) -> Iterator[Paragraph]:
        """The paragraphs at positions `start` to `stop` - 1."""
        with (self.folder / PARAGRAPHS).open("rb") as file:
            file.seek(self._offsets[start])
            for line in islice(file, stop - start):
                yield Paragraph(**json.loads(line))

    def find(self, id: str) -> Paragraph:
        """The paragraph with this id; KeyError if there is none."""
        hashes = self._ids["hash"]
        wanted = _hash(id)
        for row in range(bisect_left(hashes, wanted), len(self)):
            if hashes[row] != wanted:
                break
            paragraph = self[int(self._ids["position"][row])]
            if paragraph.id == id:  # two ids may have the same hash
                return paragraph
        raise KeyError(f"no paragraph has the id {id!r} in {self.folder}")


def open_corpus(
    folder: Path | str, fingerprint: str, paragraphs: Callable[[], Iterable[Paragraph]]
) -> Corpus:
    """Open the corpus with this fingerprint in a folder. If it is missing, damaged or another one,
    first write the paragraphs that `paragraphs()` returns, as write_corpus does.
    """
    folder = Path(folder)
    if corpus := _find(folder, fingerprint):
        return corpus
    with _hold(folder):
        return _find(folder, fingerprint) or _write(folder, paragraphs())


def _find(folder: Path, fingerprint: str) -> Corpus | None:
    with suppress(OSError, ValueError):
        corpus = Corpus(folder)
        return corpus if corpus.fingerprint == fingerprint else None


def write_corpus(folder: Path | str, paragraphs: Iterable[Paragraph]) -> Corpus:
    """Write paragraphs as a corpus, in their order, and open it. Raises DataError if there are
    none or two share an id. Of several processes one writes and the others wait.

    The same corpus in the folder stays as it is, a different one until the new one is complete. A
    process killed at the end of writing may leave no corpus, but never half of one.
    """
    with _hold(Path(folder)):
        return _write(Path(folder), paragraphs)


def fingerprint_of(paragraphs: Iterable[Paragraph]) -> str:
    """The fingerprint of a corpus of these paragraphs, without writing it."""
    fingerprint = sha256()
    for paragraph in paragraphs:
        fingerprint.update(_line(paragraph))
    return fingerprint.hexdigest()[:DIGITS]


def _hold(folder: Path):
    folder.mkdir(parents=True, exist_ok=True)
    return hold_lock(folder / "corpus.lock", f"the corpus {folder}")


def _write(folder: Path, paragraphs: Iterable[Paragraph]) -> Corpus:
    with replace_files(folder, DESCRIPTION) as partial:
        _write_files(partial, paragraphs)
    return Corpus(folder)


def _write_files(folder: Path, paragraphs: Iterable[Paragraph]) -> None:
    offsets = array("q", [0])
    hashes = array("Q")
    fingerprint = sha256()
    with (folder / PARAGRAPHS).open("wb") as file:
        for paragraph in paragraphs:
            line = _line(paragraph)
            file.write(line)
            fingerprint.update(line)
            offsets.append(offsets[-1] + len(line))
            hashes.append(_hash(paragraph.id))
    if not hashes:
        needed = "a corpus has at least one; check where they should come from"
        raise DataError(f"no paragraphs to write to {folder.parent}: {needed}")
    np.save(folder / OFFSETS, np.asarray(offsets, dtype=np.int64))
    np.save(folder / IDS, _sort_ids(folder, np.asarray(hashes, dtype=np.uint64), offsets))
    about = {"count": len(hashes), "fingerprint": fingerprint.hexdigest()[:DIGITS]}
    about["files"] = take_sums(folder, FILES)
    write_description(folder / DESCRIPTION, about)


def _line(paragraph: Paragraph) -> bytes:
    row = {"id": paragraph.id, "title": paragraph.title, "text": paragraph.text}
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8")


def _sort_ids(folder: Path, hashes: np.ndarray, offsets: array) -> np.ndarray:
    """The hashes of the ids with their positions, sorted by hash. ValueError if ids are equal."""
    order = np.argsort(hashes, kind="stable")
    ids = np.empty(len(hashes), dtype=[("hash", np.uint64), ("position", np.int64)])
    ids["hash"], ids["position"] = hashes[order], order
    with (folder / PARAGRAPHS).open("rb") as file:
        for row in np.flatnonzero(ids["hash"][1:] == ids["hash"][:-1]):
            read = []
            for position in order[row : row + 2]:
                file.seek(offsets[position])
                read.append(json.loads(file.readline())["id"])
            if read[0] == read[1]:
                positions = " and ".join(map(str, order[row : row + 2]))
                twice = f"two paragraphs have the id {read[0]!r}: positions {positions}"
                raise DataError(f"{twice}; ids are unique in a corpus: drop one or number them")
    return ids


def _hash(id: str) -> int:
    return int.from_bytes(blake2b(id.encode("utf-8"), digest_size=8).digest(), "big")
