"""Commands that show: the systems, a question's answers and steps, runs as a page."""

from collections.abc import Sequence
from pathlib import Path

from ircotlib.errors import UserError
from ircotlib.options import add_profile, new_parser, read_changed
from ircotlib.parameters import list_parameters


def systems(arguments: Sequence[str] | None = None) -> None:
    """Lists the systems: who compares them, parameters to tune, stages of prompts, and
    their papers. Last are IRCoT as others run it, and newer methods.

    ircotlib systems | grep SearChain
    """
    from ircotlib.systems import all_systems

    new_parser(systems.__doc__, "ircotlib systems").parse_args(arguments)
    for system in all_systems().values():
        grid = [f"{name}={','.join(map(str, v))}" for name, v in system.grid.items()]
        line = f"{system.name:<28} {system.study:<13} {' '.join(grid):<28} "
        print(f"{line}{', '.join(system.stages):<8} {system.paper}".rstrip())


def parameters(arguments: Sequence[str] | None = None) -> None:
    """Lists the parameters: name, values, default, and what each is for.

    ircotlib parameters | grep retriever
    """
    new_parser(parameters.__doc__, "ircotlib parameters").parse_args(arguments)
    print(list_parameters())


def ask(arguments: Sequence[str] | None = None) -> None:
    """Asks systems a question about the corpus, by default the laboratory's
    encyclopedia, and shows every step and the answers.

    ircotlib ask "Who founded the Foreign Quarry label?" --system SearChain
    """
    from ircotlib.explore import ask as asking

    parser = new_parser(ask.__doc__, "ircotlib ask")
    parser.add_argument("question", help="in quotes")
    system = f"ask this system (default: {', '.join(asking.DEFAULT)}); may be repeated"
    parser.add_argument("--system", action="append", default=[], help=system)
    add_profile(parser)
    options = parser.parse_args(arguments)
    for answered in asking.ask(read_changed(options), options.question, options.system):
        print(f"{answered}\n", flush=True)


def report(arguments: Sequence[str] | None = None) -> None:
    """Puts runs on one page to share, which works offline: results, costs, and each
    question with its steps and prompts.

    ircotlib report data/runs/mini/11_head_to_head-* head_to_head.html
    """
    from ircotlib.explore.report import write_report

    parser = new_parser(report.__doc__, "ircotlib report")
    runs = "folders of one run or several; only runs on test questions count"
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help=runs)
    parser.add_argument("out", type=Path, metavar="OUT.html", help="the page to write")
    options = parser.parse_args(arguments)
    out = options.out
    if out.suffix != ".html":
        raise UserError(f"found {out}, expected the page's name, which ends in .html")
    count = write_report(options.runs, out)
    print(f"{out}: {count} runs, {out.stat().st_size:,} bytes")
