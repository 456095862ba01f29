"""What all commands share: options, changes of parameters, and errors of one line."""

import inspect
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence

from ircotlib.errors import DataError, Unavailable, UserError
from ircotlib.parameters import Parameters, all_profiles, read_parameters, read_value
from ircotlib.text import plain

FIELDS = Parameters.model_fields.items()
TEXTS = {name for name, field in FIELDS if field.annotation is str}  # as they stand


def new_parser(description: str | None, program: str | None = None) -> ArgumentParser:
    """An option parser. `program`: its name in the usage line."""
    text = inspect.cleandoc(description or "")
    return ArgumentParser(
        program, description=text, formatter_class=RawDescriptionHelpFormatter
    )


def add_profile(parser: ArgumentParser, default: str = "mini") -> None:
    """Add the options --profile and --set, which name the parameters."""
    profile = f"{', '.join(all_profiles())} (profiles/); default: {default}"
    change = "change a parameter (ircotlib parameters); may be repeated"
    parser.add_argument("--profile", default=default, help=profile)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help=change
    )


def read_changed(options: Namespace) -> Parameters:
    """The parameters that --profile and --set name."""
    return read_parameters(options.profile, parse_changes(options.set))


def describe_error(error: BaseException) -> str:
    """Any error in one line of plain text, for commands and widgets. With
    IRCOT_TRACEBACK=1 the traceback is printed, too.
    """
    if os.environ.get("IRCOT_TRACEBACK"):
        traceback.print_exception(error)
    words = plain(str(error))
    # sentences: ours, or the system's
    if isinstance(error, UserError | DataError | Unavailable | RuntimeError | OSError):
        return words
    kind = type(error).__name__
    return f"{kind}: {words} (IRCOT_TRACEBACK=1 shows the traceback)"


def say_error(error: BaseException | str, status: int) -> int:
    """Print an error in one line of plain text; return the exit status."""
    words = error if isinstance(error, str) else describe_error(error)
    print(f"error: {plain(words)}", file=sys.stderr)
    return status


def parse_changes(texts: Sequence[str]) -> dict[str, object]:
    """The values of --set NAME=VALUE by parameter, in YAML; texts are taken as written,
    unless quoted.
    """
    changes = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UserError(f"found --set {text!r}, expected name=value, as in seed=1")
        as_written = not value or (name in TEXTS and value[0] not in "\"'")
        try:
            changes[name] = value if as_written else read_value(value)
        except UserError as error:
            raise UserError(f"{name}: {error}") from None
    return changes
