"""What all commands share: options, changes of parameters, and errors of one line."""

import argparse
import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ircotlib.errors import UserError
from ircotlib.files import ROOT
from ircotlib.parameters import Parameters, read_parameters, read_value
from ircotlib.text import plain

PATHS = "data_dir further demonstrations model agent second_model gpt3 extractor duplicates".split()
# as written; PATHS: those that can be folders
TEXTS = [*PATHS, "retriever", "server", "style"]


def new_parser(description: str, program: str | None = None) -> argparse.ArgumentParser:
    """An option parser. `program`: its name in the usage line."""
    how = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    return argparse.ArgumentParser(
        program, description=inspect.cleandoc(description), **how
    )


def add_profile(parser: argparse.ArgumentParser, default: str = "mini") -> None:
    """Add the options --profile and --set, which name the parameters."""
    profile = f"mini, sample, paper or released (profiles/); without it {default}"
    parser.add_argument("--profile", default=default, help=profile)
    change = "change a parameter (docs/runs.md); may be repeated"
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help=change
    )


def read_changed(options: argparse.Namespace) -> Parameters:
    """The parameters that --profile and --set name."""
    return read_parameters(options.profile, parse_changes(options.set))


def say_error(error: BaseException | str, status: int) -> int:
    """Print an error in one line of plain text; return the exit status."""
    print(f"error: {plain(str(error))}", file=sys.stderr)
    return status


def parse_changes(texts: Sequence[str]) -> dict[str, object]:
    """The values of --set NAME=VALUE by parameter, in YAML; texts are taken as written,
    unless quoted. A path in the caller's folder becomes relative to the repository, or
    else absolute.
    """
    changes = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UserError(
                f"found --set {text!r}, expected name=value, for example --set seed=1"
            )
        as_it_stands = not value or (name in TEXTS and value[0] not in "\"'")
        changes[name] = value if as_it_stands else read_value(value)
        if name in PATHS and value and os.path.exists(value):
            path = Path(value).resolve()
            changes[name] = str(
                path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            )
    return changes
