"""Tables of Markdown as LaTeX, with booktabs."""

import html
import re
from collections.abc import Sequence

SIGNS = {sign: f"\\{sign}" for sign in "&%$#_{}"}
SIGNS |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SIGNS |= {"→": r"$\rightarrow$", "★": r"$\star$", "≥": r"$\geq$", "·": r"$\cdot$"}
SIGNS |= {"<": "$<$", ">": "$>$", "−": "$-$"}
LONG = 28  # characters; longer cells are wrapped, as wide as half as many
ROWS = 45  # that fit on a page
# a table that is wider than its page is made smaller
FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def as_latex(markdown: str, caption: str, label: str) -> str:
    """Each table of a Markdown text, with the caption, and the heading above it, if there is one.
    Columns without a value are left out; a table longer than a page is a `longtable`. The packages
    that it takes are named in its first line.
    """
    parts = ["% needs \\usepackage{booktabs}, graphicx, longtable, array, and [T1]{fontenc}"]
    heading, rows = "", []
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            text = f"{caption} {heading}".strip()
            parts.append(_table(rows[0], rows[2:], text, label + f"-{len(parts)}" * bool(heading)))
            rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
    return "\n\n".join(parts) + "\n"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """One table. Numbers are set to the right, texts to the left."""
    columns = [column for column in zip(names, *rows, strict=True) if any(column[1:]) or not rows]
    shape = ""
    for _, *cells in columns:
        is_text = any(re.search("[A-Za-z]", cell) for cell in cells)
        longest = max(map(len, cells), default=0)
        wrapped = rf">{{\raggedright\arraybackslash}}p{{{min(longest, 60) / 12:.1f}cm}}"
        shape += wrapped if longest > LONG else "l" if is_text else "r"
    head, *lines = [
        " & ".join(map(escape_latex, row)) + r" \\" for row in zip(*columns, strict=True)
    ]
    about = rf"\caption{{{escape_latex(caption)}}}\label{{tab:{label}}}"
    body = [r"\toprule", head, r"\midrule"]
    if len(lines) > ROWS:
        start, end = [rf"\begin{{longtable}}{{{shape}}}", about + r" \\"], [r"\end{longtable}"]
        body.append(r"\endhead")
    else:
        start = [r"\begin{table}", r"\centering\footnotesize", about, FIT]
        start += [rf"\begin{{tabular}}{{{shape}}}"]
        end = [r"\end{tabular}}", r"\end{table}"]
    return "\n".join([*start, *body, *lines, r"\bottomrule", *end])


def escape_latex(text: str) -> str:
    """A cell of Markdown as LaTeX; a name of the program, such as p_holm, as words."""
    text = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text))
    if re.fullmatch("[a-z0-9_]+", text):
        text = text.replace("_", " ")
    lines = re.split(" *<br> *", text)
    return r"\newline ".join("".join(SIGNS.get(sign, sign) for sign in line) for line in lines)
