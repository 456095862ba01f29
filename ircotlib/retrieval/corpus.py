"""A corpus on disk: paragraphs as JSON lines, where each begins, and what they are; it opens at
once, whatever its size.
"""

import json
import mmap
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from hashlib import blake2b, sha256
from itertools import islice
from operator import index
from pathlib import Path

import numpy as np

from ircotlib.data import Paragraph

PARAGRAPHS, OFFSETS, IDS, ABOUT = "paragraphs.jsonl", "offsets.npy", "ids.npy", "corpus.json"


class Corpus:
    """The paragraphs of a folder that write_corpus made: a sequence in the order they were written.

    `fingerprint`: of every line, so equal for equal paragraphs in equal order, wherever they lie.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        about = _read_about(self.folder)
        self.fingerprint: str = about["fingerprint"]
        with (self.folder / PARAGRAPHS).open("rb") as file:
            self._lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._offsets = np.load(self.folder / OFFSETS, mmap_mode="r")
        self._ids = np.load(self.folder / IDS, mmap_mode="r")
        found, expected = (
            (len(self._offsets) - 1, len(self._ids), len(self._lines)),
            (about["count"], about["count"], about["bytes"]),
        )
        if found != expected:
            raise ValueError(
                f"{self.folder}: found {found} (offsets, ids, bytes), expected {expected}; write the corpus again"
            )

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, position: int) -> Paragraph:
        position = index(position)
        if not 0 <= position < len(self):
            raise IndexError(f"position {position} in a corpus of {len(self)} paragraphs")
        return Paragraph(
            **json.loads(self._lines[self._offsets[position] : self._offsets[position + 1]])
        )

    def __iter__(self) -> Iterator[Paragraph]:
        return self.between(0, len(self))

    def between(self, start: int, stop: int) -> Iterator[Paragraph]:
        """The paragraphs from one position to before another, read one after the other."""
        with (self.folder / PARAGRAPHS).open("rb") as file:
            file.seek(self._offsets[start])
            for line in islice(file, stop - start):
                yield Paragraph(**json.loads(line))

    def position_of(self, id: str) -> int:
        """Where the paragraph with this id stands; KeyError when there is none."""
        hashes, wanted = self._ids["hash"], _hash(id)
        place = bisect_left(hashes, wanted)
        while place < len(self) and hashes[place] == wanted:
            position = int(self._ids["position"][place])
            if self[position].id == id:
                return position
            place += 1
        raise KeyError(f"no paragraph has the id {id!r} in {self.folder}")


def write_corpus(folder: Path | str, paragraphs: Iterable[Paragraph]) -> Corpus:
    """Write paragraphs as a corpus, in their order, and open it; ValueError when there are none or
    two share an id.

    A corpus that is already there stays as it is until the new one is complete. A process killed at
    the end of writing leaves no corpus, never half of one.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _write_partial(folder, paragraphs)
        (folder / ABOUT).unlink(missing_ok=True)
        for name in (PARAGRAPHS, OFFSETS, IDS, ABOUT):
            _partial(folder, name).replace(folder / name)
    finally:
        for name in (PARAGRAPHS, OFFSETS, IDS, ABOUT):
            _partial(folder, name).unlink(missing_ok=True)
    return Corpus(folder)


def _write_partial(folder: Path, paragraphs: Iterable[Paragraph]) -> None:
    offsets, hashes, fingerprint = array("q", [0]), array("Q"), sha256()
    with _partial(folder, PARAGRAPHS).open("wb") as file:
        for paragraph in paragraphs:
            line = _line(paragraph)
            file.write(line)
            fingerprint.update(line)
            offsets.append(offsets[-1] + len(line))
            hashes.append(_hash(paragraph.id))
    if not hashes:
        raise ValueError(
            f"no paragraphs to write to {folder}: a corpus has at least one; look at where they were to come from"
        )
    _save(_partial(folder, OFFSETS), np.asarray(offsets, dtype=np.int64))
    _save(_partial(folder, IDS), _sort_ids(folder, np.asarray(hashes, dtype=np.uint64), offsets))
    about = {
        "count": len(hashes),
        "bytes": offsets[-1],
        "fingerprint": fingerprint.hexdigest()[:16],
    }
    _partial(folder, ABOUT).write_text(json.dumps(about) + "\n", encoding="utf-8")


def _line(paragraph: Paragraph) -> bytes:
    row = {"id": paragraph.id, "title": paragraph.title, "text": paragraph.text}
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8")


def _sort_ids(folder: Path, hashes: np.ndarray, offsets: array) -> np.ndarray:
    """Hashes of ids with their positions, ordered by hash; ValueError when two paragraphs have one
    id.
    """
    order = np.argsort(hashes, kind="stable")
    ids = np.empty(len(hashes), dtype=[("hash", np.uint64), ("position", np.int64)])
    ids["hash"], ids["position"] = hashes[order], order
    with _partial(folder, PARAGRAPHS).open("rb") as file:
        for place in np.flatnonzero(ids["hash"][1:] == ids["hash"][:-1]):
            first, second = (
                _read_id(file, offsets[position]) for position in order[place : place + 2]
            )
            if first == second:
                raise ValueError(
                    f"two paragraphs have the id {first!r}: positions {order[place]} and {order[place + 1]}; "
                    "ids are unique in a corpus: drop the duplicate or number them"
                )
    return ids


def _read_id(file, offset: int) -> str:
    file.seek(offset)
    return json.loads(file.readline())["id"]


def _hash(id: str) -> int:
    return int.from_bytes(blake2b(id.encode("utf-8"), digest_size=8).digest(), "big")


def _partial(folder: Path, name: str) -> Path:
    return folder / f"{name}.partial"


def _save(path: Path, values: np.ndarray) -> None:
    with path.open("wb") as file:
        np.save(file, values)


def _read_about(folder: Path) -> dict:
    path = folder / ABOUT
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} not found: no corpus there, or its writing was broken off; write it with write_corpus"
        )
    return json.loads(path.read_text(encoding="utf-8"))
