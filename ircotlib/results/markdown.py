"""Tables as files: CSV, Markdown and LaTeX."""

import pandas as pd

from ircotlib.files import figure_path, write_table, writing
from ircotlib.parameters import Parameters
from ircotlib.results.shown import as_texts

SIGNS = {sign: f"\\{sign}" for sign in "&%$#_{}"}
SIGNS |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SIGNS |= {"→": r"$\rightarrow$", "★": r"$\star$", "✓": r"$\checkmark$", "Ω": r"$\Omega$"}
SIGNS |= {"≤": r"$\leq$", "≥": r"$\geq$", "±": r"$\pm$", "−": "$-$", "·": r"$\cdot$"}
SIGNS |= {"<": "$<$", ">": "$>$", "\n": r"\newline "}
PACKAGES = r"% needs \usepackage{booktabs,longtable,amssymb} and [T1]{fontenc}"
LONG, ROWS = 28, 45  # letters, from which cells are wrapped; rows, from which a table may break


def save_table(table: pd.DataFrame, name: str, caption: str, p: Parameters | None = None) -> None:
    """Write NAME.csv, and NAME.md and NAME.tex with a caption; `figure_path` says where."""
    made_with = (p.profile, p.trial) if p else ()
    write_table(figure_path(f"{name}.csv", *made_with), table)
    text = f"{caption}\n\n{as_markdown(table)}\n"
    for ending, content in (("md", text), ("tex", as_latex(table, caption, name))):
        with writing(figure_path(f"{name}.{ending}", *made_with)) as new:
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
        shape += wrapped if longest > LONG or "\n" in letters else "r" if numbers else "l"
    head = {"caption": escape_latex(caption), "label": f"tab:{name.replace('_', '-')}"}
    head |= {"position": "t", "column_format": shape, "longtable": len(texts) > ROWS}
    escaped = texts.map(escape_latex).rename(columns=escape_latex)
    return f"{PACKAGES}\n{escaped.to_latex(index=False, escape=False, **head)}"


def escape_latex(text: str) -> str:
    """A text as LaTeX prints it: also a row that begins with a bracket or a star, which the end of
    the row before it would take for its own.
    """
    return ("{}" if text[:1] in ("[", "*") else "") + text.translate(str.maketrans(SIGNS))
