"""How a request is answered by searches, whichever backend makes them (IRCoT §4.1, App. B).

A searching is a generator: it yields searches, is sent the hits of each, and returns its result.
All backends play the same ones, so all break ties, leave out repeats and choose titles in the same
way.
"""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.corpus import Corpus

SCORING = (
    "BM25(title) + BM25(text), OR of terms, k1 1.2, b 0.75, scores to 3 decimals, ties by position"
)
DEPTH = 15  # searched at least: the most that IRCoT collects (footnote 5); serves every smaller k
SPARE = 10  # hits fetched beyond k, to see whether a tie crosses k
FURTHER = 4  # times as many hits are fetched when they were too few
T = TypeVar("T")


class Refused(ValueError):
    """A request that has no answer, though the backend is sound: it costs only itself."""


class Search(NamedTuple):
    """One search: its text, for errors, its query in the backend's language, and how many hits."""

    text: str
    query: object
    size: int


Hits = list[tuple[int, float]]  # position in the corpus, score to a few decimals
Searching = Generator[Search, Hits, T]


class Backend(Protocol):
    """What a searching needs of a backend: the corpus, and its queries."""

    corpus: Corpus

    def query_of(self, text: str, titles: Iterable[str] | None) -> object:
        """Any term of a text, in titles and texts; within allowed titles unless None."""

    def queries_of_title(self, title: str) -> Sequence[object]:
        """The same title, the same in any case, any of its terms in titles."""


def group(requests: Iterable[T]) -> dict[T, list[int]]:
    """Each different request with its places."""
    places: dict[T, list[int]] = {}
    for place, request in enumerate(requests):
        places.setdefault(request, []).append(place)
    return places


def searching_of(backend: Backend, request: Retrieve | NearestTitle) -> Searching[str]:
    """The searching that returns the reply to a request, as JSON; TypeError for another class."""
    match request:
        case Retrieve():
            return _write(retrieve(backend, request), separators=(",", ":"))
        case NearestTitle():
            return _write(nearest_titles(backend, request))
    raise TypeError(f"found the request {request!r}, expected Retrieve or NearestTitle")


def decode(corpus: Corpus, reply: str) -> tuple[Paragraph, ...] | tuple[str, ...]:
    """The paragraphs or titles of a reply, best first."""
    return tuple(hit if isinstance(hit, str) else corpus[hit[0]] for hit in json.loads(reply))


def play(
    searchings: Mapping[T, Searching], search: Callable[[list[Search]], Sequence[Hits | Refused]]
) -> Iterator[tuple[T, object]]:
    """Play searchings to their ends, each round of searches in one call of `search`; yield what
    they return, or why it was refused.
    """
    sent: dict[T, Hits | Refused | None] = dict.fromkeys(searchings)
    while sent:
        asked, ended = {}, {}
        for name, hits in sent.items():
            try:
                if isinstance(hits, Refused):
                    raise hits
                asked[name] = searchings[name].send(hits)
            except StopIteration as end:
                ended[name] = end.value
            except Refused as error:
                ended[name] = error
        yield from ended.items()
        sent = dict(zip(asked, search(list(asked.values()))))


def retrieve(backend: Backend, request: Retrieve) -> Searching[Hits]:
    """The best hits, best first; of texts that differ in case only the best one if `distinct`.

    Differs from the released program, if distinct: it looks at 100 hits, and keeps the worst one
    of equal texts.
    """
    _check_texts([request.query, *(request.titles or ())])
    k, query = request.k, backend.query_of(request.query, request.titles)
    if k < 1:
        raise Refused(f"k is {k}: ask for at least 1 paragraph")
    if not request.distinct:
        return (yield from _rank(backend, request.query, query, k))
    best = yield from _best_of_each(backend, request.query, query, k, _lower_text)
    return list(best.values())[:k]


def _check_texts(texts: Iterable[str]) -> None:
    """Refuse half of a surrogate pair, which a model's JSON may hold and no index can look up."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            found = f"found half of a surrogate pair in {text[:60]!r}"
            raise Refused(f"{found}, expected a text that UTF-8 can hold") from None


def nearest_titles(backend: Backend, request: NearestTitle) -> Searching[list[str]]:
    """The n titles nearest to a title (IRCoT App. B), best first: the same title, then in any
    case, then by BM25.

    Differs from the released program: it has BM25 alone, which does not find a title of stop
    words ("It") and may put others first.
    """
    _check_texts([request.title])
    title, n = request.title, request.n
    if n < 1:
        raise Refused(f"n is {n}: ask for at least 1 title")
    titles: dict[str, tuple] = {}
    for query in backend.queries_of_title(title):
        titles |= yield from _best_of_each(backend, title, query, n, _title)
        if len(titles) >= n:
            break
    return list(titles)[:n]


def _rank(backend: Backend, text: str, query: object, k: int) -> Searching[Hits]:
    """The k best hits; equal scores, as rounded, in the order of the corpus, whatever the index,
    on however many shards.
    """
    size = k + SPARE
    while True:
        hits = yield Search(text, query, min(size, len(backend.corpus)))
        if len(hits) < size or hits[-1][1] < hits[k - 1][1]:
            return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]
        size *= FURTHER


def _best_of_each(
    backend: Backend, text: str, query: object, n: int, name: Callable[[Paragraph], str]
) -> Searching[dict[str, tuple[int, float]]]:
    """The best hit of each name, best first: at least n, where there are as many."""
    k = n
    while True:
        hits, best = (yield from _rank(backend, text, query, k)), {}
        for hit in hits:
            best.setdefault(name(backend.corpus[hit[0]]), hit)
        if len(best) >= n or len(hits) < k:
            return best
        k *= FURTHER


def _lower_text(paragraph: Paragraph) -> str:
    return paragraph.text.lower()


def _title(paragraph: Paragraph) -> str:
    return paragraph.title


def _write(searching: Searching, **how) -> Searching[str]:
    return json.dumps((yield from searching), **how)
