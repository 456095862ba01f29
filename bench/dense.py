"""The benchmark behind what docs/retrievers.md states about dense retrieval: python -m bench.dense
VECTORS. Writes figures/bench_dense.csv.

VECTORS is a folder of vectors that an earlier run left in data/indexes. Larger corpora are made
from them: each vector is a mixture of two real ones and noise, and so are the queries. Times are
CPU seconds of one thread, the median of three runs. The approximate index is judged by its recall
of the exact top 15.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from ircotlib.errors import UserError
from ircotlib.files.options import new_parser, read_count, read_number, refusing
from ircotlib.results.figures.panels import save_figure
from ircotlib.retrieval.approximate import Approximate, build_approximate
from ircotlib.retrieval.nearest import find_among, find_nearest
from ircotlib.retrieval.vectors import Vectors, open_vectors

SIZES, LATE = (10_000, 100_000, 1_000_000), (1_000, 10_000)
K, QUERIES, NOISE = 15, 128, 0.02  # NOISE: standard deviation of each number
TOKENS, ASKED, WIDTH = 100, 32, 128  # as ColBERTv2: of a paragraph, of a query, of a vector

MIXED, RANDOM = "mixtures of two real ones and noise", "random, of ColBERTv2's numbers"


class Row(NamedTuple):
    """One line of the table."""

    vectors: str
    paragraphs: int
    measure: str
    value: float
    unit: str


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("vectors", type=Path, help="a folder data/indexes/NAME-vectors-…")
    parser.add_argument("--sizes", type=read_count, nargs="+", default=SIZES, help="paragraphs")
    add = parser.add_argument
    most = "paragraphs of the largest approximate index"
    add("--approximate", type=read_number, default=100_000, help=most)
    add("--late", type=read_count, nargs="*", default=LATE, help="paragraphs of colbert:")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with refusing():
        if not asked.vectors.is_dir():
            raise UserError(f"found no folder {asked.vectors}, expected one of vectors")
        real = read_real(asked.vectors)
    dense = (measure_dense(real, size, asked.approximate) for size in asked.sizes)
    rows = []
    for row in chain(measure_rounding(real), *dense, *map(measure_late, asked.late)):
        print(*row, sep=", ", flush=True)
        rows.append(row)
    save_figure(None, pd.DataFrame(rows, columns=Row._fields), "bench_dense")


def read_real(folder: Path) -> np.ndarray:
    """The vectors of an earlier run [vectors, width]."""
    vectors = open_vectors(folder)
    return vectors.rows.astype(np.float32)


def mix(real: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Unit vectors [count, width]: 60% to 100% of a real one, the rest of another, and noise."""
    chance = np.random.default_rng(seed)
    one, other = real[chance.integers(0, len(real), (2, count))]
    share = chance.uniform(0.6, 1, (count, 1)).astype(np.float32)
    noise = NOISE * chance.standard_normal(one.shape, dtype=np.float32)
    mixed = share * one + (1 - share) * other + noise
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


def write(folder: Path, blocks: Iterator[np.ndarray]) -> np.ndarray:
    """Write vectors as float16 and return them memory-mapped, like those of a corpus."""
    with (folder / "rows").open("wb") as file:
        for block in blocks:
            file.write(block.astype(np.float16).tobytes())
    width = block.shape[1]
    return np.memmap(folder / "rows", np.float16, "c").reshape(-1, width)


def measure_dense(real: np.ndarray, size: int, most: int) -> Iterator[Row]:
    """Measure exact search with one vector for each paragraph; for up to `most` paragraphs, also
    approximate search.
    """
    row = partial(Row, MIXED, size)
    queries = list(mix(real, QUERIES, seed=0)[:, None])
    with tempfile.TemporaryDirectory() as folder:
        sizes = [min(10_000, size - start) for start in range(0, size, 10_000)]
        rows = write(Path(folder), (mix(real, n, i) for i, n in enumerate(sizes, start=1)))
        vectors = Vectors(rows, np.arange(len(rows) + 1))
        yield row("on disk", rows.nbytes / 1e6, "MB")
        yield from (row(*one) for one in measure_exact(queries, vectors))
        if size > most:
            return
        seconds = cpu_seconds(lambda: build_approximate(Path(folder), rows))
        yield row("approximate, build", seconds, "CPU-s")
        path = build_approximate(Path(folder), rows)
        yield row("approximate, on disk", path.stat().st_size / 1e6, "MB")
        yield from (row(*one) for one in measure_approximate(queries, vectors, path))


def measure_exact(queries: list[np.ndarray], vectors: Vectors) -> Iterator[tuple]:
    for batch in (1, 64):
        part = queries[:batch]
        seconds = median(lambda: find_nearest(part, vectors, K)) / batch
        yield f"exact, {batch} at a time", 1000 * seconds, "CPU-ms a query"


def measure_rounding(real: np.ndarray, size: int = 10_000) -> Iterator[Row]:
    """Measure for how many queries the top 15 are the same with float16 as with float32."""
    rows, starts, queries = mix(real, size, seed=1), np.arange(size + 1), mix(real, QUERIES, seed=0)
    whole, rounded = (
        find_nearest(list(queries[:, None]), Vectors(rows.astype(kind), starts), K)
        for kind in (np.float32, np.float16)
    )
    same = [set(one) == set(other) for (one, _), (other, _) in zip(whole, rounded, strict=True)]
    change = max(abs(one - other).max() for (_, one), (_, other) in zip(whole, rounded))
    yield Row(MIXED, size, "queries with the same 15 as with float32", 100 * np.mean(same), "%")
    yield Row(MIXED, size, "largest change of a score by float16", float(change), "")


def measure_approximate(queries: list[np.ndarray], vectors: Vectors, path: Path) -> Iterator[tuple]:
    index, exact = Approximate(path), find_nearest(queries, vectors, K)

    def search() -> list[set]:
        candidates = index.find(queries, K)
        pairs = zip(queries, candidates, strict=True)
        return [set(find_among(*one, K)[0]) for one in ((q, vectors, c) for q, c in pairs)]

    seconds = median(search) / len(queries)
    yield "approximate, search", 1000 * seconds, "CPU-ms a query"
    pairs = zip(search(), exact, strict=True)
    share = np.mean([len(found & set(best)) / K for found, (best, _) in pairs])
    yield "approximate, share of the exact 15", 100 * float(share), "%"


def measure_late(size: int) -> Iterator[Row]:
    """Measure MaxSim with random vectors, as many and as wide as ColBERTv2's."""
    chance, row = np.random.default_rng(0), partial(Row, RANDOM, size)
    queries = list(chance.standard_normal((4, ASKED, WIDTH), dtype=np.float32))
    with tempfile.TemporaryDirectory() as folder:
        blocks = (chance.standard_normal((TOKENS * 100, WIDTH)) for _ in range(size // 100))
        rows = write(Path(folder), blocks)
        vectors = Vectors(rows, np.arange(0, len(rows) + 1, TOKENS))
        yield row("colbert, on disk", rows.nbytes / 1e6, "MB")
        seconds = median(lambda: find_nearest(queries, vectors, K)) / len(queries)
        yield row("colbert, 4 at a time", 1000 * seconds, "CPU-ms a query")


def median(work: Callable) -> float:
    """The median CPU seconds of some work, which is first done once to warm up."""
    work()
    return statistics.median(cpu_seconds(work) for _ in range(3))


def cpu_seconds(work: Callable) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
