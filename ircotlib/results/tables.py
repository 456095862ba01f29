"""Tables as people read them: printed names, sensible digits, and nothing empty."""

import re
from collections.abc import Sequence

import pandas as pd

from ircotlib.datasets import all_datasets
from ircotlib.files import figure_path, write_table, writing
from ircotlib.parameters import Parameters
from ircotlib.systems import all_systems

# what columns and measures are called, where that is not their name with spaces
WORDS = {
    "dataset": "data set", "cover_em": "cover-EM", "em": "EM", "f1": "F1",
    "rouge_l": "ROUGE-L", "k": "K", "m": "M", "n": "questions",
    "low": "95% from", "high": "to", "p_holm": "p (Holm)",
    # of SearChain's tables
    "knowledge_of_llm": "knowledge of the model",
    "knowledge_corrected_by_ir": "corrected by retrieval",
    "knowledge_completed_by_ir": "completed by retrieval",
    "cover_em_where_ir_helps": "cover-EM where retrieval helps",
    "misled_by_ir": "misled by retrieval",
    "top1_where_llm_right": "answer in the top 1, model right",
    "top1_where_llm_wrong": "answer in the top 1, model wrong",
    "accuracy_where_llm_right": "accuracy, model right",
    "accuracy_where_llm_wrong": "accuracy, model wrong",
    "accuracy_where_parts_known": "accuracy, all parts known",
    "skc": "marked items (SKC)",
}  # fmt: skip
# columns whose cells hold such words, or names of data sets and models
NAMES = ("dataset", "demonstrations", "metric", "model", "reader")
MARKDOWN = str.maketrans({"|": r"\|", "*": r"\*", "\n": "<br>"})


def title_of(name: object) -> str:
    """A name as people write it: a measure's, a data set's, or one with spaces; that of
    a system as it stands.

    >>> [title_of(name) for name in ("f1", "musique_2hop", "words_in", "n_gram-model")]
    ['F1', 'MuSiQue, 2hop', 'words in', 'n gram-model']
    >>> title_of("data/models/a against data/models/b")
    'a against b'
    """
    name = str(name)
    datasets = {key: record.title for key, record in all_datasets().items()}
    if name in WORDS or name in datasets:
        return WORDS.get(name) or datasets[name]
    if name in all_systems():  # as it stands
        return name
    dataset, _, kind = name.partition("_")
    if dataset in datasets and kind:  # questions of one kind: musique_2hop
        return f"{datasets[dataset]}, {kind.replace('_', ' ')}"
    # a model is named without its folder; "w/o" is no folder
    return re.sub(r"\S{2,}/(?=\S)", "", name).replace("_", " ")


def pivot(
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
    # rows without a name are kept: a reader of none, for instance
    wide = table.assign(cell=cells).fillna(dict.fromkeys(rows, ""))
    wide = wide.pivot_table("cell", rows, column, "first", sort=False)
    return wide.reindex(columns=list(dict.fromkeys(table[column])))


def _cell(row: dict) -> str:
    ours = row["ours"] if "ours" in row else row["mean"]
    text = "–" if pd.isna(ours) else f"{ours:.1f}"
    if pd.notna(ours) and pd.notna(row.get("low")):
        text += f" ({row['low']:.1f} to {row['high']:.1f})"
    if pd.notna(row.get("paper")):
        text += f" [{row['paper']:.1f}]"
    return text


def show_table(table: pd.DataFrame) -> None:
    """Show a table in a notebook, as texts (`as_texts`)."""
    from IPython.display import display

    texts = as_texts(table)
    # of an index of several parts, equal ones are shown once
    index = list(texts)[: table.index.nlevels]
    sizes = {"max_rows": 200, "max_columns": 50, "max_colwidth": None, "width": 200}
    with pd.option_context({f"display.{name}": n for name, n in sizes.items()}):
        display(texts.set_index(index) if len(texts) else "nothing to show")


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
        digits = _digits(values)
        texts = [_text(str(parts[0]), value, digits) for value in values]
        if any(texts):
            columns[" · ".join(title_of(part) for part in parts if part != "")] = texts
    return pd.DataFrame(columns)


def _digits(values: pd.Series) -> int:
    """Decimals of a column: none of whole or large numbers, two if none is above 1."""
    numbers = pd.to_numeric(values, errors="coerce").abs()
    if (numbers.dropna() % 1 == 0).all() or numbers.max() >= 1000:
        return 0
    return 2 if numbers.max() <= 1 else 1


def _text(column: str, value, digits: int) -> str:
    if isinstance(value, list | tuple | set):
        return ", ".join(map(str, value))
    if pd.isna(value):
        return ""
    if pd.api.types.is_bool(value):
        return "✓" if value else ""
    if column == "p" or column.startswith("p_"):
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if pd.api.types.is_number(value):
        return f"{round(value, digits) + 0.0:,.{digits}f}"  # no -0.0
    return title_of(value) if column in NAMES else str(value)


def save_table(table: pd.DataFrame, name: str, caption: str, p: Parameters) -> None:
    """Write NAME.csv, and NAME.md with a caption (`figure_path`)."""
    write_table(figure_path(f"{name}.csv", p.profile, p.trial), table)
    texts = as_texts(table).map(lambda text: text.translate(MARKDOWN))
    rows = [list(texts), ["---"] * len(texts.columns), *texts.to_numpy().tolist()]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    with writing(figure_path(f"{name}.md", p.profile, p.trial)) as new:
        new.write_text(f"{caption}\n\n{lines}\n", encoding="utf-8")
