"""The workbench's commands.

ircotlib figures      every figure and table, from the notebooks
ircotlib ask          a question of your own, to all systems
ircotlib fetch        downloads the official files that a profile needs
ircotlib recover      saves what can be read of a damaged call cache
ircotlib laboratory   makes another laboratory
ircotlib systems      lists the systems, with their papers

ircotlib COMMAND --help says more, with an example. `python -m ircotlib` is the same.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "figures": "ircotlib.command.figures",
    "fetch": "ircotlib.command.fetch",
    "recover": "ircotlib.command.recover",
    "laboratory": "ircot_laboratory.make",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names; return its exit status."""
    command, *rest = (sys.argv[1:] if arguments is None else list(arguments)) or ["--help"]
    if command in ("-h", "--help"):
        print(__doc__)
        return 0
    if command not in COMMANDS:
        expected = f"expected one of {', '.join(COMMANDS)}"
        print(f"error: found the command {command!r}, {expected}", file=sys.stderr)
        return 2
    return import_module(COMMANDS[command]).main(rest) or 0


if __name__ == "__main__":
    sys.exit(main())
