"""How requests are answered by searches, the same for all retrievers (IRCoT §4.1, App.
B): order of ties, repeated texts, and the titles nearest to a title.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256

from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Retrieve

# paragraphs to retrieve: IRCoT's maximum (footnote 5), which serves every smaller k
DEPTH = 15
SPARE = 10  # hits fetched beyond k, to see whether a tie crosses k
# position in the corpus, score to a few decimals, best first
Hits = list[tuple[int, float]]
Replies = Iterator[tuple[int, str | Exception]]


class Ranked:
    """What all retrievers have: a `corpus`; a `fingerprint`, which changes whenever
    replies could; `find(query, most)`; and `queries_of(request)`, which for a title
    seek any of its terms.
    """

    answers = (Retrieve, NearestTitle)
    depth = DEPTH

    def answer(self, requests: Sequence, find: Callable | None = None) -> Replies:
        """Yield the index of each request and its reply: JSON of [[position in corpus,
        score], ...] or [title, ...], best first; or an error instead.
        """
        with ThreadPoolExecutor(8) as pool:
            yield from enumerate(
                pool.map(partial(self._reply, find or self.find), requests)
            )

    def decode(self, reply: str) -> tuple[Paragraph, ...] | tuple[str, ...]:
        """The paragraphs or titles of a reply, best first."""
        hits = json.loads(reply)
        return tuple(
            hit if isinstance(hit, str) else self.corpus[hit[0]] for hit in hits
        )

    def search(
        self, query: str, k: int = DEPTH, titles: Iterable[str] | None = None
    ) -> list:
        """The k best paragraphs with their scores, best first."""
        request = Retrieve(query, k, None if titles is None else tuple(titles))
        [(_, reply)] = self.answer([request])
        if isinstance(reply, Exception):
            raise reply
        return [(self.corpus[position], score) for position, score in json.loads(reply)]

    def _reply(
        self, find: Callable, request: Retrieve | NearestTitle
    ) -> str | Exception:
        about_title = isinstance(request, NearestTitle)
        most = request.n if about_title else request.k
        best: dict = {}
        try:
            for query in self.queries_of(request):
                best |= self._best_of_each(request, find, query, most)
                if len(best) >= most:
                    break
        except ValueError as error:  # such as half of a surrogate pair
            return error
        return json.dumps(list(best if about_title else best.values())[:most])

    def _best_of_each(self, request, find: Callable, query: object, n: int) -> dict:
        """The best hit for each title or text, best first: at least n, if there are as
        many. Differs from IRCoT's released program, which keeps the worst of equal
        texts in 100 hits, and finds titles by BM25 alone, which may rank others above
        the same title.
        """
        size = n + SPARE
        while True:
            hits = find(query, size)
            # rounded scores may tie; ties are in corpus order, and the last may go on
            # beyond these
            sure = (
                hits
                if len(hits) < size
                else [hit for hit in hits if hit[1] > hits[-1][1]]
            )
            best: dict = {}
            for position, score in sorted(sure, key=lambda hit: (-hit[1], hit[0])):
                paragraph = self.corpus[position]
                if isinstance(request, NearestTitle):
                    same = paragraph.title
                # the paper keeps repeats; its program leaves out texts equal but for
                # case
                else:
                    same = paragraph.text.lower() if request.distinct else paragraph.id
                best.setdefault(same, (position, score))
            if len(best) >= n or len(hits) < size:
                return best
            size *= 4


def digest(*made_of: object) -> str:
    """A hash of what replies depend on."""
    return sha256(json.dumps(made_of).encode()).hexdigest()[:16]


def fuse(rankings: Iterable[Iterable]) -> dict:
    """The score of each item: the sum of 1 / (60 + rank) over the rankings (Cormack et
    al.).
    """
    scores: dict = {}
    for ranking in rankings:
        for place, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0) + 1 / (60 + place)
    return scores
