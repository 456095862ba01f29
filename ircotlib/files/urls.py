"""Addresses of servers: reads and checks them, and decides where a key may be sent and shown."""

import os
import re
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from ircotlib.errors import UserError

PORTS = {"http": 80, "https": 443}
URL = re.compile(r"https?://[^/?#\\\s]+(/[^?#\\\s]*)?")
PATIENCE = 3.0  # seconds for a connection
IN_CLEAR = "IRCOT_KEYS_IN_CLEAR"  # 1: keys may be sent over http to other machines
SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|HEADERS|_ORG_ID|_PROJECT_ID)$")  # variables
PIECE = re.compile(r"[\w+/=.~-]{4,}", re.ASCII)  # of a key, also as part of another program's words


def read_urls(text: str, example: str, credentials: str, port: bool = False) -> tuple[str, ...]:
    """Read addresses with commas between them, each once, without a "/" at the end.

    Errors show `example`, a valid address, and `credentials`, what to set instead of a user and a
    password; they never repeat a password or a query. `port`: each address must have one. Raises
    UserError for anything but an http or https address without user, password, query and fragment.
    """
    if "@" in text:
        named = "found an address with a user or a password"
        raise UserError(f"{named}, expected one without user and password; set {credentials}")
    urls = tuple(dict.fromkeys(part.strip().rstrip("/") for part in text.split(",")))
    for url in urls:
        try:
            number = urlsplit(url).port  # ValueError for one that is not a number below 65536
            fits = URL.fullmatch(url) and url.isprintable()
            valid = fits and number != 0 and (number or not port)
        except ValueError:
            valid = False
        if not valid:
            several = "several with commas between them"
            shown = re.split("[?#]", url)[0]
            shown = repr(shown) if shown == url else f"{shown!r} with a query or a fragment"
            raise UserError(f"found the address {shown}, expected {example}, {several}")
    return urls


def is_here(url: str) -> bool:
    """Whether an address is this machine's: localhost or a loopback number."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def why_unreachable(url: str) -> str:
    """Why an address accepts no connection within PATIENCE seconds; "" if it does."""
    address = urlsplit(url)
    server = address.hostname, address.port or PORTS[address.scheme]
    try:
        with socket.create_connection(server, PATIENCE):
            return ""
    except OSError as error:
        return error.strerror or str(error)


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


def hide(text: str) -> str:
    """A text without the keys, tokens and passwords of the environment, and those in addresses.
    Pieces of fewer than eight letters are hidden where they are words.
    """
    for name, value in os.environ.items():
        pieces = [value.strip(), *PIECE.findall(value)] if SECRET.search(name.upper()) else ()
        for piece in sorted((p for p in pieces if len(p) > 3), key=len, reverse=True):
            exact = re.escape(piece)
            text = re.sub(exact if len(piece) > 7 else rf"(?<!\w){exact}(?!\w)", "…", text)
    return re.sub(r"//[^/\s]*@", "//…@", text)
