"""Tables as notebooks show them: names as people write them, sensible digits, nothing empty."""

import os
import re
import sys
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from numbers import Number

import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.files.extras import need

MOST = 15  # rows that are shown before "more"
DASH = "–"
# What columns and measures are called, where that is not their name with spaces.
WORDS = {"dataset": "data set", "cover_em": "cover-EM", "em": "EM", "f1": "F1"}
WORDS |= {"rouge_l": "ROUGE-L", "low": "95% from", "high": "to"}
WORDS |= {"p_holm": "p (Holm)", "p_section": "p (section)", "detectable": "could be found"}
WORDS |= {"k": "K", "m": "M", "cot": "CoT", "skc": "SKC", "amp": "AMP", "on_front": "on the front"}
WORDS |= {"n": "questions", "calls": "generations", "unspecified": "not stated"}
WORDS |= {"tokens_in": "prompt tokens", "tokens_out": "output tokens"}
WORDS |= {"knowledge_of_llm": "the model's own", "misled_by_ir": "misled by retrieval"}
WORDS |= {"knowledge_corrected_by_ir": "corrected by retrieval"}
WORDS |= {"knowledge_completed_by_ir": "completed by retrieval"}
WORDS |= {"cover_em_where_ir_helps": "cover-EM where retrieval helps"}
WORDS |= {"without_ir": "without retrieval", "demonstrations_shown": "demonstrations shown"}
WORDS |= {"without_ir_where_ir_helps": "without retrieval, where it helps"}
WORDS |= {"with_ir_where_ir_helps": "with retrieval, where it helps"}
WORDS |= {"accuracy_where_llm_right": "accuracy, model right alone"}
WORDS |= {"accuracy_where_llm_wrong": "accuracy, model wrong alone"}
WORDS |= {"top1_where_llm_right": "best passage has the answer, model right alone"}
WORDS |= {"top1_where_llm_wrong": "best passage has the answer, model wrong alone"}
WORDS |= {"accuracy_where_parts_known": "accuracy, all parts known"}
NAMES = {"dataset", "demonstrations", "metric", "model", "reader"}  # columns that hold such words


def title_of(name: object) -> str:
    """A name as people write it: "2WikiMultihopQA", "MuSiQue, 2hop", "mini-xxl", "F1"."""
    name = str(name)
    titles = {key: record.title for key, record in all_datasets().items()} | WORDS
    dataset, _, kind = name.partition("_")
    if name in titles:
        return titles[name]
    if dataset in titles and kind:  # the questions of one kind: musique_2hop
        return f"{titles[dataset]}, {kind.replace('_', ' ')}"
    # without the folder of a model, of which there may be two: "a/b against a/c"
    return re.sub(r"\S{2,}/(?=\S)", "", name).replace("_", " ")


def spread(
    table: pd.DataFrame,
    rows: str | Sequence[str],
    column: str = "dataset",
    value: str = "",
    papers: bool = False,
) -> pd.DataFrame:
    """A long table made wide: a row for each value of `rows`, a column for each of `column`. A cell
    has the `value`; if none is named, the mean and its 95% interval, or ours, with its interval if
    there is one, and the paper's number in brackets. Rows and columns with no number of ours are
    left out, and a line says which; `papers`: unless the paper has one.
    """
    rows = [rows] if isinstance(rows, str) else list(rows)
    values = table[value or ("ours" if "ours" in table else "mean")]
    has_value = values.notna() | (papers and table["paper"].notna())
    for keys in (rows, [column]):
        measured = has_value.groupby([table[key] for key in keys], dropna=False).transform("any")
        missing = table.loc[~measured, keys].drop_duplicates().to_numpy().tolist()
        if missing and not value:
            names = [" ".join(title_of(part) for part in row if pd.notna(part)) for row in missing]
            print(f"Not measured here: {', '.join(names)}.")
        table, has_value = table[measured], has_value[measured]
    cells = _texts(value, table[value]) if value else map(_cell, table.to_dict("records"))
    keyed = table.assign(cell=list(cells)).fillna(dict.fromkeys(rows, ""))
    wide = keyed.pivot_table("cell", rows, column, "first", sort=False)
    return wide[list(dict.fromkeys(keyed[column]))] if len(wide) else wide


def _cell(row: dict) -> str:
    if "ours" in row:
        ours, paper, low, high = (_digits(row.get(n)) for n in ("ours", "paper", "low", "high"))
        ours += f" [{low} to {high}]" if low else ""
        return f"{ours or DASH} ({paper})" if paper else ours
    return f"{row['mean']:.1f} ({row['low']:.1f} to {row['high']:.1f})"


