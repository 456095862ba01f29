"""What the refusals and failures of a server mean."""

import re
from collections.abc import Mapping

OPTIONAL = ("max_tokens", "temperature", "stop", "n", "logprobs")
TOO_LONG = re.compile(r"context[ _](length|window)|too long|too many tokens|maximum.{0,30} tokens")
UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted"
    r"|\bn\b.*must be between"  # llama.cpp: at most as many texts as it has slots
)


class RequestRefused(ValueError):
    """A request that the server does not accept. `code`, `field`: the error and the field at fault,
    as it names them.
    """

    def __init__(self, reason: str, code: object = None, field: object = None):
        super().__init__(reason)
        self.code, self.field = code, field

    def is_too_long(self) -> bool:
        """Whether the server says that the prompt is too long for it."""
        return "context_length" in str(self.code) or bool(TOO_LONG.search(str(self).lower()))

    def unsupported(self, options: Mapping) -> str | None:
        """The optional field that the server says, in words only, it does not accept, if any."""
        text = f"{self} {self.code}".lower()
        if UNSUPPORTED.search(text):
            for name in sorted(OPTIONAL, key=lambda name: name != self.field):
                if name in options and (name == self.field or re.search(rf"\b{name}\b", text)):
                    return name
        return None


class Unreadable(ValueError):
    """A reply that is not as the protocol has it: the fault of the address, not of the request."""


class TemporaryFailure(Exception):
    """No answer now, but perhaps later. `wait`: the seconds that the server asks to wait; `busy`:
    it says that it cannot answer now; `alone`: perhaps only this request fails; `billed`: it may
    have written a text, and charge for it.
    """

    def __init__(self, reason: str, wait=0.0, busy=False, alone=False, billed=False):
        super().__init__(reason)
        self.wait, self.busy, self.alone, self.billed = wait, busy, alone, billed
