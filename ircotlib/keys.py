"""Which servers may be sent a key, and which keys can be sent."""

import os
import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from ircotlib.errors import UserError

# of a server, without user, password or query, which errors and folders would show
ADDRESS = r"https?://(?:\[[\da-f:.]+\]|[^][\s,@?#/:]+)(?::\d{1,5})?(?:/[^\s,@?#]*)?"
KEY = "OPENAI_API_KEY"  # the environment variable with the key of a model's server


def is_here(url: str) -> bool:
    """Whether an address is this machine's: localhost or a loopback number."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def may_have_key(url: str) -> bool:
    """Whether a key may be sent: over https, to this machine, or if all are allowed."""
    in_clear = os.environ.get("IRCOT_KEYS_IN_CLEAR") == "1"
    return url.startswith("https:") or is_here(url) or in_clear


def check_server(address: str) -> str:
    """The address of a model's server, if valid; UserError, which hides it, if not."""
    if not re.fullmatch(ADDRESS, address):  # it may hold a password
        example = "expected one like http://127.0.0.1:8000 or https://host/v1"
        raise UserError(f"not a valid address, {example}, and a key in {KEY}")
    urlsplit(address).port  # noqa: B018  ValueError for one that is none
    return address


def read_key(name: str) -> str:
    """A key from the environment, or ""; UserError unless it is visible ASCII."""
    text = os.environ.get(name, "").strip()
    if not re.fullmatch("[!-~]*", text):
        raise UserError(f"{name}: the key is not all visible ASCII characters")
    return text
