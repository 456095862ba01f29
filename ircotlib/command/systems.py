"""Lists the systems: the paper whose study they are part of, what is tuned, the prompts' stages.

ircotlib systems
ircotlib systems | grep SearChain
"""

from collections.abc import Sequence

from ircotlib.command.options import new_parser
from ircotlib.systems import all_systems


def main(arguments: Sequence[str] | None = None) -> None:
    new_parser(__doc__, "ircotlib systems").parse_args(arguments)
    for system in all_systems().values():
        tuned = [f"{name}={','.join(map(str, v))}" for name, v in system.grid.items()]
        stages = ", ".join(system.stages)
        print(f"{system.name:<28} {system.study:<10} {' '.join(tuned):<28} {stages}".rstrip())
