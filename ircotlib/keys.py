"""Keys of servers: where they may be sent, and how errors keep them to themselves."""

import os
import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from ircotlib.errors import UserError

SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")  # ends the names of variables that hold keys


def one_line(error: object, most: int | None = 200) -> str:
    """The beginning of what an error, a server or a library says: in one line, as plain text, and
    without the keys of the environment.
    """
    text = str(error)
    for name, value in os.environ.items():
        if SECRET.search(name.upper()) and len(value.strip()) > 7:
            text = text.replace(value.strip(), "…")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:most]


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
