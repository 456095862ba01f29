"""A retriever with errors that are dials: it misses paragraphs, and finds irrelevant ones."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ircotlib.program import NearestTitle, Retrieve


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
        for index, request in enumerate(requests):
            errs = isinstance(request, Retrieve) and request.titles is None and request.k > 0
            reply = _find(self.inner, replace(request, k=request.k + 1) if errs else request)
            whole = errs and isinstance(reply, str)
            yield index, self._err(request, json.loads(reply)) if whole else reply

    def _err(self, request: Retrieve, hits: list) -> str:
        rng = random.Random(f"{self.seed} {request.query}")
        corpus = self.inner.corpus
        rest = iter(hits[1:] if rng.random() < self.misses else hits)
        drawn = ((rng.random(), rng.randrange(len(corpus))) for _ in range(request.k))
        kept = [[at, 0] if x < self.distractors else next(rest, None) for x, at in drawn]
        return json.dumps([hit for hit in kept if hit])


@lru_cache(maxsize=100_000)  # with other errors the same is retrieved
def _find(inner: object, request: Retrieve | NearestTitle) -> str | Exception:
    [(_, reply)] = inner.answer([request])
    return reply
