"""Where the keys of servers may be sent."""

import os
from ipaddress import ip_address
from urllib.parse import urlsplit

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
