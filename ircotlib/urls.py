"""Addresses of servers: reading them, and where a key may be sent."""

import os
import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}
PATIENCE = 3.0  # seconds for a connection
IN_CLEAR = "IRCOT_KEYS_IN_CLEAR"  # set to 1: keys may be sent over http to other machines


def read_urls(text: str, example: str, credentials: str, port: bool = False) -> tuple[str, ...]:
    """The addresses in a text, with commas between them, each once, without a "/" at the end.

    `example`: of a right one, and `credentials`: what to set, for errors. `port`: each must have
    one. Raises ValueError for one that is no address of http or https, or holds a user, a password,
    a query or a fragment; a password is not repeated.
    """
    if "@" in text:
        raise ValueError(
            "found an address with a user or a password, expected one without user and password;"
            f" set {credentials}"
        )
    urls = tuple(dict.fromkeys(part.strip().rstrip("/") for part in text.split(",")))
    for url in urls:
        if not _is_url(url, port):
            raise ValueError(
                f"found the address {url!r}, expected {example}, several with commas between them"
            )
    return urls


def _is_url(url: str, port: bool) -> bool:
    try:
        address = urlsplit(url)
        found = address.port
    except ValueError:  # a port that is no number below 65536, or half an IPv6 address
        return False
    known = address.scheme in ("http", "https") and address.hostname
    plain = not {" ", "\\", "?", "#"} & set(url) and url.isprintable()
    return bool(known and plain and found != 0 and (found or not port))


def is_here(url: str) -> bool:
    """Whether an address is of this machine, by its name or number."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def find_away(url: str) -> str:
    """Why nothing takes a connection at an address within PATIENCE; "" if something does."""
    address = urlsplit(url)
    place = address.hostname, address.port or PORTS[address.scheme]
    try:
        with socket.create_connection(place, PATIENCE):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def may_have_key(url: str) -> bool:
    """Whether a key may be sent to an address: encrypted, or on this machine, or where the
    environment variable IRCOT_KEYS_IN_CLEAR is 1.
    """
    return url.startswith("https:") or is_here(url) or os.environ.get(IN_CLEAR) == "1"
