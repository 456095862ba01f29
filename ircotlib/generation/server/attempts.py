"""The addresses at which a model is served: requests are shared among them, and sent again while a
server is busy or unavailable: not by the client, `openai`, as the budget would not count it.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from ircotlib.generation.budget import Budget, BudgetSpent
from ircotlib.generation.server.endpoint import Endpoint
from ircotlib.generation.server.protocol import Conversation, T, resume
from ircotlib.generation.server.refusals import (
    AccessRefused,
    NotServed,
    OneFailed,
    RequestRefused,
    TemporaryFailure,
    Unreadable,
)

KEPT = "all replies are kept: run the same command again later, and it goes on"
FEW_ATTEMPTS = 3  # at an address that has never answered
ENDING = (BudgetSpent, ConnectionError, AccessRefused, NotServed)  # no request will succeed
MANY_REQUESTS = 3  # if so many fail in a row, the address is at fault, not each of them


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server, in seconds: at most `timeout` for an answer to begin, and then
    to end; then a pause, at first `first_pause`, doubled each time up to `longest_pause`. At most
    `attempts`. A pause that a server asks for (Retry-After) is used instead; one above
    `longest_wait` ends the attempts.
    """

    timeout: float = 300.0
    attempts: int = 6
    first_pause: float = 0.5
    longest_pause: float = 30.0
    longest_wait: float = 120.0

    def pause(self, failures: int) -> float:
        """The seconds to wait after so many failures in a row."""
        return min(self.longest_pause, self.first_pause * 2 ** min(failures - 1, 30))


class Endpoints:
    """All addresses of a model; each request goes to the least busy one that does not rest."""

    def __init__(self, urls: tuple[str, ...], patience: Patience, budget: Budget):
        self.all = [Endpoint(url, patience.timeout, budget) for url in urls]
        self.patience, self._lock = patience, Lock()

    def write_text(self, conversation: Conversation) -> str:
        """What a conversation returns, whose requests are sent one by one."""
        reply = None
        while True:
            try:
                sending = resume(conversation, reply)
            except StopIteration as end:
                return end.value
            try:
                reply = self.send_until_answered(Endpoint.send_once, *sending)
            except Exception as error:  # the conversation knows what to do
                reply = error

    def send_until_answered(self, send: Callable[..., T], *about) -> T:
        """What `send` returns for one of the addresses, and `about`: the reply to a request.

        An address that fails in any way rests, and the request goes to another at once; it fails
        when all have failed it, each after as many attempts as Patience allows, or FEW_ATTEMPTS.
        Raises RequestRefused, ValueError for a reply without a text, OneFailed; or what is in
        ENDING.
        """
        request = object()  # stands for it in `Endpoint.failing`
        failed = Counter()  # attempts, by address
        due, ends = {}, {}  # when an address may be asked again; the error with which it ended
        while len(ends) < len(self.all):
            with self._choose(failed, ends) as endpoint:
                now = time.monotonic()
                time.sleep(max(0.0, endpoint.free_at - now, due.get(endpoint, 0.0) - now))
                sent = time.monotonic()
                try:
                    reply = send(endpoint, *about)
                except TemporaryFailure as failure:
                    failed[endpoint] += 1
                    self._rest(endpoint, failure, sent, request)
                    pause = 0.0 if failure.wait else self.patience.pause(failed[endpoint])
                    due[endpoint] = time.monotonic() + pause
                    if failed[endpoint] >= self._most_attempts(endpoint, failure):
                        ends[endpoint] = self._end(endpoint, failure, failed[endpoint])
                except RequestRefused as refusal:
                    ends[endpoint] = refusal
                except (AccessRefused, NotServed, Unreadable) as error:
                    self._rest(endpoint, error, sent, request)
                    often = isinstance(error, Unreadable) and len(endpoint.failing) >= MANY_REQUESTS
                    ends[endpoint] = NotServed(str(error)) if often else error
                else:
                    with self._lock:
                        endpoint.failures, endpoint.rests_until, endpoint.answered = 0, 0.0, True
                        endpoint.failing.clear()
                    for other, error in ends.items():  # one that refuses what others accept
                        self._rest(other, error, sent, request)
                    return reply
        kinds = RequestRefused, Unreadable, OneFailed, Exception  # first: only this request's
        error = next(e for kind in kinds for e in ends.values() if isinstance(e, kind))
        if isinstance(error, ValueError):
            raise error
        kept = [KEPT] if isinstance(error, OneFailed | ConnectionError) else []
        raise type(error)("; ".join([*map(str, ends.values()), *kept])) from error

    @contextmanager
    def _choose(self, failed: Counter, ends: Mapping) -> Iterator[Endpoint]:
        """An address that has not ended this request: one that may be asked now, has failed it
        least, does not rest, and is least busy. One that has failed gets one request at a time.
        """
        with self._lock:
            now = time.monotonic()

            def reluctance(each: Endpoint) -> tuple:
                rests = each.rests_until > now or (each.failures and each.in_flight)
                return each.free_at > now, failed[each], rests, each.in_flight

            endpoint = min((each for each in self.all if each not in ends), key=reluctance)
            endpoint.in_flight += 1
        try:
            yield endpoint
        finally:
            with self._lock:
                endpoint.in_flight -= 1

    def _most_attempts(self, endpoint: Endpoint, failure: TemporaryFailure) -> int:
        if failure.wait > self.patience.longest_wait:
            return 0
        most = self.patience.attempts
        return most if endpoint.answered or failure.busy else min(most, FEW_ATTEMPTS)

    def _end(self, endpoint: Endpoint, failure: TemporaryFailure, attempts: int) -> Exception:
        asks = f"asks to wait for {failure.wait:.0f} s"
        end = asks if failure.wait > self.patience.longest_wait else f"was asked {attempts} times"
        alone = failure.alone and len(endpoint.failing) < MANY_REQUESTS
        return (OneFailed if alone else ConnectionError)(f"{failure}; it {end}")

    def _rest(self, endpoint: Endpoint, failure: Exception, sent: float, request: object) -> None:
        """Let an address rest that failed a request, at least for as long as it took to fail, each
        time longer; stderr says so once.
        """
        wait = getattr(failure, "wait", 0.0)
        with self._lock:
            now = time.monotonic()
            endpoint.failing.add(request)
            if sent >= endpoint.began:  # it was not in flight when this rest began
                endpoint.failures, endpoint.began = endpoint.failures + 1, now
                pause = max(wait, self.patience.pause(endpoint.failures), now - sent)
                endpoint.rests_until = now + pause
            if wait <= self.patience.longest_wait:
                endpoint.free_at = max(endpoint.free_at, now + wait)
            others = [each.url for each in self.all if each is not endpoint and not each.failures]
            again = isinstance(failure, TemporaryFailure) and self._most_attempts(endpoint, failure)
            if not endpoint.reported and (others or again > FEW_ATTEMPTS):
                endpoint.reported = True
                work = f"its requests go to {', '.join(others)}, and it" if others else "it"
                print(f"{failure}: {work} is asked again later", file=sys.stderr, flush=True)
