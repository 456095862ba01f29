"""How a request is answered by searches, the same for all backends (IRCoT §4.1, App. B).

A searching is a generator: it yields searches, is sent the hits of each, and returns its result.
All backends run the same generators, so they all break ties, leave out repeats and choose titles in
the same way.
"""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, Protocol, TypeVar

from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.corpus import Corpus

SCORING = (
    "BM25(title) + BM25(text), OR of terms, k1 1.2, b 0.75, scores to 3 decimals, ties by position"
)
DEPTH = 15  # paragraphs to retrieve: IRCoT's maximum (footnote 5), which serves every smaller k
SPARE = 10  # hits fetched beyond k, to see whether a tie crosses k
FURTHER = 4  # factor by which more hits are fetched after too few
T = TypeVar("T")


class Refused(ValueError):
    """A request that cannot be answered; the backend works, and other requests are unaffected."""


class Search(NamedTuple):
    """One search."""

    text: str  # for error messages
    query: object  # in the backend's language
    size: int  # hits to fetch


Hits = list[tuple[int, float]]  # position in the corpus, score to a few decimals
# the index of a request, and its reply as JSON or why it has none
WrittenReply = tuple[int, str | Refused]
Searching = Generator[Search, Hits, T]


class Backend(Protocol):
    """What a searching needs of a backend; `answer` yields each reply as it comes."""

    corpus: Corpus

    def answer(self, requests: Sequence[Retrieve | NearestTitle]) -> Iterator[WrittenReply]: ...

    def query_of(self, text: str, titles: Iterable[str] | None) -> object:
        """For any term of `text` in titles and texts, with one of `titles` unless None."""

    def queries_of_title(self, title: str) -> Sequence[object]:
        """For the same title, the same in any case, and titles with any of its terms."""


def group(requests: Iterable[T]) -> dict[T, list[int]]:
    """Each distinct request with the indices where it occurs."""
    indices: dict[T, list[int]] = {}
    for index, request in enumerate(requests):
        indices.setdefault(request, []).append(index)
    return indices


def answer_in_rounds(
    backend: Backend, requests: Sequence[Retrieve | NearestTitle], search: Callable, size: int
) -> Iterator[WrittenReply]:
    """Answer requests, `size` different ones at a time, whose searches are made together."""
    indices = group(requests)
    searchings = [(request, searching_of(backend, request)) for request in indices]
    for start in range(0, len(searchings), size):
        for request, reply in play(dict(searchings[start : start + size]), search):
            yield from ((index, reply) for index in indices[request])


def searching_of(backend: Backend, request: Retrieve | NearestTitle) -> Searching[str]:
    """The searching that returns the reply to a request as JSON."""
    if isinstance(request, Retrieve):
        return _write(rank_paragraphs(backend, request), separators=(",", ":"))
    if isinstance(request, NearestTitle):
        return _write(rank_titles(backend, request))
    raise TypeError(f"found the request {request!r}, expected Retrieve or NearestTitle")


def decode(backend: Backend, reply: str) -> tuple[Paragraph, ...] | tuple[str, ...]:
    """The paragraphs or titles of a reply, best first."""
    hits = json.loads(reply)
    return tuple(hit if isinstance(hit, str) else backend.corpus[hit[0]] for hit in hits)


def search(
    backend: Backend, query: str, k: int = DEPTH, titles: Iterable[str] | None = None
) -> list[tuple[Paragraph, float]]:
    """The k best paragraphs with their scores, best first. Raises Refused for a k below 1."""
    hits = _answer(backend, Retrieve(query, k, None if titles is None else tuple(titles)))
    return [(backend.corpus[position], score) for position, score in hits]


def nearest_titles(backend: Backend, title: str, n: int = 1) -> list[str]:
    """The n titles nearest to a title, best first: see rank_titles."""
    return _answer(backend, NearestTitle(title, n))


