"""The log of results: a line for each state of the kept figures.

    python -m docs.site.log "what changed"

adds one, with the date of the commit that changed figures/ last: commit them first.
"""

import csv
import subprocess
import sys
from pathlib import Path

import pandas as pd

from ircotlib.files.paths import FIGURES, ROOT

LOG = Path(__file__).parents[1] / "log.csv"
TOP = """# Log

The main numbers whenever the kept figures were made anew: answers right, in percent, over the data
sets of the [head-to-head comparison](notebooks/13_head_to_head.ipynb) but ELI5; recall, over those
of IRCoT's Figure 3; and how many of each paper's claims hold.
"""


def read_main() -> dict[str, str]:
    """The main numbers of the kept figures."""
    means = pd.read_csv(FIGURES / "head_to_head_means.csv").query("retriever == 'BM25'")
    right = means.set_index("system")["mean"]
    recall = pd.read_csv(FIGURES / "ircot_fig03_recall.csv").query("profile == 'mini'")
    recall = recall.query("metric == 'recall' and model == @recall.model.iloc[0]")
    recall = recall.groupby("system")["mean"].mean()
    row = {"profile": means["profile"].iloc[0]}
    row |= {f"{name}, right": f"{right[name]:.1f}" for name in ("SearChain", "IRCoT QA")}
    row |= {f"{name}, recall": f"{recall[name]:.1f}" for name in ("IRCoT", "OneR")}
    for paper in ("IRCoT", "SearChain"):
        verdicts = pd.read_csv(FIGURES / f"{paper.lower()}_claims.csv")["verdict"]
        row[f"{paper}'s claims"] = f"{sum(verdicts == 'holds')} of {len(verdicts)}"
    return row


def log_as_markdown() -> str:
    """The whole page, the newest line first."""
    with LOG.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    lines = [head, ["---"] * len(head), *reversed(rows)]
    return TOP + "\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(f"found {len(sys.argv) - 1} arguments, expected what changed, in quotes")
    command = ["git", "log", "-1", "--format=%cs %h", "--", "figures"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    row = dict(zip(("date", "commit"), done.stdout.split(), strict=True)) | read_main()
    row["what changed"] = sys.argv[1]
    new = not LOG.exists()
    with LOG.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, row, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
