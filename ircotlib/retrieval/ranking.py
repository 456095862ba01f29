"""How requests are answered by searches, the same for all retrievers (IRCoT §4.1, App. B): order of
ties, repeated texts, and the titles nearest to a title.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import TypeVar

from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Retrieve

DEPTH = 15  # paragraphs to retrieve: IRCoT's maximum (footnote 5), which serves every smaller k
SPARE = 10  # hits fetched beyond k, to see whether a tie crosses k
FURTHER = 4  # factor by which more hits are fetched after too few
CONSTANT = 60  # added to each rank when rankings are fused (ours, as in Cormack et al.)
THREADS = 8
T = TypeVar("T")
Hits = list[tuple[int, float]]  # position in the corpus, score to a few decimals, best first
Replies = Iterator[tuple[int, str | Exception]]
Find = Callable[[object, int], Hits]  # a query in the retriever's own language, the most hits


class Refused(ValueError):
    """A request that cannot be answered; the retriever works, and other requests are unaffected."""


class Ranked:
    """What all retrievers have in common. Each has a `corpus`; a `fingerprint`, which changes
    whenever its replies could; `queries_of(request)`: one query for paragraphs, and for a title
    those for the same title, the same in any case, and titles with any of its terms; and `find`.
    """

    answers = (Retrieve, NearestTitle)
    depth = DEPTH

    def answer(self, requests: Sequence, find: Find | None = None) -> Replies:
        """Yield the index of each request and its reply: JSON of [[position in corpus, score], ...]
        or [title, ...], best first; or why it has none.
        """
        indices: dict = {}
        for index, request in enumerate(requests):
            indices.setdefault(request, []).append(index)
        with ThreadPoolExecutor(THREADS) as pool:
            replies = pool.map(partial(self._reply, find or self.find), indices)
            for equal, reply in zip(indices.values(), replies, strict=True):
                yield from ((index, reply) for index in equal)

    def decode(self, reply: str) -> tuple[Paragraph, ...] | tuple[str, ...]:
        """The paragraphs or titles of a reply, best first."""
        hits = json.loads(reply)
        return tuple(hit if isinstance(hit, str) else self.corpus[hit[0]] for hit in hits)

    def search(self, query: str, k: int = DEPTH, titles: Iterable[str] | None = None) -> list:
        """The k best paragraphs with their scores, best first."""
        request = Retrieve(query, k, None if titles is None else tuple(titles))
        [(_, reply)] = self.answer([request])
        if isinstance(reply, Exception):
            raise reply
        return [(self.corpus[position], score) for position, score in json.loads(reply)]

    def _reply(self, find: Find, request: Retrieve | NearestTitle) -> str | Exception:
        about_title = isinstance(request, NearestTitle)
        most = request.n if about_title else request.k
        texts = [request.title] if about_title else [request.query, *(request.titles or ())]
        best: dict = {}
        try:
            "".join(texts).encode()
            if most < 1:
                raise Refused(f"found {request}, expected it to ask for at least 1")
            for query in self.queries_of(request):
                best |= self._best_of_each(request, find, query, most)
                if len(best) >= most:
                    break
        except (Refused, UnicodeEncodeError) as error:  # half of a surrogate pair
            return error
        return json.dumps(list(best if about_title else best.values())[:most])

    def _best_of_each(self, request, find: Find, query: object, n: int) -> dict:
        """The best hit for each name (_name), best first: at least n, if there are as many."""
        k = n
        while True:
            ranked = rank(find, query, k)
            best: dict = {}
            for hit in ranked:
                best.setdefault(_name(request, self.corpus[hit[0]]), hit)
            if len(best) >= n or len(ranked) < k:
                return best
            k *= FURTHER


def _name(request: Retrieve | NearestTitle, paragraph: Paragraph) -> str:
    """What a reply has only once. Differs from IRCoT's released program: of equal texts that keeps
    the worst of 100 hits; and it finds titles by BM25 alone, which knows none of stop words ("It")
    and may rank others above the same title.
    """
    if isinstance(request, NearestTitle):
        return paragraph.title
    # the paper keeps repeats; IRCoT's program leaves out texts equal but for case
    return paragraph.text.lower() if request.distinct else paragraph.id


def rank(find: Find, query: object, k: int) -> Hits:
    """The k best hits; ties of rounded scores are in the order of the corpus, in any index."""
    size = k + SPARE
    while True:
        hits = find(query, size)
        # all hits there are, or the last one is worse than the k-th: no tie crosses k
        if len(hits) < size or hits[-1][1] < hits[k - 1][1]:
            return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]
        size *= FURTHER


def digest(*made_of: object) -> str:
    """A hash of what replies depend on."""
    return sha256(json.dumps(made_of).encode()).hexdigest()[:16]


def fuse(rankings: Iterable[Iterable[T]]) -> dict[T, float]:
    """The score of each item by reciprocal rank fusion: the sum of 1 / (60 + rank) over the
    rankings that have it (Cormack et al., SIGIR 2009).
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0) + 1 / (CONSTANT + place)
    return scores