def _answer(backend: Backend, request: Retrieve | NearestTitle) -> list:
    [(_, reply)] = backend.answer([request])
    if isinstance(reply, Refused):
        raise reply
    return json.loads(reply)


def play(
    searchings: Mapping[T, Searching], search: Callable[[list[Search]], Iterable[Hits | Refused]]
) -> Iterator[tuple[T, object]]:
    """Run searchings to their ends, with one call of `search` for each round of searches. Yield the
    name of each with its result, or with the error by which it was refused.
    """
    sent: dict[T, Hits | Refused | None] = dict.fromkeys(searchings)
    while sent:
        searches: dict[T, Search] = {}
        ended: dict[T, object] = {}
        for name, hits in sent.items():
            try:
                if isinstance(hits, Refused):
                    raise hits
                searches[name] = searchings[name].send(hits)
            except StopIteration as end:
                ended[name] = end.value
            except Refused as error:
                ended[name] = error
        yield from ended.items()
        sent = dict(zip(searches, search(list(searches.values())))) if searches else {}


def rank_paragraphs(backend: Backend, request: Retrieve) -> Searching[Hits]:
    """The k best hits, best first; if distinct, only the best of texts that are equal but for case.

    Differs from the released program: that looks at 100 hits, and keeps the worst of equal texts.
    """
    _check_texts([request.query, *(request.titles or ())])
    k = request.k
    query = backend.query_of(request.query, request.titles)
    if k < 1:
        raise Refused(f"k is {k}: ask for at least 1 paragraph")
    # the paper keeps repeats; IRCoT's program leaves out texts equal but for case
    if not request.distinct:
        return (yield from _rank(backend, request.query, query, k))
    best = yield from _best_of_each(backend, request.query, query, k, lambda p: p.text.lower())
    return list(best.values())[:k]


def rank_titles(backend: Backend, request: NearestTitle) -> Searching[list[str]]:
    """The n titles nearest to a title (IRCoT App. B), best first: the same title, then the same in
    any case, then others ranked by BM25.

    Differs from the released program: that uses BM25 alone, which does not find a title of stop
    words ("It") and may rank others above the same title.
    """
    _check_texts([request.title])
    n = request.n
    if n < 1:
        raise Refused(f"n is {n}: ask for at least 1 title")
    titles: dict[str, tuple] = {}
    # IRCoT App. B: the page nearest to a title that the model wrote; BM25 if no title is the same
    for query in backend.queries_of_title(request.title):
        titles |= yield from _best_of_each(backend, request.title, query, n, attrgetter("title"))
        if len(titles) >= n:
            break
    return list(titles)[:n]


def _check_texts(texts: Iterable[str]) -> None:
    """Refuse half of a surrogate pair, which a model's JSON may contain and no index can hold."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            half = f"found half of a surrogate pair in {text[:60]!r}"
            raise Refused(f"{half}, expected a text that UTF-8 can hold") from None


def _rank(backend: Backend, text: str, query: object, k: int) -> Searching[Hits]:
    """The k best hits; ties of rounded scores are in the order of the corpus, in any index."""
    size = k + SPARE
    while True:
        hits = yield Search(text, query, min(size, len(backend.corpus)))
        # all hits there are, or the last one is worse than the k-th: no tie crosses k
        if len(hits) < size or hits[-1][1] < hits[k - 1][1]:
            return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]
        size *= FURTHER


def _best_of_each(
    backend: Backend, text: str, query: object, n: int, name: Callable[[Paragraph], str]
) -> Searching[dict[str, tuple[int, float]]]:
    """The best hit for each name, best first: at least n names, if there are as many."""
    k = n
    while True:
        hits = yield from _rank(backend, text, query, k)
        best: dict[str, tuple[int, float]] = {}
        for hit in hits:
            best.setdefault(name(backend.corpus[hit[0]]), hit)
        if len(best) >= n or len(hits) < k:
            return best
        k *= FURTHER


def _write(searching: Searching, **options) -> Searching[str]:
    return json.dumps((yield from searching), **options)
