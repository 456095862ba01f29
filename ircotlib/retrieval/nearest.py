"""Exact search for the nearest paragraphs by their vectors, for a batch of queries at once.

With one vector per text, the score is their dot product (the cosine, for normalised vectors). With
one vector per token, it is MaxSim (ColBERT): the highest dot product of each query token with any
token of the paragraph, summed over the query.
"""

from collections.abc import Sequence

import numpy as np
import torch

from ircotlib.retrieval.vectors import Vectors

ROWS = 4096  # vectors of paragraphs in one matrix product
QUERIES = 1024  # vectors of queries in one matrix product
Nearest = tuple[np.ndarray, np.ndarray]  # positions in the corpus and scores, best first


def find_nearest(queries: Sequence[np.ndarray], vectors: Vectors, k: int) -> list[Nearest]:
    """The k best paragraphs for each query, given as an array (vectors, width)."""
    nearest = []
    batch = []
    for query in queries:
        if batch and sum(map(len, batch)) + len(query) > QUERIES:
            nearest += _find(batch, vectors, k)
            batch = []
        batch.append(query)
    return nearest + (_find(batch, vectors, k) if batch else [])


def find_among(query: np.ndarray, vectors: Vectors, positions: np.ndarray, k: int) -> Nearest:
    """The k best paragraphs for a query among those at some positions."""
    rows, starts = vectors.of(positions)
    chosen, scores = _find([query], Vectors(rows, starts), k)[0]
    return positions[chosen], scores


def _find(queries: list[np.ndarray], vectors: Vectors, k: int) -> list[Nearest]:
    """Go through blocks of paragraphs, and merge the best of each with the best so far."""
    best = torch.empty(len(queries), 0), torch.empty(len(queries), 0, dtype=torch.int64)
    rows = torch.from_numpy(np.concatenate(queries))  # (vectors of all queries, width)
    starts = np.cumsum([0, *map(len, queries[:-1])])  # where the vectors of each query begin
    blocks = _blocks(vectors.starts)
    most = max((vectors.starts[last] - vectors.starts[first] for first, last in blocks), default=0)
    room = torch.empty(most, rows.shape[1])  # reused: allocating takes longer than the computation
    for first, last in blocks:
        own = vectors.starts[first : last + 1] - vectors.starts[first]
        stored = vectors.rows[vectors.starts[first] : vectors.starts[last]]
        block = room[: len(stored)].copy_(torch.from_numpy(np.ascontiguousarray(stored)))
        scores = rows @ block.T  # (vectors of queries, vectors of paragraphs)
        if len(rows) > len(queries) or len(block) > last - first:  # several vectors per text
            # ColBERT's MaxSim: the best token of a paragraph for each of the query, then their sum
            best_tokens = np.maximum.reduceat(scores.numpy(), own[:-1], axis=1)
            scores = torch.from_numpy(np.add.reduceat(best_tokens, starts, axis=0))
        top = scores.topk(min(k, last - first))
        joined = torch.cat([best[0], top.values], 1), torch.cat([best[1], top.indices + first], 1)
        chosen = joined[0].topk(min(k, joined[0].shape[1]))
        best = chosen.values, joined[1].gather(1, chosen.indices)
    return [(index.numpy(), score.numpy()) for score, index in zip(*best, strict=True)]


def _blocks(starts: np.ndarray) -> list[tuple[int, int]]:
    """The start and end of each block: at most ROWS vectors, or a single paragraph with more."""
    blocks = []
    first = 0
    count = len(starts) - 1
    while first < count:
        last = int(np.searchsorted(starts, starts[first] + ROWS, "right")) - 1
        blocks.append((first, max(first + 1, min(last, count))))
        first = blocks[-1][1]
    return blocks
