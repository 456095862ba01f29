"""The page "Reproduce": the papers' numbers and ours, for each table a matrix of systems and data
sets.
"""

import re
from html import escape

import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.files.notebooks import about_notebook, all_notebooks
from ircotlib.files.paths import FIGURES

TABLES = [("IRCoT", f"ircot_table{n}") for n in (1, 3, 4, 6)]
TABLES += [("SearChain", f"searchain_table{n}") for n in range(1, 12)]
OK, NEAR, OFF, ABSENT = VERDICTS = "OK", "near", "off", "–"
PERCENT = {"f1", "em", "cover_em", "rouge_l"}  # means over questions, in percent
SHARES = 0.1, 0.25  # of the paper's number: at most this is OK, or near, where it is no such mean
TOP = """# Reproduce

Each number of the papers' tables, with ours from the kept figures: `paper → here`. Open a cell for
its command. The papers' numbers are of their models on real text. Ours are of the profile `mini`,
small models in the laboratory, and need not agree. What should agree is which system is better, and
that is judged claim by claim ([IRCoT](figures/ircot_claims.md),
[SearChain](figures/searchain_claims.md)). With `--profile paper` the data are those of the papers,
and so are IRCoT's Flan-T5s; this was not run here. SearChain's model can no longer be had, and
its baselines' prompts were never published: [what is theirs and what ours](docs/constants.md).

<span class="ok">OK</span> ours differs by no more than chance explains in n questions (half of a
95% interval, from n and our mean); <span class="near">near</span> by no more than twice that;
<span class="off">off</span> by more. What is no mean over questions, such as a number of words, is
OK within 10% of the paper's, and near within 25%. –: not measured here.
"""


def read_cells(table: str) -> pd.DataFrame:
    """A kept table, one row for each number: dataset, system, metric, paper, ours, n."""
    cells = pd.read_csv(FIGURES / f"{table}.csv")
    if "paper F1" in cells:
        parts = [
            cells.assign(metric=metric.lower(), paper=cells[f"paper {metric}"], ours=ours)
            for metric in ("EM", "F1")
            for ours in [cells[f"ours {metric}"]]
        ]
        cells = pd.concat(parts)
        kind = cells["questions"].where(cells["questions"] != "all", "")
        cells["dataset"] = (cells["dataset"] + " " + kind).str.strip()
    cells = cells.assign(metric=cells.get("metric", "f1"))
    for column in ("reader", "model"):
        if column in cells and cells[column].nunique() > 1:
            added = cells[column].where(cells[column].notna(), "")
            cells["system"] += added.map(lambda text: text and f", {text}")
    return cells[cells["paper"].notna()][["dataset", "system", "metric", "paper", "ours", "n"]]


def judge(metric: str, paper: float, ours: float, n: float) -> str:
    """How far our number is from the paper's, by the rule that TOP states."""
    if pd.isna(ours):
        return ABSENT
    ok, near = (share * abs(paper) for share in SHARES)
    if metric in PERCENT and n > 0:
        share = min(max(ours / 100, 0.5 / n), 1 - 0.5 / n)  # 0 and 100% are not certain either
        ok = 196 * (share * (1 - share) / n) ** 0.5
        near = 2 * ok
    difference = round(abs(ours - paper), 9)
    return OK if difference <= ok else NEAR if difference <= near else OFF


def judge_tables() -> dict[tuple[str, str], pd.DataFrame]:
    """The cells of each table, by paper and name, with a column `verdict`."""
    judged = {}
    for paper, table in TABLES:
        cells = read_cells(table)
        rows = cells[["metric", "paper", "ours", "n"]].itertuples(index=False)
        judged[paper, table] = cells.assign(verdict=[judge(*row) for row in rows])
    return judged


def command_of(table: str) -> str:
    """The command that makes a table, and the runs that it reads."""
    [maker] = [name for name in all_notebooks() if f"{table}.csv" in about_notebook(name).makes]
    names = [*about_notebook(maker).runs, maker]
    return "ircotlib figures " + " ".join(f"--only {name}" for name in names)


def as_matrix(cells: pd.DataFrame, command: str) -> str:
    """Systems × data sets, or metrics if there is one data set, as HTML."""
    titles = {name: dataset.title for name, dataset in all_datasets().items()}
    across, several = "dataset", cells.groupby("dataset")["metric"].nunique().max() > 1
    if several and cells["dataset"].nunique() == 1:
        across = "metric"
    elif several:
        cells = cells.assign(system=cells["system"] + ", " + cells["metric"].str.replace("_", " "))
    columns = list(dict.fromkeys(cells[across]))
    lines = ['<table class="docutils">', "<tr><th></th>"]
    for name in columns:
        first, _, rest = name.replace("_", " ").replace("unspecified", "").partition(" ")
        lines.append(f"<th>{escape(f'{titles.get(first, first)} {rest}'.strip())}</th>")
    lines.append("</tr>")
    for system, rows in cells.groupby("system", sort=False):
        of = {getattr(cell, across): cell for cell in rows.itertuples()}
        lines.append(f"<tr><th>{escape(system)}</th>")
        lines += [as_cell(of[name], command) if name in of else "<td></td>" for name in columns]
        lines.append("</tr>")
    return "\n".join([*lines, "</table>"])


def as_cell(cell: tuple, command: str) -> str:
    ours = "" if pd.isna(cell.ours) else f" → {cell.ours:.4g}"
    shown = f'<span class="{cell.verdict.lower()}">{cell.verdict}</span>'
    shown = f"<summary>{cell.paper:.4g}{ours} {shown}</summary><code>{command}</code>"
    return f'<td class="cell"><details>{shown}</details></td>'


def reproduce_as_markdown() -> str:
    """The whole page."""
    judged = judge_tables()
    lines = ["| | " + " | ".join(VERDICTS) + " | command |", "|---" * 6 + "|"]
    parts = []
    for (paper, table), cells in judged.items():
        counts = cells["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
        title = f"{paper}, Table {table.partition('_table')[2]}"
        address, command = re.sub(r"\W+", "-", title.lower()), command_of(table)
        numbers = " | ".join(map(str, counts))
        lines.append(f"| [{title}](#{address}) | {numbers} | `{command}` |")
        parts += [f"## {title}\n", as_matrix(cells, command), ""]
    return "\n".join([TOP, *lines, "", *parts])
