"""The workbench's commands.

ircotlib figures      every figure and table, from the notebooks
ircotlib ask          a question of your own, to any of the systems
ircotlib systems      lists the systems
ircotlib fetch        downloads the official files that a profile needs
ircotlib import       brings in questions, corpora and texts; and real models' outputs
ircotlib laboratory   makes another laboratory
ircotlib report       one page of runs to hand on, which works from disk

ircotlib COMMAND --help says more, with an example, and ircotlib --version which this is.
`python -m ircotlib` is the same.
"""

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from ircotlib.command.options import say_error
from ircotlib.errors import UserError

COMMANDS = {
    "figures": "ircotlib.command.figures",
    "ask": "ircotlib.command.ask",
    "systems": "ircotlib.command.systems",
    "fetch": "ircotlib.command.fetch",
    "import": "ircotlib.command.bring",
    "laboratory": "ircot_laboratory.make",
    "report": "ircotlib.command.report",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names. The exit status is 2 if what was asked for is
    wrong (UserError), 1 after any other error, and 130 after an interrupt.
    """
    command, *rest = (sys.argv[1:] if arguments is None else list(arguments)) or ["--help"]
    if command in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    if command == "--version":
        print(f"ircotlib {version('ircotlib')}")
        return 0
    if command not in COMMANDS:
        return say_error(f"found the command {command!r}, expected one of {', '.join(COMMANDS)}", 2)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    try:
        return import_module(COMMANDS[command]).main(rest) or 0
    except UserError as error:
        return say_error(error, 2)
    except BrokenPipeError:  # whoever reads the output, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, RuntimeError, OSError, ImportError) as error:
        return say_error(error, 1)
    except KeyboardInterrupt:
        print("\ninterrupted: what was done is kept; the same command resumes", file=sys.stderr)
        stop()


def stop() -> None:
    """End this process and those that it started, without waiting for their notebooks."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        process.kill()
    sys.stderr.flush()
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
