"""Says which of several systems is better on the same questions, and how sure that is.

ircotlib compare data/runs/imported                         runs, imported or played here
ircotlib compare lm_eval/model_a lm_eval/model_b            lm-eval's samples_*.jsonl
ircotlib compare a.json b.json mine.jsonl --metric match    Inspect's logs, JSON lines
ircotlib compare data/runs/quick --out COMPARED             also as CSV and Markdown
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ircotlib.errors import UserError
from ircotlib.files.options import new_parser, read_folder, read_number
from ircotlib.files.paths import check_writable, write_whole
from ircotlib.files.tables import write_table
from ircotlib.results.markdown import as_markdown
from ircotlib.results.paired import UNDECIDED, compare_scores, list_flipped
from ircotlib.results.scored import read_scored
from ircotlib.results.shown import title_of

SHOWN = 10


def say_decided(table: pd.DataFrame) -> str:
    """What a table of comparisons says, in a line."""
    decided = int((table["verdict"] != UNDECIDED).sum())
    pairs = f"{len(table)} pair{'s' * (len(table) > 1)}"
    return f"{decided} of {pairs} decided, by the exact paired test, p < 0.05 corrected (Holm)."


def main(arguments: Sequence[str] | None = None) -> None:
    parser = new_parser(__doc__, "ircotlib compare")
    what = "folders of runs, lm-eval's samples, Inspect's logs in JSON, JSON lines of id and score"
    parser.add_argument("sources", nargs="+", type=Path, help=what)
    parser.add_argument("--metric", default="", help="em, say; without it each one's first")
    shown = f"how many flipped questions to print; without it {SHOWN}"
    parser.add_argument("--flipped", type=read_number, default=SHOWN, metavar="N", help=shown)
    out = "gets compared.csv, compared.md and flipped.csv"
    parser.add_argument("--out", type=read_folder, metavar="FOLDER", help=out)
    options = parser.parse_args(arguments)
    if lost := [path for path in options.sources if not path.exists()]:
        raise UserError(f"{lost[0]}: found nothing, expected a folder or a file of scores")
    scored = read_scored(options.sources, options.metric)
    table, flipped = compare_scores(*scored), list_flipped(*scored)
    if options.flipped:
        print(f"{len(flipped)} flipped questions" + ", such as:" * bool(len(flipped)))
    for row in flipped.head(options.flipped).to_dict("records"):
        better, worse = ("a", "b") if row["outcome"] == "win" else ("b", "a")
        said = " ".join(str(row["question"] or row["id"]).split())
        sides = (f"{row[s]} {row[f'score_{s}']:.4g}" for s in (better, worse))
        answers = [" ".join(str(row[f"answer_{s}"]).split()) for s in (better, worse)]
        told = [f"{side} “{text:.40}”" if text else side for side, text in zip(sides, answers)]
        print(f"- {said:.90}: {', '.join(told)}")
    wide = table.drop(columns=[c for c in ("dataset", "unshared") if not table[c].any()])
    text = f"{say_decided(table)}\n\n{as_markdown(wide.rename(columns=name_column))}\n"
    print(f"\n{text}", end="")
    if options.out:
        check_writable(options.out)
        write_table(options.out / "compared.csv", table)
        write_table(options.out / "flipped.csv", flipped)
        write_whole(options.out / "compared.md", text)
        print(f"\n{options.out}: compared.csv, compared.md, flipped.csv")


def name_column(name: str) -> str:
    """The heading of a column; p stays as it is, for its digits."""
    return name if name.startswith("p") or name == "dataset" else title_of(name)
