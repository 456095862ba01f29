"""Tables as people read them: names as the papers print them, sensible digits, nothing
empty.
"""

import re
from collections.abc import Sequence
from numbers import Number

import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.files import figure_path, write_table, writing
from ircotlib.parameters import Parameters

# what columns and measures are called, where that is not their name with spaces
WORDS = {
    "dataset": "data set",
    "cover_em": "cover-EM",
    "em": "EM",
    "f1": "F1",
    "k": "K",
    "m": "M",
}
WORDS |= {"rouge_l": "ROUGE-L", "low": "95% from", "high": "to", "n": "questions"}
WORDS |= {"p_holm": "p (Holm)"}
# columns that hold such words
NAMES = ("dataset", "demonstrations", "metric", "model", "reader")
SIGNS = {sign: f"\\{sign}" for sign in "&%$#_{}"}
SIGNS |= {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
SIGNS |= {
    "→": r"$\rightarrow$",
    "★": r"$\star$",
    "✓": r"$\checkmark$",
    "Ω": r"$\Omega$",
}
SIGNS |= {"≤": r"$\leq$", "≥": r"$\geq$", "±": r"$\pm$", "−": "$-$", "·": r"$\cdot$"}
SIGNS |= {"<": "$<$", ">": "$>$", "\n": r"\newline "}
PACKAGES = r"% needs \usepackage{booktabs,longtable,amssymb} and [T1]{fontenc}"
# letters, from which cells are wrapped; rows, from which a table may break
LONG, ROWS = 28, 45


def title_of(name: object) -> str:
    """A name as people write it: "2WikiMultihopQA", "MuSiQue, 2hop", "mini-xxl", "F1"."""
    name = str(name)
    titles = {key: record.title for key, record in all_datasets().items()} | WORDS
    dataset, _, kind = name.partition("_")
    # questions of one kind: musique_2hop
    if name not in titles and dataset in titles and kind:
        return f"{titles[dataset]}, {kind.replace('_', ' ')}"
    # without the folder of a model, of which there may be two: "a/b against a/c"
    return titles.get(name) or re.sub(r"\S{2,}/(?=\S)", "", name).replace("_", " ")


def spread(
    table: pd.DataFrame,
    rows: str | Sequence[str],
    column: str = "dataset",
    value: str = "",
) -> pd.DataFrame:
    """A long table made wide. A cell has the `value`; if none is named, the mean, or
    ours, with its 95% interval and the paper's number in brackets.
    """
    rows = [rows] if isinstance(rows, str) else list(rows)
    cells = table[value] if value else [_cell(row) for row in table.to_dict("records")]
    wide = table.assign(cell=cells).fillna(dict.fromkeys(rows, ""))
    wide = wide.pivot_table("cell", rows, column, "first", sort=False)
    return wide.reindex(columns=list(dict.fromkeys(table[column])))


def _cell(row: dict) -> str:
    ours = row["ours"] if "ours" in row else row["mean"]
    text = "–" if pd.isna(ours) else f"{ours:.1f}"
    if pd.notna(ours) and pd.notna(row.get("low")):
        text += f" ({row['low']:.1f} to {row['high']:.1f})"
    return text if pd.isna(row.get("paper")) else f"{text} [{row['paper']:.1f}]"


def show_table(table: pd.DataFrame) -> None:
    """Show a table in a notebook, as texts (`as_texts`)."""
    from IPython.display import display

    texts = as_texts(table)
    # of several parts, equal ones are shown once
    first = list(texts)[: table.index.nlevels]
    whole = {
        "display.max_rows": 200,
        "display.max_columns": 50,
        "display.max_colwidth": None,
    }
    with pd.option_context(whole | {"display.width": 200}):
        display(texts.set_index(first) if len(texts) else "nothing to show")


def as_texts(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of a table as texts, under the titles of its columns; its index comes
    first, unless it only numbers the rows. Columns without any value are left out.
    """
    if table.index.name or not pd.api.types.is_integer_dtype(table.index):
        table = table.rename_axis(index=lambda name: name or "").reset_index()
    columns = {}
    for position, head in enumerate(table):
        parts = head if isinstance(head, tuple) else (head,)
        values = table.iloc[:, position]
        numbers = pd.to_numeric(values, errors="coerce").abs()
        whole = (numbers.dropna() % 1 == 0).all() or numbers.max() >= 1000
        digits = 0 if whole else 2 if numbers.max() <= 1 else 1
        texts = [_text(str(parts[0]), value, digits) for value in values]
        if any(texts):
            columns[" · ".join(title_of(part) for part in parts if part != "")] = texts
    return pd.DataFrame(columns)


def _text(column: str, value: object, digits: int) -> str:
    if isinstance(value, list | tuple | set):
        return ", ".join(map(str, value))
    if pd.isna(value):
        return ""
    if pd.api.types.is_bool(value):
        return "✓" if value else ""
    if column == "p" or column.startswith("p_"):
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if isinstance(value, Number):
        return f"{round(value, digits) + 0.0:,.{digits}f}"  # no -0.0
    return title_of(value) if column in NAMES else str(value)


def save_table(table: pd.DataFrame, name: str, caption: str, p: Parameters) -> None:
    """Write NAME.csv, and NAME.md and NAME.tex with a caption; `figure_path` says
    where.
    """
    write_table(figure_path(f"{name}.csv", p.profile, p.trial), table)
    text = f"{caption}\n\n{as_markdown(table)}\n"
    for ending, content in (("md", text), ("tex", as_latex(table, caption, name))):
        with writing(figure_path(f"{name}.{ending}", p.profile, p.trial)) as new:
            new.write_text(content, encoding="utf-8")


def as_markdown(table: pd.DataFrame) -> str:
    """A table in GitHub's Markdown."""
    signs = str.maketrans({"|": r"\|", "*": r"\*", "\n": "<br>"})
    texts = as_texts(table).map(lambda text: text.translate(signs))
    rows = [list(texts), ["---"] * len(texts.columns), *texts.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def as_latex(table: pd.DataFrame, caption: str, name: str) -> str:
    """A table in LaTeX, with booktabs; one longer than a page may break between pages."""
    texts = as_texts(table)
    shape = ""
    for column in texts:
        longest, letters = texts[column].map(len).max(), "".join(texts[column])
        numbers = not any(map(str.isalpha, letters))
        wrapped = f"p{{{min(longest, 60) / 12:.1f}cm}}"
        shape += (
            wrapped if longest > LONG or "\n" in letters else "r" if numbers else "l"
        )
    head = {"caption": escape_latex(caption), "label": f"tab:{name.replace('_', '-')}"}
    head |= {"position": "t", "column_format": shape, "longtable": len(texts) > ROWS}
    escaped = texts.map(escape_latex).rename(columns=escape_latex)
    return f"{PACKAGES}\n{escaped.to_latex(index=False, escape=False, **head)}"


def escape_latex(text: str) -> str:
    """A text as LaTeX prints it, also one that begins with a bracket or a star."""
    return ("{}" if text[:1] in ("[", "*") else "") + text.translate(
        str.maketrans(SIGNS)
    )
