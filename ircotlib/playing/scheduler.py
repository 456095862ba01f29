"""Plays many programs at once, serves their requests in full batches, and caches every reply.

Every program is advanced until it waits for a reply that is not in the cache. Then the backends
take turns: first those that answer all waiting requests (retrieval), then those that take one full
batch (generation), last those that answer best in few waves. Each reply is stored as it comes, the
programs that asked for it continue, and the next batch is filled. The same programs with the same
cache always make the same batches.
"""

import json
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict

from ircotlib.playing.cache import Calls
from ircotlib.playing.plays import (
    Play,
    Service,
    by_kind,
    describe,
    forget,
    service_of,
    turn,
)
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
)

UNSTORED = "unstored"  # begins the keys of requests whose replies are not stored
# programs that wait at a time, so that the memory of prompts does not grow with the questions; in
# waves all do
STARTED = 512


def run(
    programs: Mapping[str, Program],
    backends: Sequence,
    calls: Calls,
    progress: Callable[[int, int], None] | None = None,
    note: Callable[[Step], Step] = lambda step: step,
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
    as one of `depth` paragraphs (`deepen`). If it is `in_waves`, it is asked only when no program
    waits for any other, for all that waits, of all its classes. A reply to Generate or Sample has
    "prompt_tokens" and "tokens". `progress(ended, total)` is called after every batch. `note`: what
    traces keep of each step, such as `without_prompt`.

    If a request fails, only its question fails: RuntimeError, with question and request, is raised
    after the other programs have ended; at once if a program or a whole backend fails. TypeError
    for a request that no backend serves.
    """
    served = by_kind(backends, {})
    plays = [Play(id, program, served, note) for id, program in programs.items()]
    _play_all(plays, calls, progress)
    outcomes = {play.id: Outcome(play.id, play.result, tuple(play.trace)) for play in plays}
    return outcomes, {kind.__name__: asdict(service.counts) for kind, service in served.items()}


def fill_cache(
    programs: Mapping[str, Program],
    backends: Mapping[str, Sequence],
    calls: Calls,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Play programs with different backends, given by the same ids, so that all their replies are
    in the cache; see `run`. Traces are not kept: the prompts of many runs would fill the memory.
    """
    known: dict[tuple, Service] = {}
    plays = [
        Play(id, program, by_kind(backends[id], known), forget) for id, program in programs.items()
    ]
    _play_all(plays, calls, progress)


def find_missing(
    programs: Mapping[str, Program], backends: Sequence, calls: Calls
) -> dict[str, Request]:
    """Play programs as far as the cache goes; return the first request of each without a reply, by
    the program's id. No backend is asked.
    """
    served = by_kind(backends, {})
    plays = [Play(id, program, served, forget) for id, program in programs.items()]
    with ExitStack() as at_the_end:
        for play in plays:
            at_the_end.callback(play.program.close)
            _advance(play, None)
        _replay(plays, calls)
        return {play.id: play.request for play in plays if not play.ended}


def _play_all(plays: list[Play], calls: Calls, progress: Callable | None) -> None:
    for play in plays:
        if not isinstance(play.program, Generator):
            expected = f"expected a program, that is a generator, found {play.program!r}"
            raise TypeError(f"question {play.id!r}: {expected}; call the system on the question")
    with ExitStack() as at_the_end:
        for play in plays:
            at_the_end.callback(play.program.close)
        _serve(plays, calls, progress or (lambda ended, total: None))
    if failed := [play for play in plays if play.failure]:
        failure = f"{len(failed)} of {len(plays)} questions failed, this one with"
        raise RuntimeError(describe(failure, failed, failed[0].failure)) from failed[0].failure


def _serve(plays: list[Play], calls: Calls, progress: Callable) -> None:
    services = dict.fromkeys(service for play in plays for service in play.served.values())
    # retrieval, which answers all; models, which take one batch; batch files, when nothing else can
    in_turn = sorted(services, key=lambda service: turn(service.backend))
    # what waits for each, by its place among the plays; in waves, for all kinds of requests
    together: dict[int, dict[int, Play]] = {}
    queues = {s: together.setdefault(id(s.backend if s.in_waves else s), {}) for s in in_turn}
    places = {play.id: place for place, play in enumerate(plays)}
    unstarted = deque(plays)
    room = len(plays) if any(service.in_waves for service in services) else STARTED

    def start() -> list[Play]:
        places_left = room - sum(map(len, together.values()))
        some = [unstarted.popleft() for _ in range(min(places_left, len(unstarted)))]
        for play in some:
            _advance(play, None)
        return some

    def go_on(some: list[Play]) -> None:
        while some:
            for play in _replay(some, calls):  # only who got a reply is looked at
                queues[service_of(play)][places[play.id]] = play
            left = len(unstarted) + sum(map(len, together.values()))
            progress(len(plays) - left, len(plays))
            some = start()

    go_on(start())
    while any(together.values()):
        for service, queue in queues.items():
            others = (queue for other, queue in queues.items() if not other.in_waves)
            if queue and not (service.in_waves and any(others)):
                answered = _answer_batch(service, [queue[n] for n in sorted(queue)], calls)
                for play in answered:
                    del queue[places[play.id]]
                go_on(answered)


def _replay(plays: list[Play], calls: Calls) -> list[Play]:
    """Advance programs until each has ended or waits for a reply that no process has cached; return
    those that wait.
    """
    left = []
    while waiting := [play for play in plays if not play.ended]:  # a round for each cached step
        for play in (play for play in waiting if not play.key):
            backend = service_of(play).backend
            play.sent = deepen(play.request, getattr(backend, "depth", 0))
            play.key = f"{UNSTORED} {play.id} {len(play.trace)}"
            if backend.fingerprint is not None:
                play.key = key(play.sent, backend.fingerprint)
        stored = calls.get_many({p.key for p in waiting if not p.key.startswith(UNSTORED)})
        left += [play for play in waiting if play.key not in stored]
        plays = [play for play in waiting if play.key in stored]
        for play in plays:
            _send(play, stored[play.key], cached=True)
    return left


def _answer_batch(service: Service, waiting: list[Play], calls: Calls) -> list[Play]:
    """Have the backend answer one batch of waiting requests, each once, but for what another
    process has stored meanwhile; return the programs that continue.
    """
    batch = list({play.key: play for play in waiting}.values())  # one program for each request
    started = time.perf_counter()
    try:
        calls.check_missing([play.key for play in batch if not play.key.startswith(UNSTORED)])
        if hasattr(service.backend, "take"):
            if not (chosen := service.backend.take([play.sent for play in batch])):
                raise ValueError(f"`take` gave none of {len(batch)} requests, expected one or more")
            batch = [batch[index] for index in chosen]
        stored = calls.get_many(p.key for p in batch if not p.key.startswith(UNSTORED))
        replies = dict(stored)
        batch = [play for play in batch if play.key not in stored]
        for index, reply in service.backend.answer([play.sent for play in batch]) if batch else ():
            asked = batch[index].key
            if not isinstance(reply, Exception) and service.backend.fingerprint is not None:
                reply = calls.put_many({asked: reply})[asked]  # or what was stored meanwhile
            replies[asked] = reply
        if missing := [play for play in batch if play.key not in replies]:
            raise ValueError(f"`answer` left out {len(missing)} of {len(batch)} requests")
    except Exception as error:
        raise RuntimeError(describe(f"{service.name} failed", batch, error)) from error
    service.counts.seconds += time.perf_counter() - started
    service.counts.batches += bool(batch)
    # all programs that wait for one of these replies continue
    answered = [play for play in waiting if play.key in replies]
    paid = set(stored)
    for play in answered:
        reply = replies[play.key]
        if isinstance(reply, Exception):
            play.ended, play.failure = True, reply
        else:
            first_to_ask = play.key not in paid
            paid.add(play.key)
            _send(play, reply, cached=not first_to_ask)
    return answered


def _send(play: Play, stored: str, cached: bool) -> None:
    """Decode a stored reply, add the step and its cost to the trace, and advance the program."""
    service = service_of(play)
    try:
        reply = service.backend.decode(stored)
        if isinstance(play.request, Retrieve):
            reply = reply[: play.request.k]  # of the deeper retrieval that was sent
        about = json.loads(stored) if isinstance(play.request, Generate | Sample) else {}
        tokens = about.get("prompt_tokens", 0), about.get("tokens", 0)
        thoughts = tuple(about.get("thoughts", ()))
    except Exception as error:
        cannot = f"{service.name} cannot read the reply {stored[:200]!r}"
        raise RuntimeError(describe(cannot, [play], error)) from error
    service.counts.add(step := Step(play.request, reply, cached, *tokens, thoughts))
    play.trace.append(play.note(step))
    _advance(play, reply)


def _advance(play: Play, reply: Reply | None) -> None:
    """Run a program to its next request, or to its end."""
    try:
        play.request, play.key = play.program.send(reply), ""
    except StopIteration as end:
        play.ended, play.result, play.request, play.sent = True, end.value, None, None
    except Exception as error:
        failed = f"the program failed after {len(play.trace)} replies"
        raise RuntimeError(describe(failed, [play], error)) from error
