"""What all commands share: strict options, and error messages of one line."""

import argparse
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Never

import yaml

from ircotlib.files.paths import ROOT

# parameters whose paths may be relative to the caller's folder
PATHS = ("data_dir", "demonstrations", "model", "agent", "second_model")
# numbers that YAML 1.1 reads as octal, as minutes and seconds, or without their underscores
ODD = re.compile(r"(?<![\w.:/-])(0[0-7]+|\d+(?:[_:]\d+)+)(?![\w.:/-])")


def new_parser(description: str) -> argparse.ArgumentParser:
    """An option parser whose errors are one line, and which accepts no abbreviated options."""
    how = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    parser = argparse.ArgumentParser(description=description, **how)
    parser.error = refuse
    return parser


def refuse(message: str) -> Never:
    """Exit with status 2 and one line on stderr."""
    print(f"error: {' '.join(message.split())}; --help says more", file=sys.stderr)
    raise SystemExit(2)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn a ValueError or OSError raised in this block into a refusal of the options."""
    try:
        yield
    except (ValueError, OSError) as error:
        refuse(str(error))


def read_count(text: str) -> int:
    """Read an option's value: a whole number, 1 or more."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number, 1 or more")
    return int(text)


def read_number(text: str) -> int:
    """Read an option's value: a whole number, 0 or more."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number, 0 or more")
    return int(text)


def read_rate(text: str) -> float:
    """Read an option's value: a learning rate above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not (isfinite(value) and value > 0):
        expected = "expected a learning rate above 0, about 0.01"
        raise argparse.ArgumentTypeError(f"found {text!r}, {expected}")
    return value


def read_folder(text: str) -> Path:
    """Read an option's value: a folder, which need not exist yet."""
    path = Path(text)
    if not text or (path.exists() and not path.is_dir()):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a folder, or nothing there yet")
    return path


def say_error(error: BaseException | str, status: int) -> int:
    """Print an error in one line; return the exit status."""
    name = f"{type(error).__name__}: " if isinstance(error, OSError) else ""
    print(f"error: {name}{' '.join(str(error).split())}", file=sys.stderr)
    return status


def heed_interrupts() -> None:
    """Make SIGTERM raise KeyboardInterrupt, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def parse_changes(texts: Sequence[str]) -> dict[str, object]:
    """Read --set options into a dict by parameter. Raises ValueError for a parameter that is set
    twice.
    """
    changes = [parse_change(text) for text in texts]
    for name, count in Counter(name for name, _ in changes).items():
        if count > 1:
            raise ValueError(f"found --set {name} {count} times, expected it once")
    return dict(changes)


def parse_change(text: str) -> tuple[str, object]:
    """Read one --set option, name=value, whose value is YAML. A question is taken literally.

    A path that exists relative to the caller's folder becomes relative to the repository, or
    absolute if it is outside. Raises ValueError for a text of another form, and for a number that
    YAML would read as a different one.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(f"found --set {text!r}, expected name=value, for example --set seed=1")
    if name == "question":
        return name, value
    try:
        read = yaml.safe_load(value)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2024-99-99
        reason = str(error).splitlines()[0]
        raise ValueError(f"found --set {text!r}, expected a value in YAML ({reason})") from None
    if name in PATHS and value and Path(value).exists():
        place = Path(value).resolve()
        return name, str(place.relative_to(ROOT) if place.is_relative_to(ROOT) else place)
    if not isinstance(read, str) and (odd := ODD.search(value)):
        found = f"found --set {text!r}: YAML reads {odd[0]} as {yaml.safe_load(odd[0])}"
        raise ValueError(f"{found}, expected a plain number")
    return name, read
