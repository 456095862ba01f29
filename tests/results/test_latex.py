"""Tables are written as LaTeX that compiles."""

import re
import shutil
import subprocess

import pytest

from ircotlib.files.paths import FIGURES
from ircotlib.results.latex import as_latex, escape_latex

MADE = sorted(path.stem for path in FIGURES.glob("*.md"))
KEPT = [name for name in MADE if not name.endswith("_quick")]
TABLE = r"""
| dataset | p_holm | system | ours | none |
| --- | --- | --- | --- | --- |
| MuSiQue | < 0.0001 | A \| B & C_D | -1.0 |  |
| IIRC | 0.5 | 50% → x<br>y | 2.0 |  |
"""


def kept(name):
    caption, _, text = (FIGURES / f"{name}.md").read_text(encoding="utf-8").partition("\n\n")
    return as_latex(text, caption, name.replace("_", "-"))


def test_a_table_has_what_the_markdown_has():
    first, table = as_latex(TABLE, "50% & more", "a-b").split("\n\n")
    assert first.startswith("% needs") and table.splitlines() == [
        r"\begin{table}",
        r"\centering\footnotesize",
        r"\caption{50\% \& more}\label{tab:a-b}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        r"\begin{tabular}{lrlr}",
        r"\toprule",
        r"dataset & p holm & system & ours \\",
        r"\midrule",
        r"MuSiQue & $<$ 0.0001 & A | B \& C\_D & -1.0 \\",
        r"IIRC & 0.5 & 50\% $\rightarrow$ x\newline y & 2.0 \\",
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]


def test_a_long_one_may_break_between_pages_and_headings_are_captions():
    rows = "| a |\n|---|\n" + "| 1 |\n" * 50
    text = as_latex(f"### First\n\n{rows}\n### Second\n\n| b |\n|---|\n| 2 |", "Cases.", "t")
    assert r"\caption{Cases. First}\label{tab:t-1} \\" in text and r"\end{longtable}" in text
    assert r"\caption{Cases. Second}\label{tab:t-2}" in text and text.count(r"\toprule") == 2


@pytest.mark.parametrize("name", KEPT)
def test_the_kept_tables_have_as_many_cells_in_each_row(name):
    text = kept(name)
    assert text == (FIGURES / f"{name}.tex").read_text(encoding="utf-8")
    for table in re.findall(r"\\toprule\n(.*?)\\bottomrule", text, re.DOTALL):
        rows = [line for line in table.splitlines() if line.endswith(r"\\")]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
    assert not re.search(r"(?<!\\)#|(?<!\\)%.", text.partition("\n")[2])


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_the_kept_tables_compile(tmp_path):
    packages = "".join(
        rf"\usepackage{{{name}}}" for name in ("booktabs", "graphicx", "longtable", "array")
    )
    body = "\n\\clearpage\n".join(map(kept, KEPT))
    head = r"\documentclass{article}\usepackage[T1]{fontenc}" + packages
    document = f"{head}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "all.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stdout[-2000:]


def test_a_table_without_rows_has_its_names():
    assert r"a & b \\" in as_latex("| a | b |\n| --- | --- |", "None.", "t").splitlines()


def test_signs_of_latex_are_escaped():
    assert escape_latex(r"a\*b & {c}~^ \ ★ §") == (
        r"a*b \& \{c\}\textasciitilde{}\textasciicircum{} \textbackslash{} $\star$ §"
    )
