"""The addresses at which a model is served: requests are shared among them, and repeated while a
server is busy or unavailable: not by the client, `openai`, as the budget would not count it.
"""

import email.utils
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from urllib.parse import urlsplit

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from ircotlib.errors import Unavailable
from ircotlib.files.urls import IN_CLEAR, is_here, may_have_key, read_urls
from ircotlib.generation.budget import Budget, Usage
from ircotlib.generation.protocol import RequestRefused, read_usage

KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server, in seconds: at most `timeout` for an answer, then a pause, at
    first `first_pause`, doubled each time up to `longest_pause`. At most `attempts`. A pause that a
    server asks for (Retry-After) is used instead; one above `longest_wait` ends the attempts.
    """

    timeout: float = 300.0
    attempts: int = 6
    first_pause: float = 0.5
    longest_pause: float = 30.0
    longest_wait: float = 120.0


class TemporaryFailure(Exception):
    """No answer now, but perhaps later. `wait`: the seconds that the server asks to wait; `lost`:
    the connection failed; `billed`: the server may have written a text, and charge for it; `alone`:
    perhaps only this request fails.
    """

    def __init__(self, reason: str, wait=0.0, lost=False, billed=False, alone=False):
        super().__init__(reason)
        self.wait, self.lost, self.billed, self.alone = wait, lost, billed, alone


class Endpoint:
    """One address and its state: requests in flight, when it may be asked again, and whether its
    connection failed. The key is sent only where may_have_key allows it.
    """

    def __init__(self, url: str, timeout: float):
        try:
            import openai
        except ModuleNotFoundError as error:
            missing = "the client of model servers is not installed: pip install -e '.[server]'"
            raise Unavailable(missing) from error
        self.url, self.timeout, key = url, timeout, os.environ.get(KEY, "")
        self.in_flight, self.free_at, self.lost = 0, 0.0, False
        self.without_key = bool(key) and not may_have_key(url)
        # a proxy must not see requests to this machine
        http = openai.DefaultHttpxClient(follow_redirects=False, trust_env=not is_here(url))
        options = {"max_retries": 0, "timeout": timeout, "http_client": http}
        sent = (not self.without_key and key) or "none"
        self.client = openai.OpenAI(base_url=url, api_key=sent, **options)

    def post(self, path: str, body: Mapping) -> dict:
        """The reply to a request, sent once. Raises TemporaryFailure, or as Endpoints.ask."""
        import httpx2
        import openai

        try:
            text = self.client.post(path, cast_to=httpx2.Response, body=dict(body)).text
        except openai.APITimeoutError as error:
            reason = f"{self.url}: no answer in {self.timeout:g} s"
            raise TemporaryFailure(reason, lost=True, billed=True) from error
        except openai.APIConnectionError as error:
            reason = f"{self.url}: no connection: {error.__cause__ or error}"
            raise TemporaryFailure(reason, lost=True) from error
        except openai.APIStatusError as error:
            raise self._read_error(error) from error
        try:
            reply = json.loads(text)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            reason = f"{self.url}: a reply that is not a JSON object: {text[:80]!r}"
            raise TemporaryFailure(reason, billed=True, alone=True)
        return reply

    def _read_error(self, error) -> Exception:
        content = error.body if isinstance(error.body, dict) else {}
        message = str(content.get("message") or content.get("detail") or error)[:300]
        reason = f"{self.url}: status {error.status_code}, {' '.join(message.split())}"
        if error.status_code in (401, 402, 403) or error.code == "insufficient_quota":
            unsent = f"not https, so {KEY} was not sent; to send it in clear text, set {IN_CLEAR}=1"
            return PermissionError(f"{reason}; {unsent if self.without_key else f'see {KEY}'}")
        if error.status_code == 404:
            return LookupError(f"{reason}; correct model, server or chat")
        # the same request may be answered later
        if error.status_code in (408, 409, 429) or error.status_code >= 500:
            wait, alone = _read_wait(error.response.headers), error.status_code in (500, 502)
            return TemporaryFailure(reason, wait, alone=alone)
        return RequestRefused(reason, error.code, error.param)


class Endpoints:
    """All addresses of a model; each request goes to the least busy one."""

    def __init__(self, urls: tuple[str, ...], patience: Patience, budget: Budget):
        self.all = [Endpoint(url, patience.timeout) for url in urls]
        self.patience, self.budget, self._lock = patience, budget, Lock()

    def ask(self, path: str, body: Mapping, most: Usage) -> dict:
        """The reply to a request, parsed from JSON. `most`: the tokens that it may cost.

        An address whose connection fails is not used again while another works. Raises
        ConnectionError after the last attempt, or RuntimeError if perhaps only this request fails;
        PermissionError for a key or an account, LookupError for an unknown model or endpoint,
        RequestRefused, and BudgetSpent.
        """
        longest, attempts = self.patience.longest_wait, self.patience.attempts
        pause = wait_exponential(self.patience.first_pause, self.patience.longest_pause)
        again = Retrying(
            retry=retry_if_exception(
                lambda e: isinstance(e, TemporaryFailure) and e.wait <= longest
            ),
            stop=stop_after_attempt(attempts),
            # what the server asks for is waited for in _least_busy, if no other address is free
            wait=lambda state: 0 if state.outcome.exception().wait else pause(state),
            reraise=True,
        )
        try:
            return again(self._send, path, body, most)
        except TemporaryFailure as failure:
            asks = f"asks to wait for {failure.wait:.0f} s"
            end = asks if failure.wait > longest else f"was asked {attempts} times"
            remedy = "all replies are kept: run the same command again later, and it goes on"
            kind = RuntimeError if failure.alone else ConnectionError
            raise kind(f"{failure}; it {end}; {remedy}") from failure

    def _send(self, path: str, body: Mapping, most: Usage) -> dict:
        """Send a request, in turn to all addresses whose connections fail, and count its cost."""
        while True:
            with self._least_busy() as endpoint:
                reserved, used = self.budget.reserve(most), Usage(0, 0)
                try:
                    reply = endpoint.post(path, body)
                    used = read_usage(reply)
                    return reply
                except TemporaryFailure as failure:
                    used = None if failure.billed else used
                    if failure.lost and self._others_take_over(endpoint, failure):
                        continue
                    if failure.wait <= self.patience.longest_wait:
                        endpoint.free_at = max(endpoint.free_at, time.monotonic() + failure.wait)
                    raise
                finally:
                    self.budget.settle(reserved, used)

    @contextmanager
    def _least_busy(self) -> Iterator[Endpoint]:
        """The least busy address whose connection has not failed, once its wait is over."""
        with self._lock:
            left = [endpoint for endpoint in self.all if not endpoint.lost] or self.all
            now = time.monotonic()
            endpoint = min(left, key=lambda other: (other.free_at > now, other.in_flight))
            endpoint.in_flight += 1
        try:
            time.sleep(max(0.0, endpoint.free_at - time.monotonic()))
            yield endpoint
        finally:
            with self._lock:
                endpoint.in_flight -= 1

    def _others_take_over(self, endpoint: Endpoint, failure: TemporaryFailure) -> bool:
        """Whether there are others, so that this one is not used again; prints this once."""
        with self._lock:
            left = [other.url for other in self.all if not other.lost and other is not endpoint]
            if left and not endpoint.lost:
                endpoint.lost = True
                print(f"{failure}: its requests go to {', '.join(left)}", file=sys.stderr)
        return bool(left)


def read_addresses(server: str) -> tuple[str, ...]:
    """The addresses in a text, separated by commas; one without a path gets "/v1".
    Raises ValueError for one that is no address or contains a password.
    """
    urls = read_urls(server, "http://127.0.0.1:8000 or https://host/v1", KEY)
    return tuple(url if urlsplit(url).path else f"{url}/v1" for url in urls)


def _read_wait(headers: Mapping[str, str]) -> float:
    """The seconds to wait according to Retry-After, which has a number or a date; 0 without it."""
    value = headers.get("retry-after", "")
    try:
        if re.fullmatch(r"[\d.]+", value):
            return float(value)
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0
