"""One address at which a model is served: what is sent there, and how it answers or fails."""

import email.utils
import os
import time
from collections.abc import Mapping
from functools import partial

from ircotlib.errors import Unavailable
from ircotlib.files.urls import IN_CLEAR, is_here, may_have_key
from ircotlib.generation.budget import Budget, Usage
from ircotlib.generation.protocol import KEY, Reply, RequestRefused, Unreadable, read_body


class TemporaryFailure(Exception):
    """No answer now, but perhaps later. `wait`: the seconds that the server asks to wait; `busy`:
    it says that it cannot answer now; `alone`: perhaps only this request fails.
    """

    def __init__(self, reason: str, wait=0.0, busy=False, alone=False):
        super().__init__(reason)
        self.wait, self.busy, self.alone = wait, busy, alone


class Endpoint:
    """One address and its state. The key is sent only where may_have_key allows it.

    `in_flight`: requests. `free_at`: the server asked not to be asked before. `rests_until`: it
    failed, so other addresses are preferred; after its rest it is tried with one request. `began`:
    when it last began to rest. `failures`: its rests since it last answered; `failing`: the
    requests that it failed since. `answered`: it has ever answered.
    """

    def __init__(self, url: str, timeout: float, budget: Budget):
        try:
            import openai
        except ModuleNotFoundError as error:
            missing = "the client of model servers is not installed: pip install -e '.[server]'"
            raise Unavailable(missing) from error
        self.url, self.timeout, self.budget, key = url, timeout, budget, os.environ.get(KEY, "")
        self.in_flight, self.free_at, self.rests_until, self.began = 0, 0.0, 0.0, 0.0
        self.failures, self.failing, self.answered, self.reported = 0, set(), False, False
        self.without_key = bool(key) and not may_have_key(url)
        # a proxy must not see requests to this machine
        http = openai.DefaultHttpxClient(
            follow_redirects=False,
            trust_env=not is_here(url),
            event_hooks={"response": [_refuse_stream, partial(_limit_time, seconds=timeout)]},
        )
        options = {"max_retries": 0, "timeout": timeout, "http_client": http}
        sent = (not self.without_key and key) or "none"
        self.client = openai.OpenAI(base_url=url, api_key=sent, **options)

    def send(self, path: str, body: Mapping, most: Usage) -> Reply:
        """The reply to a request, sent once, whose cost is counted. Raises TemporaryFailure, the
        first fault of a reply without any text, or as Endpoints.ask.
        """
        import httpx2
        import openai

        reserved, used = self.budget.reserve(most), Usage(0, 0)
        try:
            reply = read_body(self.client.post(path, cast_to=httpx2.Response, body=body).text)
            used = reply.usage
        except openai.APITimeoutError as error:
            used = None  # it may have written a text, and charge for it, here and below
            raise TemporaryFailure(f"{self.url}: no whole answer in {self.timeout:g} s") from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            if not isinstance(cause, Unreadable):
                raise TemporaryFailure(f"{self.url}: no connection: {cause}") from error
            used = None
            raise TemporaryFailure(f"{self.url}: {cause}", alone=True) from error
        except openai.APIStatusError as error:
            raise self._read_error(error) from error
        except Unreadable as error:
            used = None
            raise TemporaryFailure(f"{self.url}: {error}", alone=True) from error
        finally:
            self.budget.settle(reserved, used)
        if not reply.texts:
            fault = reply.faults[0]
            raise type(fault)(f"{self.url}: {fault}")
        return reply

    def _read_error(self, error) -> Exception:
        content = error.body if isinstance(error.body, dict) else {}
        message = str(content.get("message") or content.get("detail") or error)[:300]
        reason = f"{self.url}: status {error.status_code}, {' '.join(message.split())}"
        if error.status_code in (401, 402, 403) or error.code == "insufficient_quota":
            unsent = f"not https, so {KEY} was not sent; to send it in clear text, set {IN_CLEAR}=1"
            return PermissionError(f"{reason}; {unsent if self.without_key else f'see {KEY}'}")
        if error.status_code in (404, 405) or error.status_code < 400:
            return LookupError(f"{reason}; correct model, server or chat")
        # the same request may be answered later
        if error.status_code in (408, 409, 429) or error.status_code >= 500:
            wait, alone = _read_wait(error.response.headers), error.status_code in (500, 502)
            return TemporaryFailure(reason, wait, busy=not alone, alone=alone)
        return RequestRefused(reason, error.code, error.param)


def _read_wait(headers: Mapping[str, str]) -> float:
    """The seconds to wait according to Retry-After, which has a number or a date; 0 without it."""
    value = headers.get("retry-after", "")
    try:
        if value[:1].isdigit():  # a date begins with a letter
            return float(value)
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


def _refuse_stream(response) -> None:
    """Raise Unreadable for a stream of events, which was not asked for and may never end."""
    kind = response.headers.get("content-type", "")
    if kind.startswith("text/event-stream"):
        raise Unreadable(f"found a stream ({kind}), expected a JSON object; correct server")


def _limit_time(response, seconds: float) -> None:
    """Raise ReadTimeout if a body takes longer: the client limits each read, not all together, and
    would read for ever what comes byte by byte.
    """
    import httpx2

    class Limited(httpx2.SyncByteStream):
        def __iter__(self):
            end = time.monotonic() + seconds
            for piece in body:
                yield piece
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout(f"no end in {seconds:g} s", request=response.request)

        def close(self):
            body.close()

    body, response.stream = response.stream, Limited()
