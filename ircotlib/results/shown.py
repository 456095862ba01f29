"""Tables as people read them: names as the papers print them, sensible digits, nothing empty."""

import re
from collections.abc import Sequence
from numbers import Number

import pandas as pd

from ircotlib.datasets import all_datasets

# What columns and measures are called, where that is not their name with spaces.
WORDS = {"dataset": "data set", "cover_em": "cover-EM", "em": "EM", "f1": "F1", "p_holm": "p (Holm)"}
WORDS |= {"rouge_l": "ROUGE-L", "low": "95% from", "high": "to", "n": "questions", "k": "K", "m": "M"}
NAMES = {"dataset", "demonstrations", "metric", "model", "reader"}  # columns that hold such words


def title_of(name: object) -> str:
    """A name as people write it: "2WikiMultihopQA", "MuSiQue, 2hop", "mini-xxl", "F1"."""
    name = str(name)
    titles = {key: record.title for key, record in all_datasets().items()} | WORDS
    dataset, _, kind = name.partition("_")
    if name not in titles and dataset in titles and kind:  # questions of one kind: musique_2hop
        return f"{titles[dataset]}, {kind.replace('_', ' ')}"
    # without the folder of a model, of which there may be two: "a/b against a/c"
    return titles.get(name) or re.sub(r"\S{2,}/(?=\S)", "", name).replace("_", " ")


def spread(
    table: pd.DataFrame, rows: str | Sequence[str], column: str = "dataset", value: str = ""
) -> pd.DataFrame:
    """A long table made wide: a row for each value of `rows`, a column for each of `column`. A cell
    has the `value`; if none is named, the mean and its 95% interval, or ours, with its interval if
    there is one, and the paper's number in brackets.
    """
    rows = [rows] if isinstance(rows, str) else list(rows)
    cells = table[value] if value else [_cell(row) for row in table.to_dict("records")]
    wide = table.assign(cell=cells).fillna(dict.fromkeys(rows, ""))
    wide = wide.pivot_table("cell", rows, column, "first", sort=False)
    return wide.reindex(columns=list(dict.fromkeys(table[column])))


def _cell(row: dict) -> str:
    ours, low, high = (row.get(name) for name in ("ours" if "ours" in row else "mean", "low", "high"))
    text = "–" if pd.isna(ours) else f"{ours:.1f}"
    text += f" ({low:.1f} to {high:.1f})" if pd.notna(ours) and pd.notna(low) else ""
    return text if pd.isna(row.get("paper")) else f"{text} [{row['paper']:.1f}]"


def show_table(table: pd.DataFrame) -> None:
    """Show a table in a notebook, as texts (`as_texts`)."""
    from IPython.display import display

    texts = as_texts(table)
    first = list(texts)[: table.index.nlevels]  # of several parts, equal ones are shown once
    with pd.option_context("display.max_rows", 200, "display.max_colwidth", None):
        display(texts.set_index(first) if len(texts) else "nothing to show")


def as_texts(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of a table as texts, under the titles of its columns; its index comes first, unless
    it only numbers the rows. Columns without any value are left out.
    """
    if not isinstance(table.index, pd.RangeIndex):
        table = table.rename_axis(index=lambda name: name or "").reset_index()
    columns = {}
    for position, head in enumerate(table):
        head = head if isinstance(head, tuple) else (head,)
        texts = _texts(str(head[0]), table.iloc[:, position])
        if any(texts):
            columns[" · ".join(title_of(part) for part in head if part != "")] = texts
    return pd.DataFrame(columns)


def _texts(name: str, values: pd.Series) -> list[str]:
    numbers = pd.to_numeric(values, errors="coerce").abs()
    is_p = name == "p" or name.startswith("p_")
    whole = (numbers.dropna() % 1 == 0).all() or numbers.max() >= 1000
    digits = 3 if is_p else 0 if whole else 2 if numbers.max() <= 1 else 1
    texts = []
    for value in values:
        if isinstance(value, list | tuple | set):
            texts.append(", ".join(map(str, value)))
        elif pd.isna(value):
            texts.append("")
        elif pd.api.types.is_bool(value):
            texts.append("✓" if value else "")
        elif isinstance(value, Number):
            number = round(value, digits) + 0.0  # no -0.0
            texts.append("< 0.001" if is_p and value < 0.001 else f"{number:,.{digits}f}")
        else:
            texts.append(title_of(value) if name in NAMES else str(value))
    return texts
