"""How requests are answered by searches, the same for all retrievers (IRCoT §4.1, App.
B): order of ties, repeated texts, and the titles nearest to a title.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from ircotlib.backends import Replies
from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.corpus import Corpus

# paragraphs to retrieve: IRCoT's maximum (footnote 5), which serves every smaller k
DEPTH = 15
SPARE = 10  # hits fetched beyond k, to see whether a tie crosses k
# position in the corpus, score to a few decimals, best first
Hits = list[tuple[int, float]]
Search = Retrieve | NearestTitle
Found = tuple[Paragraph, ...] | tuple[str, ...]
Find = Callable[[Any, int], Hits]  # find(query, most)


class Ranked:
    """What all retrievers have in common. Each has a `corpus`, a `fingerprint`, and the
    two methods that raise NotImplementedError here.
    """

    answers = (Retrieve, NearestTitle)
    corpus: Corpus
    fingerprint: str | None

    def queries_of(self, request: Search) -> list:
        """The queries of a request, tried in turn until one finds enough. For a title,
        the last seeks any of its terms.
        """
        raise NotImplementedError

    def find(self, query: Any, most: int) -> Hits:
        """The best hits for a query, at most `most`."""
        raise NotImplementedError

    def prepare(self, request: Search) -> Search:
        """A retrieval of fewer paragraphs is answered and kept as one of DEPTH."""
        if isinstance(request, Retrieve) and 1 <= request.k < DEPTH:
            return replace(request, k=DEPTH)
        return request

    def answer(self, requests: Sequence, find: Find | None = None) -> Replies:
        """Yield the index of each request and its reply: JSON of [[position in corpus,
        score], ...] or [title, ...], best first; or an error instead.
        """
        reply = partial(self._reply, find or self.find)
        with ThreadPoolExecutor(8) as pool:
            yield from enumerate(pool.map(reply, requests))

    def decode(self, reply: str, request: Search | None = None) -> Found:
        """The paragraphs, the first k of a deeper retrieval, or titles; best first."""
        hits = json.loads(reply)
        if isinstance(request, Retrieve):
            hits = hits[: request.k]
        if hits and isinstance(hits[0], str):
            return tuple(hits)
        return tuple(self.corpus[position] for position, _ in hits)

    def search(
        self, query: str, k: int = DEPTH, titles: Iterable[str] | None = None
    ) -> list[tuple[Paragraph, float]]:
        """The k best paragraphs with their scores, best first."""
        request = Retrieve(query, k, None if titles is None else tuple(titles))
        [(_, reply)] = self.answer([request])
        if isinstance(reply, Exception):
            raise reply
        return [(self.corpus[position], score) for position, score in json.loads(reply)]

    def _reply(self, find: Find, request: Search) -> str | Exception:
        most = request.n if isinstance(request, NearestTitle) else request.k
        best: dict[str, tuple[int, float]] = {}
        try:
            for query in self.queries_of(request):
                best |= self._best_of_each(request, partial(find, query), most)
                if len(best) >= most:
                    break
        except ValueError as error:  # such as half of a surrogate pair
            return error
        found = best if isinstance(request, NearestTitle) else best.values()
        return json.dumps(list(found)[:most])

    def _best_of_each(
        self, request: Search, find: Callable[[int], Hits], n: int
    ) -> dict[str, tuple[int, float]]:
        """The best hit for each title, text or id, best first: at least n, if there are
        as many. Differs from IRCoT's released program, which keeps the worst of equal
        texts in 100 hits, and finds titles by BM25 alone, which may rank others above
        the same title.
        """
        size = n + SPARE
        while True:
            hits = find(size)
            sure = hits
            if len(hits) == size:
                # the last of them may tie with some that were not fetched; ties are in
                # the order of the corpus, so that those would have to come first
                sure = [hit for hit in hits if hit[1] > hits[-1][1]]
            best: dict[str, tuple[int, float]] = {}
            for position, score in sorted(sure, key=lambda hit: (-hit[1], hit[0])):
                paragraph = self.corpus[position]
                if isinstance(request, NearestTitle):
                    same = paragraph.title
                elif request.distinct:  # the program's: texts are equal but for case
                    same = paragraph.text.lower()
                else:  # the paper keeps repeats
                    same = paragraph.id
                best.setdefault(same, (position, score))
            if len(best) >= n or len(hits) < size:
                return best
            size *= 4


def digest(*made_of: object) -> str:
    """A hash of what replies depend on."""
    return sha256(json.dumps(made_of).encode()).hexdigest()[:16]


def fuse(rankings: Iterable[Iterable]) -> dict:
    """The score of each item: the sum of 1 / (60 + rank) over the rankings (Cormack et
    al. 2009).

    >>> fuse([["a", "b"], ["b"]]) == {"a": 1 / 61, "b": 1 / 62 + 1 / 61}
    True
    """
    scores: dict = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0) + 1 / (60 + rank)
    return scores
