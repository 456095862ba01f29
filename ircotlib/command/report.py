"""Writes runs into one page to hand on, which works from disk: results, costs, and each question
with its steps and prompts.

ircotlib report data/runs/mini/11_head_to_head-* head_to_head.html
"""

from collections.abc import Sequence
from pathlib import Path

from ircotlib.command.options import new_parser
from ircotlib.errors import UserError
from ircotlib.explore.report import write_report


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib report")
    runs = "folders of runs, or folders that hold some, of which those on test questions count"
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help=runs)
    parser.add_argument("out", type=Path, metavar="OUT.html", help="the page to write")
    options = parser.parse_args(arguments)
    if options.out.suffix != ".html":
        raise UserError(f"found {options.out}, expected the page's name, which ends in .html")
    count = write_report(options.runs, options.out)
    print(f"{options.out}: {count} runs, {options.out.stat().st_size:,} bytes")
