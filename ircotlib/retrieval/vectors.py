"""The vectors of a corpus on disk: written block by block, so that interrupted embedding continues
where it stopped, and memory-mapped, so that they open at once.

In their folder, `vectors.f16` holds all vectors as float16, one after the other. `blocks.jsonl` has
a line for each complete block: the number of vectors of each paragraph, their width, a checksum.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter

from ircotlib.data import Paragraph
from ircotlib.errors import DataError
from ircotlib.files.old import hold_lock, write_whole
from ircotlib.retrieval.corpus import Corpus, Progress

BLOCK = 512  # paragraphs embedded and written together
VECTORS, BLOCKS = "vectors.f16", "blocks.jsonl"
REMEDY = "delete the folder, and the next run embeds the corpus again"
Embed = Callable[[Iterable[Paragraph]], list[np.ndarray]]  # of each: (vectors, width)


class Vectors(NamedTuple):
    """Vectors of paragraphs; paragraph i has rows[starts[i] : starts[i + 1]]."""

    rows: np.ndarray  # float16, one vector per row
    starts: np.ndarray

    def of(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of some paragraphs, and where those of each begin; last, their number."""
        counts = self.starts[positions + 1] - self.starts[positions]
        starts = np.concatenate([[0], np.cumsum(counts)])
        rows = np.arange(starts[-1]) + np.repeat(self.starts[positions] - starts[:-1], counts)
        return self.rows[rows], starts


class _Block(NamedTuple):
    counts: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1)]
    width: Annotated[int, Field(ge=1)]
    checksum: int

    @property
    def size(self) -> int:
        return sum(self.counts) * self.width * 2  # bytes


_BLOCK = TypeAdapter(_Block)


def write_vectors(folder: Path, corpus: Corpus, embed: Embed, progress: Progress = iter) -> None:
    """Embed a corpus into a folder of its own, unless it is there. Complete blocks of an earlier
    call are kept. Of several processes one writes and the others wait.
    """
    if _count(_read_blocks(folder)) == len(corpus):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / "vectors.lock", f"the vectors {folder}"):
        for name in (VECTORS, BLOCKS):
            (folder / name).touch()
        blocks = _read_blocks(folder)
        blocks = blocks[: _count_sound(folder, blocks)]  # what follows is cut off
        os.truncate(folder / VECTORS, sum(block.size for block in blocks))
        write_whole(folder / BLOCKS, "".join(json.dumps(block) + "\n" for block in blocks))
        positions = iter(progress(range(_count(blocks), len(corpus))))
        while block := list(islice(positions, BLOCK)):
            _append(folder, embed(corpus.between(block[0], block[-1] + 1)))


def open_vectors(folder: Path, count: int | None = None) -> Vectors:
    """The vectors of `count` paragraphs, or of all if None; ValueError if missing or damaged."""
    blocks = _read_blocks(folder)
    embedded = _count(blocks)
    expected = sum(block.size for block in blocks)
    reason = ""
    if embedded != (count or max(embedded, 1)):
        reason = f"found vectors of {embedded} paragraphs, expected {count or 'some'}"
    elif (size := (folder / VECTORS).stat().st_size) != expected:
        reason = f"found {size} bytes of vectors, expected {expected}"
    elif (sound := _count_sound(folder, blocks)) < len(blocks):
        reason = f"found block {sound} damaged, expected the checksum it was written with"
    if reason:
        raise DataError(f"{folder}: {reason}; {REMEDY}")
    rows = np.memmap(folder / VECTORS, np.float16, "c").reshape(-1, blocks[0].width)
    counts = np.concatenate([block.counts for block in blocks])
    return Vectors(rows, np.concatenate([[0], np.cumsum(counts)]))


def _append(folder: Path, vectors: list[np.ndarray]) -> None:
    if not all(map(len, vectors)):
        raise DataError(f"{folder}: found a text without a vector, expected at least one")
    with np.errstate(over="ignore"):
        rows = np.concatenate(vectors).astype(np.float16)
    if not np.isfinite(rows).all():
        wrong = f"{folder}: found a vector with a number above 65,504, an infinity or a NaN"
        raise DataError(f"{wrong}, expected numbers that float16 can hold; take another model")
    _add(folder / VECTORS, rows.tobytes())
    block = _Block(list(map(len, vectors)), rows.shape[1], zlib.crc32(rows.tobytes()))
    _add(folder / BLOCKS, json.dumps(block).encode() + b"\n")


def _add(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read_blocks(folder: Path) -> list[_Block]:
    """The lines of blocks.jsonl, up to the first that is incomplete or damaged."""
    blocks = []
    path = folder / BLOCKS
    for line in path.read_bytes().split(b"\n")[:-1] if path.is_file() else ():
        try:
            blocks.append(_BLOCK.validate_json(line))
        except ValueError:
            break
    return blocks


def _count_sound(folder: Path, blocks: list[_Block]) -> int:
    """How many blocks at the beginning match their checksums."""
    with (folder / VECTORS).open("rb") as file:
        for number, block in enumerate(blocks):
            if zlib.crc32(file.read(block.size)) != block.checksum:
                return number
    return len(blocks)


def _count(blocks: list[_Block]) -> int:
    return sum(len(block.counts) for block in blocks)
