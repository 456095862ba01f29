"""The pages of README, docs and notebooks, how numbers are written between their marker comments,
and what they are written from.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from ircotlib.files.paths import FIGURES, ROOT

THREE = ("hotpotqa", "2wikimultihopqa", "musique")
FOUR = (*THREE, "iirc")  # which is not in IRCoT's Figures 5, 6, 8 and 9
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PAGES += (*sorted((ROOT / "notebooks").glob("*.ipynb")),)
BLOCK = re.compile(r"(<!-- (\w[\w ]*) -->)(.*?)(<!-- /\2 -->)", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:,\d{3})*(?:\.\d+)?(?!\w|,\d)")
HEAD = re.compile(r"(\n\|.*\n\|---.*)?")  # of a table, if the text is one


def write_page(path: Path, blocks: dict[str, str | list]) -> str:
    """The text of a page with its blocks written anew; of a notebook, those of its markdown."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return fill(text, blocks)
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = fill("".join(cell["source"]), blocks).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def fill(page: str, blocks: dict[str, str | list]) -> str:
    """The page with its blocks written anew. Raises ValueError if a block has no numbers here, or a
    sentence another count of numbers.
    """

    def written(match: re.Match) -> str:
        start, name, text, end = match.groups()
        new = blocks.get(name)
        head = HEAD.match(text)[0]
        if isinstance(new, list) and len(new) == len(NUMBER.findall(text[len(head) :])):
            left = iter(new)
            new = head + NUMBER.sub(lambda _: str(next(left)), text[len(head) :])
        if not isinstance(new, str):
            raise ValueError(f"found other numbers in the block {name!r}, expected {new}")
        return start + new + end

    return BLOCK.sub(written, page)


def read(name: str, profile: str = "mini") -> pd.DataFrame:
    """The rows of a figure; "paper": those of the papers."""
    table = pd.read_csv(FIGURES / f"{name}.csv")
    return table[table["profile"] == profile] if "profile" in table else table


def as_table(head: Iterable[str], rows: Iterable[Iterable]) -> str:
    lines = [f"| {' | '.join(map(str, cells))} |".replace("|  |", "| |") for cells in (head, *rows)]
    return "\n".join(["", lines[0], "|---" * (lines[0].count("|") - 1) + "|", *lines[1:], ""])
