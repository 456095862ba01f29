"""The workbench's commands.

ircotlib figures      every figure and table, from the notebooks
ircotlib ask          a question of your own, to any of the systems
ircotlib systems      lists the systems
ircotlib parameters   lists the parameters that --set changes
ircotlib fetch        downloads the official files that a profile needs
ircotlib laboratory   makes another laboratory
ircotlib report       puts runs on one page to share, which works offline

ircotlib COMMAND --help says more, with an example. With IRCOT_TRACEBACK=1, an error
shows its traceback.
"""

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from multiprocessing import active_children

from ircotlib.errors import UserError
from ircotlib.options import say_error

COMMANDS = {
    "figures": "ircotlib.command.figures:main",
    "ask": "ircotlib.command.views:ask",
    "systems": "ircotlib.command.views:systems",
    "parameters": "ircotlib.command.views:parameters",
    "fetch": "ircotlib.command.fetch:main",
    "laboratory": "ircot_laboratory.make:main",
    "report": "ircotlib.command.views:report",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 2 after a UserError, 1 after others, 130 if interrupted."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    command, *rest = given or ["--help"]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    try:
        getattr(sys.stdout, "reconfigure", dict)(errors="backslashreplace")  # Latin-1
        if command in ("-h", "--help"):
            print(__doc__.strip())
        elif command == "--version":
            print(version("ircotlib"))
        elif command in COMMANDS:
            module, _, function = COMMANDS[command].partition(":")
            getattr(import_module(module), function)(rest)
        else:
            known = ", ".join(COMMANDS)
            raise UserError(f"unknown command {command!r}, expected one of {known}")
        print(end="", flush=True)
        return 0
    except BrokenPipeError:  # nobody reads on, as behind `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # of whatever library
        return say_error(error, 2 if isinstance(error, UserError) else 1)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one stops nothing here
        words = "interrupted: what was done is kept; the same command resumes"
        print(f"\n{words}", file=sys.stderr)
        for worker in active_children():  # those of a report; kernels are killed by now
            worker.terminate()
        os._exit(130)  # without waiting for notebooks


if __name__ == "__main__":
    sys.exit(main())
