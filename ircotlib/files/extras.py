"""Extras: what a plain installation leaves out."""

from importlib.util import find_spec

from ircotlib.errors import Unavailable


def need(package: str, extra: str) -> None:
    """Raise Unavailable if a package that belongs to an extra is not installed."""
    if find_spec(package) is None:
        raise Unavailable(f'found no {package}, expected it: pip install "ircotlib[{extra}]"')
