"""Programs in progress, the backends that serve them, what that costs, and what traces keep."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ircotlib.program import (
    Generate,
    Program,
    Purposed,
    Request,
    Sample,
    Step,
    unknown,
)


@dataclass(slots=True)
class Counts:
    """What the requests of one kind cost a run; `requests` = `cached` + `computed`.

    `prompt_tokens` and `tokens` are summed over all requests, so that a run replayed from the cache
    reports the same totals. `batches`, `seconds`: of the calls of the backend in this run.
    """

    requests: int = 0
    cached: int = 0
    computed: int = 0
    prompt_tokens: int = 0
    tokens: int = 0
    batches: int = 0
    seconds: float = 0.0

    def add(self, step: Step) -> None:
        self.requests += 1
        self.cached += step.cached
        self.computed += not step.cached
        self.prompt_tokens += step.prompt_tokens
        self.tokens += step.tokens


@dataclass(slots=True, eq=False)
class Service:
    """A backend and its costs so far, for one kind of request."""

    backend: object
    counts: Counts = field(default_factory=Counts)

    @property
    def name(self) -> str:
        """The backend's class."""
        return type(self.backend).__name__

    @property
    def in_waves(self) -> bool:
        """Whether it is asked for all that waits, when nothing else can go on (see `run`)."""
        return getattr(self.backend, "in_waves", False)


@dataclass(slots=True)
class Play:
    """A program in progress.

    | state    | request              | ended | result  | failure           |
    | waits    | its reply is awaited | no    | None    | None              |
    | finished | None                 | yes   | its own | None              |
    | failed   | could not be served  | yes   | None    | why               |
    """

    id: str
    program: Program
    served: dict[type, Service]
    note: Callable[[Step], Step | None] = lambda step: step  # what its trace keeps of each step
    request: Request | None = None
    sent: Request | None = None  # to the backend in place of `request` (`deepen`)
    key: str = ""  # of `sent`, in the cache; "": not worked out yet
    trace: list[Step] = field(default_factory=list)
    ended: bool = False
    result: object = None
    failure: Exception | None = None


def turn(backend) -> tuple[bool, bool]:
    """When a backend is asked: first those that answer all requests at once."""
    return getattr(backend, "in_waves", False), hasattr(backend, "take")


def by_kind(backends: Sequence, known: dict[tuple, Service]) -> dict[type, Service]:
    """The backends by the classes they serve; a `known` backend is the same service."""
    served = {}
    for backend in sorted(backends, key=turn):
        for kind in backend.answers if isinstance(backend.answers, tuple) else (backend.answers,):
            if kind in served:
                twice = f"found two backends that serve {kind.__name__}, expected one"
                raise ValueError(f"{twice}; leave one of them out")
            served[kind] = known.setdefault((id(backend), kind), Service(backend))
    return served


def forget(step: Step) -> None:
    """What a trace keeps of a step whose costs alone count."""


def without_prompt(step: Step) -> Step:
    """A step with a hash in place of its prompt, which still says what it was for; `replay` brings
    prompts back.
    """
    if not isinstance(step.request, Generate | Sample):
        return step
    prompt = step.request.prompt
    content = hashlib.blake2b(repr(prompt).encode("utf-8", "replace"), digest_size=8).hexdigest()
    if isinstance(prompt, Purposed):
        content = Purposed(content, prompt.purpose, prompt.demonstrations)
    return replace(step, request=replace(step.request, prompt=content))


def service_of(play: Play) -> Service:
    if not isinstance(play.request, Request):
        raise TypeError(f"question {play.id!r}: {unknown(play.request)}")
    if type(play.request) not in play.served:
        names = ", ".join(kind.__name__ for kind in play.served) or "nothing"
        unserved = f"question {play.id!r} asked {_short(play.request)}, but the backends serve"
        remedy = f"add one whose `answers` is {type(play.request).__name__}"
        raise TypeError(f"{unserved} {names}; {remedy}")
    return play.served[type(play.request)]


def describe(failure: str, plays: list[Play], error: object) -> str:
    others = f" (and {len(plays) - 1} others with it)" if len(plays) > 1 else ""
    request = "nothing yet" if plays[0].request is None else _short(plays[0].request)
    report = f"{failure}: {error!r}; it asked {request}; the replies until then are in the cache"
    return f"question {plays[0].id!r}{others}: {report}"


def _short(request: Request) -> str:
    """A request in at most 300 characters, mostly from its end, where the question is."""
    text = repr(request)
    return text if len(text) <= 300 else f"{text[:80]} … {text[-210:]}"
