"""One address at which a model is served: what is sent there, and how it answers or fails."""

import email.utils
import time
from collections.abc import Callable, Collection, Mapping

from ircotlib.files.checksums import one_line
from ircotlib.generation.budget import Budget, Usage
from ircotlib.generation.server import refusals
from ircotlib.generation.server.client import open_client
from ircotlib.generation.server.protocol import ServerReply, read_content, read_object
from ircotlib.generation.server.refusals import TemporaryFailure, Unreadable


class Endpoint:
    """One address and its state.

    `in_flight`: requests. `free_at`: the server asked not to be asked before. `rests_until`: it
    failed, so other addresses are preferred; after its rest it is tried with one request. `began`:
    when it last began to rest. `failures`: its rests since it last answered; `failing`: the
    requests that it failed since. `answered`: it has ever answered.
    """

    def __init__(self, url: str, timeout: float, budget: Budget):
        self.url, self.timeout, self.budget = url, timeout, budget
        self.in_flight = 0
        self.free_at = self.rests_until = self.began = 0.0
        self.failures, self.failing = 0, set()
        self.answered = self.reported = False
        self.client = open_client(url, timeout)

    def send_once(self, path: str, body: Mapping, most: Usage) -> ServerReply:
        """The reply to a request, sent once, whose cost is counted. Raises TemporaryFailure, the
        first fault of a reply without any text, or as Endpoints.send_until_answered.
        """
        import httpx2

        how = {"cast_to": httpx2.Response, "body": body}
        reserved, used = self.budget.reserve(most), Usage(0, 0)
        try:
            text = self.call(lambda client: client.post(path, **how), body)
            reply = read_content(self.read(text, body))
            used = reply.usage
        except TemporaryFailure as failure:
            used = None if failure.billed else used
            raise
        finally:
            self.budget.settle(reserved, used)
        if not reply.texts:
            raise reply.fault(self.url)
        return reply

    def get(self, path: str) -> str:
        """The body of what is at a path; see `call`."""
        import httpx2

        return self.call(lambda client: client.get(path, cast_to=httpx2.Response))

    def call(self, function: Callable, sent: Collection[str] = ()) -> str:
        """The body of the response that a function of the client returns, called once. `sent`: the
        fields of the request. Raises TemporaryFailure, or as Endpoints.send_until_answered; no
        error of the client follows from it, because it may contain a key.
        """
        import openai

        try:
            return function(self.client).text
        except openai.APITimeoutError:
            late = f"{self.url}: no whole answer in {self.timeout:g} s"
            raise TemporaryFailure(late, billed=True) from None
        except openai.APIConnectionError as error:
            reason = one_line(error.__cause__ or error)
            raise TemporaryFailure(f"{self.url}: no connection: {reason}") from None
        except Unreadable as error:
            stream = f"{self.url}: {one_line(error)}"
            raise TemporaryFailure(stream, alone=True, billed=True) from None
        except openai.APIStatusError as error:
            wait, text = _read_wait(error.response.headers), error.response.text
            raise refusals.read_refusal(self.url, error.status_code, text, sent, wait) from None
        except Exception as error:
            failed = f"the client failed: {type(error).__name__} ({one_line(error)})"
            raise ValueError(f"{self.url}: {failed}; correct the request") from None

    def read(self, text: str, sent: Collection[str] = ()) -> dict:
        """The object in a body that came with status 200. Raises the error that it means."""
        if (content := read_object(text)) is None:
            kind = "a stream" if text.startswith("data:") else repr(one_line(text, 80))
            odd = f"found a reply that is not a JSON object, but {kind}; correct server"
            raise TemporaryFailure(f"{self.url}: {odd}", alone=True, billed=True)
        if refusals.is_refusal(content):
            raise refusals.read_refusal(self.url, 200, content, sent)
        return content


def _read_wait(headers: Mapping[str, str]) -> float:
    """The seconds to wait according to Retry-After, which has a number or a date; 0 without it."""
    value = headers.get("retry-after", "")
    try:
        if value[:1].isdigit():  # a date begins with a letter
            return float(value)
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
