"""Candidates for the nearest of millions of vectors: faiss sorts the vectors into groups, each
around a centre, and a query looks into the groups whose centres are nearest (an inverted file).

The vectors in it have 8 bits a number, which is enough for candidates: dense.py scores them exactly
with those on disk.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ircotlib.paths import hold_lock

PROBED = 64  # groups that a query looks into
GROUPS = 4  # times the square root of the number of vectors
TAUGHT = 40  # vectors a group from which the centres are found
ROUNDS = 10  # of finding them (k-means)
ROWS = 16_384  # vectors that are added together
CANDIDATES = 2  # times as many as are asked for


def setting() -> dict:
    """What decides which candidates are found; ModuleNotFoundError without faiss."""
    if not find_spec("faiss"):
        missing = "found no faiss, expected it for a corpus of this size"
        raise ModuleNotFoundError(f"{missing}: pip install -e '.[dense]'")
    named = {"probed": PROBED, "groups": GROUPS, "taught": TAUGHT, "rounds": ROUNDS}
    return named | {"candidates": CANDIDATES, "faiss": version("faiss-cpu")}


def build_approximate(folder: Path, rows: np.ndarray) -> Path:
    """The file of the index over vectors, one a row; it is made where it is not there, whole or not
    at all, and lies in the folder of the vectors.
    """
    digest = sha256(json.dumps(setting()).encode()).hexdigest()[:8]
    path = folder / f"approximate-{digest}.faiss"
    with hold_lock(folder / "approximate.lock", f"the index {path}"):
        if not path.is_file():
            import faiss

            partial = path.with_suffix(".partial")
            faiss.write_index(_make(rows), str(partial))
            partial.replace(path)
    return path


class Approximate:
    """The index in a file that build_approximate made, memory-mapped."""

    def __init__(self, path: Path):
        import faiss

        self._index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
        self._index.nprobe = PROBED

    def find(self, queries: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        """Where paragraphs stand that may be the `size` nearest, for each query (1, width)."""
        _, found = self._index.search(np.concatenate(queries), CANDIDATES * size)
        return [np.sort(positions[positions >= 0]) for positions in found]


def _make(rows: np.ndarray):
    import faiss

    groups = max(1, int(GROUPS * len(rows) ** 0.5))
    index = faiss.index_factory(rows.shape[1], f"IVF{groups},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.cp.niter = ROUNDS
    step = max(1, len(rows) // (TAUGHT * groups))
    index.train(rows[::step].astype(np.float32))
    for start in range(0, len(rows), ROWS):
        index.add(rows[start : start + ROWS].astype(np.float32))
    return index
