"""What answers the requests of programs: the protocols that retrievers, models and
extractive readers follow, built in or your own (docs/models.md, docs/data.md).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ircotlib.data import Paragraph

# the index of a request in its batch, and its reply as JSON, or the error that it had
Replies = Iterator[tuple[int, str | Exception]]


class Backend(Protocol):
    """Answers all requests of some classes. One with `take(requests)`, the indices of
    those to answer next as one batch, has its turn after the others: generation is
    dear, and more of its requests are waiting then. One with `prepare(request)` names
    the request that it answers in place of another: one k serves all smaller.
    """

    @property
    def answers(self) -> type | tuple[type, ...]:
        """The class of its requests, or several."""

    @property
    def fingerprint(self) -> str | None:
        """A text that changes whenever its replies may: the call cache keeps replies by
        it and the request. None: no reply is kept.
        """

    def answer(self, requests: Sequence[Any]) -> Replies:
        """Yield the replies to requests of one class, in any order, each as soon as
        it is there. An error is of its request alone; one that is raised ends the run.
        A reply that is a JSON object may have "prompt_tokens" (read), "tokens"
        (written) and "thoughts".
        """

    def decode(self, reply: str, request: Any) -> Any:
        """What the program that made a request is sent for a reply to it."""


class Model(Backend, Protocol):
    """Answers Generate and, perhaps, Sample."""

    def count_tokens(self, text: str) -> int:
        """The length of a text in tokens, without special ones, to fit the window."""


class Searcher(Backend, Protocol):
    """A retriever: answers Retrieve and NearestTitle."""

    corpus: Any  # a `Corpus`, or None without one

    def search(self, query: str, k: int) -> list[tuple[Paragraph, float]]:
        """The k best paragraphs with their scores, best first."""
