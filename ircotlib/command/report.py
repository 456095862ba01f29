"""Writes runs into one page to hand on, which works from disk: results, claims, costs, and each
question with its steps and prompts.

ircotlib report data/runs/mini/13_head_to_head-* head_to_head.html
"""

from collections.abc import Sequence
from pathlib import Path

from ircotlib.explore.report import write_report
from ircotlib.explore.summary import BEGINS
from ircotlib.files.options import new_parser, refuse


def is_report(path: Path) -> bool:
    """Whether a file begins as a report does."""
    with path.open("rb") as file:
        return file.read(len(BEGINS)) == BEGINS.encode()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib report")
    runs = "folders of runs, or folders that hold some, of which those on test questions count"
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help=runs)
    parser.add_argument("out", type=Path, metavar="OUT.html", help="the page to write")
    options = parser.parse_args(arguments)
    if options.out.exists() and not (options.out.is_file() and is_report(options.out)):
        refuse(f"{options.out}: found something else than a report, expected a new name, or one")
    count = write_report(options.runs, options.out)
    print(f"{options.out}: {count} runs, {options.out.stat().st_size:,} bytes")
