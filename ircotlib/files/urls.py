"""Where a key may be sent."""

import os
import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from ircotlib.errors import UserError

IN_CLEAR = "IRCOT_KEYS_IN_CLEAR"  # 1: keys may be sent over http to other machines


def is_here(url: str) -> bool:
    """Whether an address is this machine's: localhost or a loopback number."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def may_have_key(url: str) -> bool:
    """Whether a key may be sent there: over https, to this machine, or anywhere if so allowed."""
    return url.startswith("https:") or is_here(url) or os.environ.get(IN_CLEAR) == "1"


def read_header(name: str) -> str:
    """A variable of the environment that is sent as a header, without white space around it; "" if
    there is none. Raises UserError, without the value, for what no server could be sent.
    """
    value = os.environ.get(name, "").strip()
    if not re.fullmatch("[!-~]*", value):
        expected = "expected a key of visible ASCII characters without white space"
        raise UserError(f"{name}: found another text in the environment, {expected}; correct it")
    return value
