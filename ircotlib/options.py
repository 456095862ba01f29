"""What all commands share: options, changes of parameters, and errors of one line."""

import inspect
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from ircotlib.errors import UserError
from ircotlib.files import ROOT
from ircotlib.parameters import Parameters, read_parameters, read_value
from ircotlib.text import plain

# texts that can be folders
PATHS = ["data_dir", "further", "demonstrations", "model", "agent", "second_model"]
PATHS += ["gpt3", "extractor", "duplicates", "outputs"]
TEXTS = (*PATHS, "retriever", "server", "style")  # taken as they are written


def new_parser(description: str | None, program: str | None = None) -> ArgumentParser:
    """An option parser. `program`: its name in the usage line."""
    text = inspect.cleandoc(description or "")
    return ArgumentParser(
        program, description=text, formatter_class=RawDescriptionHelpFormatter
    )


def add_profile(parser: ArgumentParser, default: str = "mini") -> None:
    """Add the options --profile and --set, which name the parameters."""
    profile = f"mini, sample, paper or released (profiles/); without it {default}"
    change = "change a parameter (docs/runs.md); may be repeated"
    parser.add_argument("--profile", default=default, help=profile)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help=change
    )


def read_changed(options: Namespace) -> Parameters:
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
        as_written = not value or (name in TEXTS and value[0] not in "\"'")
        changes[name] = value if as_written else read_value(value)
        if name in PATHS and value and os.path.exists(value):
            path = Path(value).resolve()
            if path.is_relative_to(ROOT):
                path = path.relative_to(ROOT)
            changes[name] = str(path)
    return changes
