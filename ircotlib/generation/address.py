"""One address at which a model is served: what is sent there, and how it answers or fails."""

import email.utils
import os
import re
import time
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

from ircotlib.errors import Unavailable
from ircotlib.files.urls import IN_CLEAR, is_here, may_have_key, read_urls
from ircotlib.generation.protocol import Reply, RequestRefused, Unreadable, read_reply

KEY = "OPENAI_API_KEY"


class TemporaryFailure(Exception):
    """No answer now, but perhaps later. `wait`: the seconds that the server asks to wait; `busy`:
    it says that it cannot answer now; `billed`: it may have written a text, and charge for it;
    `alone`: perhaps only this request fails.
    """

    def __init__(self, reason: str, wait=0.0, busy=False, billed=False, alone=False):
        super().__init__(reason)
        self.wait, self.busy, self.billed, self.alone = wait, busy, billed, alone


class Endpoint:
    """One address and its state. The key is sent only where may_have_key allows it.

    `in_flight`: requests. `free_at`: the server asked not to be asked before. `rests_until`: it
    failed, so other addresses are preferred; after its rest it is tried with one request. `began`:
    when it last began to rest. `failures`: its rests since it last answered; `failing`: the
    requests that it failed since. `answered`: it has ever answered.
    """

    def __init__(self, url: str, timeout: float):
        try:
            import openai
        except ModuleNotFoundError as error:
            missing = "the client of model servers is not installed: pip install -e '.[server]'"
            raise Unavailable(missing) from error
        self.url, self.timeout, key = url, timeout, os.environ.get(KEY, "")
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

    def post(self, path: str, body: Mapping) -> Reply:
        """The reply to a request, sent once. Raises TemporaryFailure, or as Endpoints.ask."""
        import httpx2
        import openai

        try:
            return read_reply(self.client.post(path, cast_to=httpx2.Response, body=dict(body)).text)
        except openai.APITimeoutError as error:
            reason = f"{self.url}: no whole answer in {self.timeout:g} s"
            raise TemporaryFailure(reason, billed=True) from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            if not isinstance(cause, Unreadable):
                raise TemporaryFailure(f"{self.url}: no connection: {cause}") from error
            raise TemporaryFailure(f"{self.url}: {cause}", billed=True, alone=True) from error
        except openai.APIStatusError as error:
            raise self._read_error(error) from error
        except Unreadable as error:
            raise TemporaryFailure(f"{self.url}: {error}", billed=True, alone=True) from error

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
