"""What all commands share: options, changes of parameters, and errors of one line."""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Never

from ircotlib.errors import Unavailable, UserError
from ircotlib.files import DATA, ROOT
from ircotlib.keys import one_line
from ircotlib.parameters import read_value

# parameters that are folders, and all that are texts as they stand
PATHS = "data_dir demonstrations model agent second_model gpt3".split()
TEXTS = {*PATHS, "retriever", "server", "extractor", "duplicates", "style"}
QUOTED = re.compile(r'"(\\.|[^"\\])*"|\'(\'\'|[^\'])*\'')


class Parser(argparse.ArgumentParser):
    """An option parser whose errors, and those of its commands, are one line."""

    def error(self, message: str) -> Never:
        """Exit with status 2 and one line on stderr."""
        refuse(message)


def new_parser(description: str, program: str | None = None) -> Parser:
    """An option parser. `program`: its name in the usage line."""
    layout = argparse.RawDescriptionHelpFormatter
    return Parser(program, description=description, formatter_class=layout)


def add_profile(parser: argparse.ArgumentParser, default: str = "mini") -> None:
    """Add the options --profile and --set, which name the parameters."""
    profile = f"mini, sample, paper or released (profiles/); without it {default}"
    parser.add_argument("--profile", default=default, help=profile)
    change = "change a parameter (docs/runs.md); may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=change)


def refuse(message: str) -> Never:
    """Exit with status 2 and one line on stderr."""
    raise SystemExit(say_error(f"{message}; --help says more", 2))


@contextmanager
def refusing() -> Iterator[None]:
    """Turn a ValueError or OSError raised in this block into a refusal of the options."""
    try:
        yield
    except (ValueError, OSError) as error:
        refuse(str(error))


def say_error(error: BaseException | str, status: int) -> int:
    """Print an error in one line of plain text; return the exit status."""
    ours = not isinstance(error, OSError) or isinstance(error, Unavailable)
    kind = "" if ours else f"{type(error).__name__}: "
    print(f"error: {kind}{one_line(error, most=None)}", file=sys.stderr)
    return status


def _read(text: str, kind: type, least: float, most: float = 10**9) -> float:
    number = kind(text)
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected from {least} to {most}")
    return number


# types of options
read_count = partial(_read, kind=int, least=1)
read_workers = partial(_read, kind=int, least=1, most=1024)
read_number = partial(_read, kind=int, least=0)
read_rate = partial(_read, kind=float, least=sys.float_info.min)


def read_folder(text: str) -> Path:
    """Read an option's value: a folder to be written, outside of DATA, which need not exist yet."""
    path = Path(text)
    if not text or (path.exists() and not path.is_dir()) or DATA.resolve() == path.resolve():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a folder, or nothing there yet")
    return path


def parse_changes(texts: Sequence[str]) -> dict[str, object]:
    """Read --set options by parameter; of two for the same one, the last."""
    return dict(map(parse_change, texts))


def parse_change(text: str) -> tuple[str, object]:
    """Read one --set option, name=value: a parameter that is a text has its value as it is, unless
    it is quoted, any other in YAML; no value is the empty text. A path that exists in the caller's
    folder becomes relative to the repository, or absolute if it is outside.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UserError(f"found --set {text!r}, expected name=value, for example --set seed=1")
    try:
        if value and (name not in TEXTS or QUOTED.fullmatch(value)):
            value = read_value(value)
    except UserError as error:
        raise UserError(f"--set {text!r}: {error}") from None
    if name in PATHS and value and os.path.exists(value):
        path = Path(value).resolve()
        return name, str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    return name, value
