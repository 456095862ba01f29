"""Asks systems a question about the corpus, by default the laboratory's encyclopedia, and shows
every step and the answers.

ircotlib ask "Who founded the Foreign Quarry label?"
ircotlib ask "Who founded the Foreign Quarry label?" --system SearChain --system ReAct
"""

from collections.abc import Sequence

from ircotlib.command.options import add_profile, new_parser, parse_changes
from ircotlib.explore.ask import DEFAULT, ask
from ircotlib.parameters import read_parameters


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib ask")
    parser.add_argument("question", help="in quotes")
    system = f"ask this system (default: {', '.join(DEFAULT)}); may be repeated"
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help=system)
    add_profile(parser)
    options = parser.parse_args(arguments)
    p = read_parameters(options.profile, parse_changes(options.set))
    for answered in ask(p, options.question, options.system):
        print(f"{answered}\n", flush=True)
