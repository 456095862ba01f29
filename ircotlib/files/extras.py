"""Extras: what a plain installation leaves out."""

import gc
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ircotlib.errors import Unavailable


def need(package: str, extra: str) -> None:
    """Raise Unavailable if a package that belongs to an extra is not installed."""
    if find_spec(package) is None:
        raise Unavailable(f'found no {package}, expected it: pip install "ircotlib[{extra}]"')


def import_large(module: str) -> ModuleType:
    """Import a module that brings packages as large as torch. What they make stays, so the garbage
    collector is kept from looking at it, now and later; its looking takes as long as the rest.
    """
    if module not in sys.modules:  # else what was made since would stay, too
        gc.disable()
        try:
            import_module(module)
        finally:
            gc.freeze()
            gc.enable()
    return sys.modules[module]
