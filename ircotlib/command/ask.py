"""Asks systems a question about the corpus, by default the laboratory's encyclopedia, and shows
every step and the answers.

ircotlib ask "Who founded the Foreign Quarry label?"
ircotlib ask "Who founded the Foreign Quarry label?" --system SearChain --system ReAct

`ircotlib systems` lists the systems. The notebook 05_laboratory browses the encyclopedia.
"""

import sys
from collections.abc import Sequence

from ircotlib.explore.ask import DEFAULT, ask
from ircotlib.files.extras import need
from ircotlib.files.options import add_profile, new_parser, parse_changes, refuse
from ircotlib.parameters import WITHOUT_WEIGHTS, read_parameters


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib ask")
    parser.add_argument("question", nargs="?", help="in quotes")
    system = f"ask this system (default: {', '.join(DEFAULT)}); may be repeated"
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help=system)
    add_profile(parser)
    options, others = parser.parse_known_args(arguments)
    if others or options.question is None:
        dash = "put -- before a question that begins with a dash"
        refuse(f"found {' '.join(others) or 'nothing'}, expected one question in quotes; {dash}")
    p = read_parameters(options.profile, parse_changes(options.set))
    if not p.server and p.model not in WITHOUT_WEIGHTS:
        need("torch", "local")
    told = {""}
    for answered in ask(p, options.question, options.system):
        if answered.unknown not in told:
            print(f"{answered.unknown}: what follows is a guess", file=sys.stderr, flush=True)
            told.add(answered.unknown)
        print(f"{answered}\n", flush=True)
