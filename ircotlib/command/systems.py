"""Lists the systems: the paper whose experiments they are part of, where they are described, the
parameters that are tuned and the paper's values, and the stages that have a prompt of their own.

ircotlib systems
ircotlib systems | grep SearChain
"""

import inspect
import re
from collections.abc import Sequence

from ircotlib.files.options import new_parser
from ircotlib.systems import System, all_systems

COLUMNS = ("system", "study", "source", "tuned", "stages")
SOURCE = re.compile(r"\(([^()]*(?:§|App|Table|Algorithm|\d{4}|released)[^()]*)\)")


def main(arguments: Sequence[str] | None = None) -> None:
    new_parser(__doc__, "ircotlib systems").parse_args(arguments)
    rows = [COLUMNS, *map(describe, all_systems().values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def describe(system: System) -> tuple[str, ...]:
    """A system's row, in the order of COLUMNS. Its source is the first one that the docstring of
    its program cites.
    """
    source = SOURCE.search(inspect.getdoc(system.program) or "")
    grid = {
        "distractors" if n == "m" else f"{system.module}_{n}": v for n, v in system.grid.items()
    }
    tuned = " ".join(f"{name}={','.join(map(str, values))}" for name, values in grid.items())
    cited = " ".join(source[1].split()) if source else "-"
    return system.name, system.study, cited, tuned or "-", ",".join(system.stages) or "-"
