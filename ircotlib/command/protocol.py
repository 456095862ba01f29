"""Says of a run what a paper must say so that its numbers can be compared: a table in Markdown, for
an appendix. Of two runs, only what differs.

ircotlib protocol "data/runs/mini/04_ircot-…/musique/test/IRCoT-QA k=2 m=2 demonstration_set=0"
ircotlib protocol RUN OTHER_RUN           what differs, and how many lines are the same
ircotlib protocol RUN --index             corpus and retriever alone
ircotlib protocol RUN --out FOLDER        also as CSV and Markdown
"""

from collections.abc import Sequence
from pathlib import Path

from ircotlib.errors import UserError
from ircotlib.files.options import new_parser, read_folder
from ircotlib.files.paths import check_writable, write_whole
from ircotlib.files.tables import write_table
from ircotlib.results.markdown import as_markdown
from ircotlib.results.protocol.sheet import INDEX, describe_protocol


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib protocol")
    runs = "the folder of a finished run, with its run.json; two: what differs"
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help=runs)
    parser.add_argument("--index", action="store_true", help="corpus and retriever alone")
    out = "gets protocol.csv and protocol.md"
    parser.add_argument("--out", type=read_folder, metavar="FOLDER", help=out)
    options = parser.parse_args(arguments)
    if lost := [path for path in options.runs if not path.is_dir()]:
        raise UserError(f"{lost[0]}: found no folder, expected that of a run, as in data/runs")
    sheet = describe_protocol(*options.runs)
    if options.index:
        sheet = sheet[sheet["part"] == INDEX]
    text = ""
    if "b" in sheet:
        differs = sheet["a"] != sheet["b"]
        a, b = ("/".join(path.resolve().parts[-4:]) for path in options.runs)
        same = f"{len(sheet) - differs.sum()} of {len(sheet)} lines are the same"
        text = f"a: {a}; b: {b}; {same}.\n\n"
        sheet = sheet[differs]
    shown = sheet.assign(part=sheet["part"].mask(sheet["part"].duplicated(), ""))
    text += f"{as_markdown(shown)}\n"
    print(text, end="")
    if options.out:
        check_writable(options.out)
        write_table(options.out / "protocol.csv", sheet)
        write_whole(options.out / "protocol.md", text)