def _digits(number: float) -> str:
    """About three digits: 401, 84.0, 2.31."""
    if pd.isna(number):
        return ""
    decimals = 0 if abs(number) >= 100 or not number else 1 if abs(number) >= 3 else 2
    return f"{number:.{decimals}f}"


def show_table(table: pd.DataFrame) -> None:
    """Show a table: data sets, models and measures by their titles, p below 0.001 as such, nothing
    where there is no value, no row numbers. Rows after the first MOST unfold with a click.
    """
    if not len(table):
        print("nothing to show")
        return
    texts = as_texts(table)
    html = _as_html(texts[:MOST])
    rest = texts[MOST:]
    if len(rest):
        html += f"<details><summary>{len(rest)} more</summary>{_as_html(rest)}</details>"
    plain = texts[:MOST].to_string(index=False) + (f"\n… {len(rest)} more" if len(rest) else "")
    ipython = sys.modules.get("IPython")  # as in every notebook
    if ipython and ipython.get_ipython():
        ipython.display.display({"text/html": html, "text/plain": plain}, raw=True)
    else:
        print(plain)


def show_sorted(table: pd.DataFrame) -> None:
    """Show a long table that can be sorted and searched; in a batch run its first rows only."""
    if os.environ.get("IRCOT_BATCH"):
        show_table(table[:MOST])
        if len(table) > MOST:
            print("… and more, which JupyterLab sorts and searches")
        return
    need("itables", "lab")
    from IPython.display import display
    from itables.widget import ITable  # all of it is in the package: no network

    lengths = {"pageLength": MOST, "lengthMenu": [MOST, 50, 100]}
    display(ITable(as_texts(table), showIndex=False, paging=True, **lengths))


def as_texts(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of a table as texts, under the titles of its columns; its index comes first, if it
    says more than the row's number, and of several parts the first is not repeated. Columns
    without any value are left out.
    """
    parts = table.index.nlevels
    if parts > 1 or table.index.name or not pd.api.types.is_integer_dtype(table.index):
        table = table.rename_axis(index=lambda name: name or "").reset_index()
    heads = [key if isinstance(key, tuple) else (key,) for key in table]
    columns = {}
    for position, head in enumerate(heads):
        values = table.iloc[:, position]
        if not values.isna().all() and not (values == "").all():
            title = " · ".join(title_of(part) for part in head if part != "")
            columns[title] = _texts(str(head[0]), values)
    if parts > 1:
        first = next(iter(columns.values()))
        first[1:] = ["" if a == b else b for a, b in pairwise(first)]
    return pd.DataFrame(columns)


def _texts(name: str, values: pd.Series) -> list[str]:
    numbers = pd.to_numeric(values, errors="coerce").abs()
    whole = (numbers.dropna() % 1 == 0).all() or numbers.max() >= 1000
    is_p = name == "p" or name.startswith("p_")
    digits = 3 if is_p else 0 if whole else 2 if numbers.max() <= 1 else 1
    texts = []
    for value in values:
        if isinstance(value, list | tuple | set):
            texts.append(", ".join(map(str, value)))
        elif pd.isna(value):
            texts.append("")
        elif isinstance(value, bool) or pd.api.types.is_bool(value):
            texts.append("✓" if value else "")
        elif isinstance(value, Number):
            number = round(value, digits) + 0.0  # no -0.0
            texts.append("< 0.001" if is_p and value < 0.001 else f"{number:,.{digits}f}")
        elif name == "comparison":  # such as "steps: musique_3hop > musique_2hop"
            texts.append(re.sub(r"\w+_\w+", lambda word: title_of(word[0]), value))
        else:
            texts.append(title_of(value) if name in NAMES else str(value))
    return texts


def _as_html(texts: pd.DataFrame) -> str:
    """Numbers to the right, as notebooks have it by themselves, and words to the left."""
    left = [any(re.search(r"[^\W\d]{3}|^[^\W\d]", text) for text in texts[name]) for name in texts]

    def row(tag: str, cells: Sequence[str]) -> str:
        style = ' style="text-align:left"'
        parts = [
            f"<{tag}{style if words else ''}>{escape(text)}</{tag}>"
            for words, text in zip(left, cells, strict=True)
        ]
        return f"<tr>{''.join(parts)}</tr>"

    body = "\n".join(row("td", cells) for cells in texts.itertuples(index=False))
    return f"<table>\n<thead>{row('th', list(texts))}</thead>\n<tbody>\n{body}\n</tbody></table>"
