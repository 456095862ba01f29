"""Plays many programs at once, serves their requests in full batches, and caches every reply.

Every program is advanced until it waits for a reply that is not in the cache. Then the backends
take turns: first those that answer all waiting requests (retrieval), then those that take one full
batch (generation). Each reply is stored as it comes, the programs that asked for it continue, and
the next batch is filled. The same programs with the same cache always make the same batches.
"""

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field

from ircotlib.program import (
    Generate,
    Outcome,
    Program,
    Reply,
    Request,
    Retrieve,
    Sample,
    Step,
    deepen,
    key,
    unknown,
)
from ircotlib.running.cache import Calls

UNSTORED = "unstored"  # begins the keys of requests whose replies are not stored


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


def run(
    programs: Mapping[str, Program],
    backends: Sequence,
    calls: Calls,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, Outcome], dict[str, dict]]:
    """Play programs, given by question id, to their ends. Return their outcomes by question id, in
    the same order, and the costs by class of request, as dicts of `Counts`.

    A backend has `answers`, the class of the requests it serves, or a tuple of classes;
    `fingerprint`, which changes whenever its replies could, or None if they depend on more than the
    request, and are not stored; `answer(requests)`, for requests of one class, which yields pairs
    (index, reply) with a JSON string, or with the Exception of a request that failed; and
    `decode(string)`, which makes what the program is sent. If it chooses its own batches it has
    `take(requests)`, which returns the indices of those to answer next. If its k best paragraphs
    are always the first of more, it may have a `depth`: a retrieval of fewer is answered and cached
    as one of `depth` paragraphs (`deepen`). A reply to Generate or Sample has "prompt_tokens" and
    "tokens". `progress(ended, total)` is called after every batch.

    If a request fails, only its question fails: RuntimeError, with question and request, is raised
    after the other programs have ended; at once if a program or a whole backend fails. TypeError
    for a request that no backend serves.
    """
    for id, program in programs.items():
        if not isinstance(program, Generator):
            expected = f"expected a program, that is a generator, found {program!r}"
            raise TypeError(f"question {id!r}: {expected}; call the system on the question")
    plays, served = [_Play(id, program) for id, program in programs.items()], _by_kind(backends)
    with ExitStack() as at_the_end:
        for play in plays:
            at_the_end.callback(play.program.close)
        _play_all(plays, served, calls, progress or (lambda ended, total: None))
    if failed := [play for play in plays if play.failure]:
        failure = f"{len(failed)} of {len(plays)} questions failed, this one with"
        raise RuntimeError(_describe(failure, failed, failed[0].failure)) from failed[0].failure
    outcomes = {play.id: Outcome(play.id, play.result, tuple(play.trace)) for play in plays}
    return outcomes, {kind.__name__: asdict(service.counts) for kind, service in served.items()}


@dataclass(slots=True)
class _Play:
    """A program in progress.

    | state    | request              | ended | result  | failure           |
    | waits    | its reply is awaited | no    | None    | None              |
    | finished | None                 | yes   | its own | None              |
    | failed   | could not be served  | yes   | None    | why               |
    """

    id: str
    program: Program
    request: Request | None = None
    sent: Request | None = None  # to the backend in place of `request` (`deepen`)
    key: str = ""  # of `sent`, in the cache; "": not worked out yet
    trace: list[Step] = field(default_factory=list)
    ended: bool = False
    result: object = None
    failure: Exception | None = None


@dataclass(slots=True)
class _Service:
    """A backend and its costs so far."""

    backend: object
    name: str
    counts: Counts = field(default_factory=Counts)


def _play_all(plays: list[_Play], served: dict[type, _Service], calls: Calls, progress) -> None:
    for play in plays:
        _advance(play, None)
    _replay(plays, served, calls)
    progress(sum(play.ended for play in plays), len(plays))
    while not all(play.ended for play in plays):
        for kind, service in served.items():
            _replay([p for p in plays if type(p.request) is kind], served, calls)
            if waiting := [p for p in plays if not p.ended and type(p.request) is kind]:
                _replay(_answer_batch(service, waiting, calls), served, calls)
                progress(sum(play.ended for play in plays), len(plays))


def _replay(plays: list[_Play], served: dict[type, _Service], calls: Calls) -> None:
    """Advance programs until each has ended or waits for a reply that no process has cached."""
    while waiting := [play for play in plays if not play.ended]:
        for play in (play for play in waiting if not play.key):
            backend = _service_of(play, served).backend
            play.sent = deepen(play.request, getattr(backend, "depth", 0))
            play.key = f"{UNSTORED} {play.id} {len(play.trace)}"
            if backend.fingerprint is not None:
                play.key = key(play.sent, backend.fingerprint)
        stored = calls.get_many({p.key for p in waiting if not p.key.startswith(UNSTORED)})
        plays = [play for play in waiting if play.key in stored]
        for play in plays:
            _send(play, stored[play.key], served[type(play.request)], cached=True)


