"""The addresses at which a model is served: requests are shared among them, and repeated while a
server is busy or unavailable. The client is `openai`, with its own retries switched off.
"""

import email.utils
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from urllib.parse import urlsplit

from ircotlib.files.urls import IN_CLEAR, is_here, may_have_key, read_urls
from ircotlib.generation.budget import Budget, Usage
from ircotlib.generation.served import read_usage

KEY = "OPENAI_API_KEY"
BUSY = (408, 409, 429)  # with these, and 500 or above, the same request may be answered later


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server, in seconds.

    `attempts`: how often a request is sent at most. The pause after an attempt begins at
    `first_pause` and doubles each time, up to `longest_pause`. A pause that the server asks for
    (Retry-After) is used instead; one above `longest_wait` ends the attempts. `timeout`: how long a
    server may be silent.
    """

    timeout: float = 300.0
    attempts: int = 6
    first_pause: float = 0.5
    longest_pause: float = 30.0
    longest_wait: float = 120.0


class Away(Exception):
    """No answer now, but perhaps later. `wait`: the seconds that the server asks to wait; `lost`:
    the connection failed; `billed`: the server may have written a text, and charge for it; `alone`:
    perhaps only this request fails.
    """

    def __init__(self, reason: str, wait=0.0, lost=False, billed=False, alone=False):
        super().__init__(reason)
        self.wait, self.lost, self.billed, self.alone = wait, lost, billed, alone


class Refused(ValueError):
    """A request that the server does not accept. `code`, `field`: what the server calls the error
    and the field at fault.
    """

    def __init__(self, reason: str, code: object = None, field: object = None):
        super().__init__(reason)
        self.code, self.field = code, field


class Address:
    """One address and its state: requests in flight, when it may be asked again, and whether its
    connection failed. The key is sent only where may_have_key allows it.
    """

    def __init__(self, url: str, patience: Patience):
        self.url, self.patience = url, patience
        self.in_flight, self.free_at, self.lost = 0, 0.0, False
        key = os.environ.get(KEY, "")
        self.kept_back = bool(key) and not may_have_key(url)
        openai = _openai()
        self.client = openai.OpenAI(
            base_url=self.url,
            api_key=(not self.kept_back and key) or "none",
            max_retries=0,
            timeout=self.patience.timeout,
            # a proxy must not see requests to this machine
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False, trust_env=not is_here(url)
            ),
        )

    def post(self, endpoint: str, body: Mapping) -> dict:
        """The reply to a request that is sent once. Raises Away for a failure that may pass, and
        Refused, LookupError or PermissionError as Addresses.ask does.
        """
        import httpx2

        openai = _openai()
        try:
            response = self.client.post(endpoint, cast_to=httpx2.Response, body=dict(body))
            return _read_json(response.text)
        except openai.APITimeoutError as error:
            what = f"no answer in {self.patience.timeout:g} s"
            raise Away(what, lost=True, billed=True) from error
        except openai.APIConnectionError as error:
            raise Away(f"no connection: {error.__cause__ or error}", lost=True) from error
        except openai.APIStatusError as error:
            raise self._read_error(error) from error

    def _read_error(self, error) -> Exception:
        said = error.body if isinstance(error.body, dict) else {}
        reason = str(said.get("message") or said.get("detail") or error)[:300]
        reason = f"{self.url}: status {error.status_code}, {' '.join(reason.split())}"
        if error.status_code in (401, 402, 403) or error.code == "insufficient_quota":
            unsent = f"{KEY} was not sent: the address is not https; {reason}; to send it in"
            unsent = f"{unsent} clear text, set {IN_CLEAR}=1"
            return PermissionError(unsent if self.kept_back else f"{reason}; see {KEY}")
        if error.status_code == 404:
            return LookupError(f"{reason}; correct model, server or chat")
        if error.status_code in BUSY or error.status_code >= 500:
            failed = error.status_code in (500, 502)
            return Away(reason, _read_wait(error.response.headers), alone=failed)
        return Refused(reason, error.code, error.param)


class Addresses:
    """All addresses of a model; each request goes to the least busy one."""

    def __init__(self, urls: tuple[str, ...], patience: Patience, budget: Budget):
        self.all = [Address(url, patience) for url in urls]
        self.patience, self.budget, self._lock = patience, budget, Lock()

    def ask(self, endpoint: str, body: Mapping, most: Usage) -> dict:
        """The reply to a request, parsed from JSON. `most`: the tokens that it may cost.

        The request is repeated while the server is busy or unavailable (see Patience). An address
        whose connection fails is not used again while another works. After the last attempt this
        raises ConnectionError, or RuntimeError if perhaps only this request fails. Also raises
        PermissionError for a key or an account, LookupError for an unknown model or endpoint,
        Refused, and BudgetSpent.
        """
        pause, attempts = self.patience.first_pause, 0
        while True:
            address = self._choose()
            try:
                return self._ask_once(address, endpoint, body, most)
            except Away as away:
                if self._leave(address, away):
                    continue
                attempts += 1
                self._check(address, away, attempts)
                if away.wait:
                    address.free_at = max(address.free_at, time.monotonic() + away.wait)
                else:
                    time.sleep(pause)
                    pause = min(2 * pause, self.patience.longest_pause)

    def _choose(self) -> Address:
        """The least busy address whose connection has not failed, returned once its wait is
        over.
        """
        with self._lock:
            left = [one for one in self.all if not one.lost] or self.all
            address = min(left, key=lambda one: (one.free_at > time.monotonic(), one.in_flight))
            address.in_flight += 1
        time.sleep(max(0.0, address.free_at - time.monotonic()))
        return address

    def _ask_once(self, address: Address, endpoint: str, body: Mapping, most: Usage) -> dict:
        used: Usage | None = Usage(0, 0)
        try:
            reserved = self.budget.reserve(most)
            try:
                reply = address.post(endpoint, body)
                used = read_usage(reply)
                return reply
            except Away as away:
                used = None if away.billed else used
                raise
            finally:
                self.budget.settle(reserved, used)
        finally:
            with self._lock:
                address.in_flight -= 1

    def _leave(self, address: Address, away: Away) -> bool:
        """Whether other addresses take over from one whose connection failed; prints this once."""
        with self._lock:
            left = [one for one in self.all if not one.lost and one is not address]
            if not away.lost or not left:
                return False
            first, address.lost = not address.lost, True
        if first:
            others = ", ".join(one.url for one in left)
            text = f"{address.url} does not answer ({away}): its requests go to {others}"
            print(text, file=sys.stderr, flush=True)
        return True

    def _check(self, address: Address, away: Away, attempts: int) -> None:
        """Raise ConnectionError, or RuntimeError if perhaps only this request fails, when the
        attempts are used up or the server asks for too long a wait.
        """
        if away.wait > self.patience.longest_wait:
            over = f"asks to wait for {away.wait:.0f} s"
        elif attempts >= self.patience.attempts:
            over = f"did not answer, asked {attempts} times"
        else:
            return
        again = "all replies are kept: run the same command again later, and it goes on"
        kind = RuntimeError if away.alone else ConnectionError
        raise kind(f"{address.url} {over} ({away}); {again}") from away


def _openai():
    try:
        import openai
    except ModuleNotFoundError as error:
        missing = "the client of model servers is not installed: pip install -e '.[server]'"
        raise ModuleNotFoundError(missing) from error
    return openai


def read_addresses(server: str) -> tuple[str, ...]:
    """The addresses in a text, separated by commas; one without a path gets "/v1".

    Raises ValueError for one that is not an address or contains a password.
    """
    example = "http://127.0.0.1:8000 or https://host/v1"
    urls = read_urls(server, example, KEY)
    return tuple(url if urlsplit(url).path else f"{url}/v1" for url in urls)


def _read_json(text: str) -> dict:
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise Away(f"a reply that is not a JSON object: {text[:80]!r}", billed=True, alone=True)
    return reply


def _read_wait(headers: Mapping[str, str]) -> float:
    """The seconds to wait according to Retry-After, which has a number or a date; 0 without it."""
    said = headers.get("retry-after", "")
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return 0.0
