"""Finds candidates for the nearest of millions of vectors with usearch's graph of neighbours
(HNSW). dense.py then scores the candidates exactly, with the vectors on disk.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np

from ircotlib.files.extras import need
from ircotlib.files.old import (
    check_sums,
    hold_lock,
    read_description,
    take_sums,
    write_description,
    write_partial,
)
from ircotlib.files.progress import track

GRAPH = {"connectivity": 16, "expansion_add": 128}  # neighbours of a vector, candidates for them
SEARCHED = 128  # vectors compared with each query, at least
CANDIDATES = 2  # for each paragraph asked for
REMEDY = "delete the approximate-* files, and the next run makes the index again"
ROWS = 16_384  # vectors added at a time


def setting() -> dict:
    """All that affects which candidates are found. Raises Unavailable without usearch."""
    need("usearch", "dense")
    search = {"searched": SEARCHED, "candidates": CANDIDATES, "usearch": version("usearch")}
    return GRAPH | search


def build_approximate(folder: Path, rows: np.ndarray) -> Path:
    """The file of the index over float16 vectors, one per row, in the folder of the vectors. A
    missing index is built first, completely or not at all. Raises ValueError if it is damaged.

    One thread builds it: with more, no two builds are the same, and some find less.
    """
    digest = sha256(json.dumps(setting()).encode()).hexdigest()[:8]
    path = folder / f"approximate-{digest}.usearch"
    description = path.with_suffix(".json")
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / "approximate.lock", f"the index {path}"):
        if not read_description(description, REMEDY):
            from usearch.index import Index

            index = Index(ndim=rows.shape[1], metric="ip", dtype="f16", **GRAPH)
            for start in track(range(0, len(rows), ROWS), "approximate index"):
                block = np.asarray(rows[start : start + ROWS])
                index.add(np.arange(start, start + len(block)), block, threads=1)
            with write_partial(path) as partial:
                index.save(str(partial))
            write_description(description, {"files": take_sums(folder, [path.name])})
    check_sums(folder, read_description(description, REMEDY)["files"], REMEDY)
    return path


class Approximate:
    """The index in a file that build_approximate wrote, memory-mapped."""

    def __init__(self, path: Path):
        from usearch.index import Index

        self._index = Index.restore(str(path), view=True)

    def find(self, queries: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        """Sorted positions, likely to include the `size` nearest of each query, (1, width)."""
        count = CANDIDATES * size
        rows = np.concatenate(queries).astype(np.float16)
        self._index.expansion_search = max(SEARCHED, count)
        nearest = (self._index.search(row, count).keys for row in rows)
        return [np.sort(positions).astype(np.int64) for positions in nearest]
