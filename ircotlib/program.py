"""Requests, and what a program is.

A program is a plain generator that answers ONE question: it yields requests, is sent their replies,
and returns its result. It knows nothing of batches, caches or servers, and composes with `yield
from`.
"""

from collections.abc import Generator
from dataclasses import dataclass

from ircotlib.data import Paragraph

# stop at the end of the first sentence (IRCoT §3.1: the rest would be discarded)
SENTENCE = "sentence"
LINE = "line"  # stop at the end of the line


@dataclass(frozen=True, slots=True)
class Retrieve:
    """The k best paragraphs for a query, best first; the reply is a tuple of at most k Paragraphs.

    `titles`: only paragraphs with one of these titles; None: the whole corpus.
    """

    query: str
    k: int
    titles: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class NearestTitle:
    """The titles of the corpus nearest to a title (IRCoT App. B), best first; the reply is a tuple
    of at most n titles.
    """

    title: str
    n: int = 1


@dataclass(frozen=True, slots=True)
class Generate:
    """A greedy continuation of a prompt; the reply is its text, stripped.

    `stop`: SENTENCE, LINE or None (until the model ends). `max_tokens`: in tokens of the model.
    """

    prompt: str
    stop: str | None = None
    max_tokens: int = 200


Request = Retrieve | NearestTitle | Generate
Reply = tuple[Paragraph, ...] | tuple[str, ...] | str
Program = Generator[Request, Reply, object]
