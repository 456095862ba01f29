"""One address at which a model is served: what is sent there, and how it answers or fails."""

import email.utils
import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial

from ircotlib.errors import Unavailable
from ircotlib.files.urls import IN_CLEAR, is_here, may_have_key
from ircotlib.generation.budget import Budget, Usage
from ircotlib.generation.server.protocol import KEY, Reply, read_body
from ircotlib.generation.server.refusals import RequestRefused, TemporaryFailure, Unreadable


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

        reserved, used = self.budget.reserve(most), Usage(0, 0)
        try:
            sent = self.call(lambda client: client.post(path, cast_to=httpx2.Response, body=body))
            reply = read_body(sent.text)
            used = reply.usage
        except Unreadable as error:
            used = None
            raise TemporaryFailure(f"{self.url}: {error}", alone=True) from error
        except TemporaryFailure as failure:
            used = None if failure.billed else used
            raise
        finally:
            self.budget.settle(reserved, used)
        if not reply.texts:
            fault = reply.faults[0]
            fault.args = (f"{self.url}: {fault}",)
            raise fault
        return reply

    def call(self, function: Callable):
        """What a function of the client returns, called once. Raises TemporaryFailure, or as
        Endpoints.ask.
        """
        import openai

        try:
            if not isinstance(found := function(self.client), str):  # a page, not an object
                return found
            raise TemporaryFailure(f"{self.url}: found {found[:80]!r}, expected a JSON object")
        except (AttributeError, json.JSONDecodeError) as error:  # of the client, at such a page
            odd = f"found another reply than the protocol's ({error}); correct server"
            raise TemporaryFailure(f"{self.url}: {odd}") from error
        except openai.APITimeoutError as error:
            late = f"{self.url}: no whole answer in {self.timeout:g} s"
            raise TemporaryFailure(late, billed=True) from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            if not isinstance(cause, Unreadable):
                raise TemporaryFailure(f"{self.url}: no connection: {cause}") from error
            raise TemporaryFailure(f"{self.url}: {cause}", alone=True, billed=True) from error
        except openai.APIStatusError as error:
            wait = _read_wait(error.response.headers)
            raise self.read_error(error.status_code, error.body, str(error), wait) from error

    def read_error(self, status: int, content: object, text: str, wait: float = 0.0) -> Exception:
        """The error of a status and what the server sent with it: an object, else a text."""
        content = content if isinstance(content, dict) else {}
        message, code = content.get("message") or content.get("detail"), content.get("code")
        reason = f"{self.url}: status {status}, {' '.join(str(message or text)[:300].split())}"
        if status in (401, 402, 403) or code == "insufficient_quota":
            unsent = f"not https, so {KEY} was not sent; to send it in clear text, set {IN_CLEAR}=1"
            return PermissionError(f"{reason}; {unsent if self.without_key else f'see {KEY}'}")
        if status in (404, 405) or status < 400:
            return LookupError(f"{reason}; correct model, server or chat")
        # the same request may be answered later
        if status in (408, 409, 429) or status >= 500:
            alone = status in (500, 502)
            return TemporaryFailure(reason, wait, busy=not alone, alone=alone)
        return RequestRefused(reason, code, content.get("param"))


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