def _answer_batch(service: _Service, waiting: list[_Play], calls: Calls) -> list[_Play]:
    """Have the backend answer one batch of waiting requests, each once; return the programs that
    continue.
    """
    batch = list({play.key: play for play in waiting}.values())  # one program for each request
    replies, started = {}, time.perf_counter()
    try:
        calls.check_missing([play.key for play in batch if not play.key.startswith(UNSTORED)])
        if hasattr(service.backend, "take"):
            if not (chosen := service.backend.take([play.sent for play in batch])):
                raise ValueError(f"`take` gave none of {len(batch)} requests, expected one or more")
            batch = [batch[index] for index in chosen]
        for index, reply in service.backend.answer([play.sent for play in batch]):
            asked = batch[index].key
            if not isinstance(reply, Exception) and service.backend.fingerprint is not None:
                reply = calls.put_many({asked: reply})[asked]
            replies[asked] = reply
        if missing := [play for play in batch if play.key not in replies]:
            raise ValueError(f"`answer` left out {len(missing)} of {len(batch)} requests")
    except Exception as error:
        raise RuntimeError(_describe(f"{service.name} failed", batch, error)) from error
    service.counts.seconds += time.perf_counter() - started
    service.counts.batches += 1
    # all programs that wait for one of these replies continue
    answered, paid = [play for play in waiting if play.key in replies], set()
    for play in answered:
        reply = replies[play.key]
        if isinstance(reply, Exception):
            play.ended, play.failure = True, reply
        else:
            first_to_ask = play.key not in paid
            paid.add(play.key)
            _send(play, reply, service, cached=not first_to_ask)
    return answered


def _send(play: _Play, stored: str, service: _Service, cached: bool) -> None:
    """Decode a stored reply, add the step and its cost to the trace, and advance the program."""
    try:
        reply = service.backend.decode(stored)
        if isinstance(play.request, Retrieve):
            reply = reply[: play.request.k]  # of the deeper retrieval that was sent
        cost = json.loads(stored) if isinstance(play.request, Generate | Sample) else {}
        tokens = cost.get("prompt_tokens", 0), cost.get("tokens", 0)
    except Exception as error:
        cannot = f"{service.name} cannot read the reply {stored[:200]!r}"
        raise RuntimeError(_describe(cannot, [play], error)) from error
    play.trace.append(Step(play.request, reply, cached, *tokens))
    service.counts.add(play.trace[-1])
    _advance(play, reply)


def _advance(play: _Play, reply: Reply | None) -> None:
    """Run a program to its next request, or to its end."""
    try:
        play.request, play.key = play.program.send(reply), ""
    except StopIteration as end:
        play.ended, play.result, play.request = True, end.value, None
    except Exception as error:
        failed = f"the program failed after {len(play.trace)} replies"
        raise RuntimeError(_describe(failed, [play], error)) from error


def _by_kind(backends: Sequence) -> dict[type, _Service]:
    """The backends by the classes they serve, first those that answer all requests at once."""
    served = {}
    for backend in sorted(backends, key=lambda backend: hasattr(backend, "take")):
        for kind in backend.answers if isinstance(backend.answers, tuple) else (backend.answers,):
            if kind in served:
                twice = f"found two backends that serve {kind.__name__}, expected one"
                raise ValueError(f"{twice}; leave one of them out")
            served[kind] = _Service(backend, type(backend).__name__)
    return served


def _service_of(play: _Play, served: dict[type, _Service]) -> _Service:
    if not isinstance(play.request, Request):
        raise TypeError(f"question {play.id!r}: {unknown(play.request)}")
    if type(play.request) not in served:
        names = ", ".join(kind.__name__ for kind in served) or "nothing"
        unserved = f"question {play.id!r} asked {_short(play.request)}, but the backends serve"
        remedy = f"add one whose `answers` is {type(play.request).__name__}"
        raise TypeError(f"{unserved} {names}; {remedy}")
    return served[type(play.request)]


def _describe(failure: str, plays: list[_Play], error: object) -> str:
    others = f" (and {len(plays) - 1} others with it)" if len(plays) > 1 else ""
    request = "nothing yet" if plays[0].request is None else _short(plays[0].request)
    report = f"{failure}: {error!r}; it asked {request}; the replies until then are in the cache"
    return f"question {plays[0].id!r}{others}: {report}"


def _short(request: Request) -> str:
    """A request in at most 300 characters, mostly from its end, where the question is."""
    text = repr(request)
    return text if len(text) <= 300 else f"{text[:80]} … {text[-210:]}"
