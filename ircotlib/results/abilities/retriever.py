"""A retriever with errors that are dials: it misses paragraphs, and finds irrelevant ones."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ircotlib.program import Retrieve


class FlawedRetriever:
    """A retriever of this process (`inner`) with errors, drawn from the seed and the query alone,
    so that all systems meet the same. A retrieval from chosen titles has none.

    `misses`: share of the queries whose best paragraph is left out. `distractors`: share of the
    places that hold a paragraph drawn from the whole corpus; those that were there move down.
    """

    def __init__(self, inner: object, misses: float = 0.0, distractors: float = 0.0, seed: int = 0):
        self.inner, self.misses, self.distractors, self.seed = inner, misses, distractors, seed
        self.answers, self.depth, self.decode = inner.answers, inner.depth, inner.decode
        self.fingerprint = f"{inner.fingerprint} {misses} {distractors} {seed}"

    def answer(self, requests: Sequence) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its reply, as the inner retriever does."""
        one_more = [replace(r, k=r.k + 1) if self._errs_in(r) else r for r in requests]
        for index, reply in self.inner.answer(one_more):
            whole = isinstance(reply, str) and self._errs_in(requests[index])
            yield index, self._err(requests[index], json.loads(reply)) if whole else reply

    def _errs_in(self, request: object) -> bool:
        return isinstance(request, Retrieve) and request.titles is None and request.k > 0

    def _err(self, request: Retrieve, hits: list) -> str:
        rng, corpus = random.Random(f"{self.seed} {request.query}"), self.inner.corpus
        rest = iter(hits[1:] if rng.random() < self.misses else hits)
        drawn = ((rng.random(), rng.randrange(len(corpus))) for _ in range(request.k))
        kept = [[at, 0] if x < self.distractors else next(rest, None) for x, at in drawn]
        return json.dumps([hit for hit in kept if hit])
