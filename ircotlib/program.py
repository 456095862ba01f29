"""Requests, their replies, and what a program is.

A program is a plain generator that answers ONE question: it yields requests, is sent their
replies, and returns its result. It knows nothing of batches, caches or servers, and composes with
`yield from`.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import NamedTuple

from ircotlib.data import Paragraph

SENTENCE = "sentence"  # stop at the end of the first sentence (IRCoT §3.1: the rest is discarded)
LINE = "line"  # stop at the end of the line
# at the end of the first sentence or of the line, whichever comes first (IRCoT, program, for GPT3)
SENTENCE_OF_LINE = "sentence of line"

# Fields with their default value are left out of the cache key (calls.key), so that a new field
# forgets no reply. These were in the key before that rule, and stay in it.
IN_KEY = {"in_key": True}


class Message(NamedTuple):
    """One turn of a chat: a prompt is a text, or a tuple of these."""

    role: str
    text: str


Stop = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Retrieve:
    """The k best paragraphs for a query, best first; the reply is a tuple of at most k Paragraphs.

    `titles`: only paragraphs with one of these titles; None: the whole corpus. `distinct`: of
    paragraphs with the same text in any case, only the best one counts (IRCoT, released program).
    """

    query: str
    k: int
    titles: tuple[str, ...] | None = field(default=None, metadata=IN_KEY)
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class NearestTitle:
    """The titles of the corpus nearest to a title (IRCoT App. B), best first; at most n of them."""

    title: str
    n: int = field(default=1, metadata=IN_KEY)


@dataclass(frozen=True, slots=True)
class Extract:
    """The answer to a query that a paragraph holds (SearChain §3.2), as Extracted."""

    query: str
    paragraph: Paragraph


@dataclass(frozen=True, slots=True)
class Duplicate:
    """How surely a query asks again what one of these has asked (SearChain, released program): the
    reply is a number from 0 to 1, the highest of them; 0 where there are none.
    """

    query: str
    earlier: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Generate:
    """A greedy continuation of a prompt; the reply is its text, stripped.

    `stop`: SENTENCE, LINE, SENTENCE_OF_LINE, a tuple of texts (the reply ends before the first of
    them), or None (until the model ends). `max_tokens`: in tokens of the model.
    """

    prompt: str | tuple[Message, ...]
    stop: Stop = field(default=None, metadata=IN_KEY)
    max_tokens: int = field(default=200, metadata=IN_KEY)


@dataclass(frozen=True, slots=True)
class Sample:
    """n continuations of a prompt drawn at a temperature; the reply is a tuple of n Sampled.

    `stop`, `max_tokens`: as those of Generate.
    """

    prompt: str | tuple[Message, ...]
    n: int
    temperature: float = 0.7
    stop: Stop = None
    max_tokens: int = 200


class Extracted(NamedTuple):
    """What was extracted from a paragraph; "" where it holds no answer."""

    text: str
    confidence: float


class Sampled(NamedTuple):
    """One drawn text, stripped, and the mean log-probability of its tokens; None: not known."""

    text: str
    log_probability: float | None


Request = Retrieve | NearestTitle | Extract | Duplicate | Generate | Sample
Reply = tuple[Paragraph, ...] | tuple[str, ...] | Extracted | float | str | tuple[Sampled, ...]
Program = Generator[Request, Reply, object]


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a program and its reply.

    `cached`: the reply cost nothing, being in the cache or asked for by another program too.
    `prompt_tokens`, `tokens`: what the model read and wrote for it, cached or not; 0 for requests
    that no model answers.
    """

    request: Request
    reply: Reply
    cached: bool
    prompt_tokens: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one program: what it returned, and its steps in order."""

    id: str
    result: object
    trace: tuple[Step, ...]


def unknown(request: object) -> TypeError:
    """The error for a request that is none of those above."""
    kinds = "Retrieve, NearestTitle, Extract, Duplicate, Generate or Sample"
    return TypeError(f"found the request {request!r}, expected {kinds}")
