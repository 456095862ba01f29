"""A retriever of your own as a backend: an object with a method that searches."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ircotlib.backends import Replies
from ircotlib.data import Paragraph
from ircotlib.errors import UserError
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.ranking import Found, Search

NEAR = 10  # paragraphs among whose titles the nearest ones to a title are


class OwnRetriever:
    """Answers Retrieve and NearestTitle with an object that has

    - `search(query, k)`: at most k paragraphs of the corpus, best first;
    - perhaps `fingerprint`: a text that changes whenever its replies may change, under
      which they are kept; without it none is kept.

    Requests that are only for some titles search three times as deep and leave out the
    other pages. The titles nearest to a title are those of what a search for it finds,
    an equal one first.
    """

    answers = Retrieve, NearestTitle

    def __init__(self, own: Any, corpus: Corpus | None = None):
        if not callable(getattr(own, "search", None)):
            name = type(own).__name__
            raise UserError(
                f"{name}: found no method `search`, expected search(query, k)"
            )
        self.own = own
        self.corpus = corpus
        self.fingerprint: str | None = getattr(own, "fingerprint", None)

    def search(self, query: str, k: int) -> list[tuple[Paragraph, float]]:
        """The k best paragraphs, best first, with the reciprocal of their rank."""
        found = self.own.search(query, k)[:k]
        return [(page, 1 / rank) for rank, page in enumerate(found, start=1)]

    def answer(self, requests: Sequence[Search]) -> Replies:
        """Yield the index of each request and its reply, one after the other."""
        for index, request in enumerate(requests):
            if isinstance(request, NearestTitle):
                found = self.own.search(request.title, max(request.n, NEAR))
                titles = dict.fromkeys(paragraph.title for paragraph in found)
                wanted = request.title.casefold()
                nearest = sorted(titles, key=lambda title: title.casefold() != wanted)
                yield index, json.dumps(nearest[: request.n])
                continue
            depth = request.k if request.titles is None else 3 * request.k
            found = self.own.search(request.query, depth)
            if request.titles is not None:
                found = [page for page in found if page.title in request.titles]
            yield index, json.dumps([asdict(page) for page in found[: request.k]])

    def decode(self, reply: str, request: Search | None = None) -> Found:
        """The paragraphs or titles of a reply, best first."""
        found = json.loads(reply)
        if found and isinstance(found[0], str):
            return tuple(found)
        return tuple(Paragraph(**fields) for fields in found)
