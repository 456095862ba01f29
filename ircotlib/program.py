"""Requests, their replies, and programs: generators that answer ONE question each."""

import hashlib
import json
from collections.abc import Generator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Generic, NamedTuple, TypeVar

from ircotlib.data import Paragraph

# where a text stops: at the end of the first sentence (IRCoT §3.1: the rest is
# discarded), of the line, or of the one that ends first (IRCoT's program, GPT3)
SENTENCE, LINE, SENTENCE_OF_LINE = "sentence", "line", "sentence of line"
Stop = str | tuple[str, ...] | None  # one of these, texts, or none


class Message(NamedTuple):
    """One turn of a chat; a prompt is a text or a tuple of messages."""

    role: str
    text: str


Chat = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt. `purpose`: what the model does with it, for readers ("CoT answers");
    `demonstrations`: how many it shows. Neither is part of the cache key.
    """

    text: str
    purpose: str = ""
    demonstrations: int = 0


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Asks for the k best paragraphs for a query, best first."""

    query: str
    k: int
    titles: tuple[str, ...] | None = None  # only of these pages
    distinct: bool = False  # of texts equal but for case, the best (IRCoT, program)


@dataclass(frozen=True, slots=True)
class NearestTitle:
    """Asks for the n titles of the corpus nearest to a title (IRCoT App. B)."""

    title: str
    n: int = 1


@dataclass(frozen=True, slots=True)
class Extract:
    """Asks for a paragraph's answer to a query, an Extracted (SearChain §3.3)."""

    query: str
    paragraph: Paragraph


class Extracted(NamedTuple):
    """The answer extracted from a paragraph, and the reader's confidence."""

    text: str  # "" if the paragraph holds none
    confidence: float

    @classmethod
    def read(cls, reply: str, request: Extract | None = None) -> "Extracted":
        """The reply to a request, as its backend writes it."""
        return cls(**json.loads(reply))


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Asks whether a query repeats an earlier one, 1.0 or 0.0 (SearChain's program)."""

    query: str
    earlier: tuple[str, ...]


class _Prompted:
    """A request with a prompt. Of a Prompt it keeps the fields: requests compare by its
    text.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        prompt = self.prompt  # type: ignore[attr-defined]  # of the classes below
        if isinstance(prompt, Prompt):
            object.__setattr__(self, "prompt", prompt.text)
            object.__setattr__(self, "purpose", prompt.purpose)
            object.__setattr__(self, "demonstrations", prompt.demonstrations)


@dataclass(frozen=True, slots=True)
class Generate(_Prompted):
    """Asks for the continuation of a prompt by greedy decoding; the reply is stripped.
    `purpose`, `demonstrations`: those of the Prompt that it was made with.
    """

    prompt: Any  # a text or a Chat; a Prompt is replaced by its fields
    stop: Stop = None
    max_tokens: int = 200
    purpose: str = field(default="", compare=False, repr=False)
    demonstrations: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sample(_Prompted):
    """Asks for n sampled continuations of a prompt. The reply: n Sampled, or fewer."""

    prompt: Any  # as that of Generate
    n: int
    temperature: float = 0.7
    stop: Stop = None
    max_tokens: int = 200
    purpose: str = field(default="", compare=False, repr=False)
    demonstrations: int = field(default=0, compare=False, repr=False)


class Sampled(NamedTuple):
    """One sampled text, stripped."""

    text: str
    log_probability: float | None  # the mean of its tokens; None: unknown


Request = Retrieve | NearestTitle | Extract | Duplicate | Generate | Sample
# It is sent: for Retrieve paragraphs, for NearestTitle titles, for Sample Sampled texts
# (all as tuples), for Extract an Extracted, for Duplicate a number, else a text.
Program = Generator[Request, Any, Any]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a program and its reply."""

    request: Request
    reply: Any
    cached: bool  # from the cache, or computed for another program, too
    prompt_tokens: int = 0  # that the model read, cached or not
    tokens: int = 0  # that it wrote
    thoughts: tuple[str, ...] = ()  # before each of its texts, if it thinks


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """The outcome of one program: the result it returned, and its steps in order."""

    id: str
    result: Result
    trace: tuple[Step, ...]


CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=asdict)


def key(request: Request, fingerprint: str) -> str:
    """The cache key of a request: a hash of its kind, its backend's fingerprint and its
    fields, without defaults: a new field changes no earlier keys.
    """
    kept = {
        field.name: getattr(request, field.name)
        for field in fields(request)
        if field.compare and getattr(request, field.name) != field.default
    }
    content = CANONICAL.encode([type(request).__name__, fingerprint, kept])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
