"""Tables as Markdown, LaTeX and CSV files."""

import re
from collections.abc import Callable

import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.files.paths import figure_path, write_whole
from ircotlib.files.tables import write_table
from ircotlib.parameters import Parameters
from ircotlib.results.latex import as_latex


def save_table(
    table: pd.DataFrame,
    name: str,
    caption: str,
    p: Parameters | None = None,
    write: Callable[[pd.DataFrame], str] | None = None,
) -> None:
    """Write NAME.csv, and NAME.md and NAME.tex with a caption; `figure_path` says where. `write`:
    renders the table as Markdown; None: `as_markdown`.
    """
    made_with = (p.profile, p.trial) if p else ()
    write_table(figure_path(f"{name}.csv", *made_with), table)
    text = (write or as_markdown)(table)
    write_whole(figure_path(f"{name}.md", *made_with), f"{caption}\n\n{text}\n")
    label = name.replace("_", "-")
    write_whole(figure_path(f"{name}.tex", *made_with), as_latex(text, caption, label))


def as_markdown(table: pd.DataFrame) -> str:
    """Render a table in GitHub's Markdown: data sets with the names that the papers print, models
    without their folders, and all numbers of a column with the same number of decimals; a p that
    would be 0.0000 as "< 0.0001".
    """
    cells = {str(name): _cells(str(name), table[name]) for name in table}
    rows = [cells, ["---"] * len(cells), *zip(*cells.values(), strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(name: str, column: pd.Series) -> list[str]:
    if pd.api.types.is_float_dtype(column):
        decimals = [f"{x:.4f}".rstrip("0").partition(".")[2] for x in column.dropna()]
        digits = max(map(len, decimals), default=0)
        if name == "p" or name.startswith("p_"):
            cells = ["" if pd.isna(p) else f"{p:.4f}" for p in column]
            return ["< 0.0001" if cell == "0.0000" else cell for cell in cells]
        return ["" if pd.isna(value) else f"{value:.{digits}f}" for value in column]
    texts = ["" if pd.isna(value) else str(value) for value in column]
    if name in ("dataset", "demonstrations"):
        titles = _titles()
        texts = [titles.get(text, text) for text in texts]
    if name == "model":  # or two: "folder/a against folder/b"
        texts = [re.sub(r"[^ ]*/", "", text) for text in texts]
    return ["<br>".join(text.replace("|", "\\|").splitlines()) for text in texts]


def _titles() -> dict[str, str]:
    return {name: record.title for name, record in all_datasets().items()}


def as_wide_markdown(table: pd.DataFrame) -> str:
    """Render a table as Markdown, a row per system, a column per data set: ours (the paper's)."""
    cells = []
    for ours, paper in zip(table["ours"], table["paper"], strict=True):
        cell = "–" if pd.isna(ours) else f"{ours:.4g}"
        cells.append(cell if pd.isna(paper) else f"{cell} ({paper:.4g})")
    wide = table.assign(cell=cells).pivot_table("cell", "system", "dataset", "first", sort=False)
    wide = wide[list(dict.fromkeys(table["dataset"]))].fillna("").rename(columns=_titles())
    return as_markdown(wide.reset_index().rename_axis(columns=None))
