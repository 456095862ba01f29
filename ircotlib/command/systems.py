"""Lists the systems: the study they are part of, where they are described, the parameters that are
tuned with their values, and the stages that have prompts.

ircotlib systems
ircotlib systems | grep SearChain
"""

import inspect
import re
from collections.abc import Sequence

from ircotlib.files.options import new_parser
from ircotlib.systems import System, all_systems

SOURCE = re.compile(r"\(([^()]*(?:§|App|Table|Algorithm|\d{4}|released)[^()]*)\)")


def main(arguments: Sequence[str] | None = None) -> None:
    new_parser(__doc__, "ircotlib systems").parse_args(arguments)
    rows = [("system", "study", "source", "tuned", "stages")]
    rows += map(describe, all_systems().values())
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def describe(system: System) -> tuple[str, ...]:
    """A system's row, with the first source its docstring cites."""
    source = SOURCE.search(inspect.getdoc(system.program) or "")
    tuned = []
    for name, values in system.grid.items():
        parameter = "distractors" if name == "m" else f"{system.module}_{name}"
        tuned.append(f"{parameter}={','.join(map(str, values))}")
    cited = " ".join(source[1].split()) if source else "-"
    return (
        system.name,
        system.study,
        cited,
        " ".join(tuned) or "-",
        ",".join(system.stages) or "-",
    )
