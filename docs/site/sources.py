"""The sources of the site: pages with links that lead to something there."""

import json
import os
import re
import shutil
from functools import partial
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

from ircotlib.files.paths import ROOT

PAGES = ("docs/*.md", "figures/*.md", "prompts/*.md", "notebooks/[0-9]*.ipynb", "*.md")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"^# ", re.MULTILINE)


def lay_pages(folder: Path, patterns: tuple[str, ...] = PAGES) -> None:
    """Write the pages of these patterns into a folder, at their places in the repository, with all
    that they link to: pictures, and in code/ a page for each other file.
    """
    copy(ROOT / "figures" / "head_to_head.png", folder)  # of the first page
    pages = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    for path in pages:
        text, to = path.read_text(encoding="utf-8"), folder / path.relative_to(ROOT)
        change = partial(lead, page=path, pages=pages, folder=folder)
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb":
            notebook = json.loads(text)
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = LINK.sub(change, "".join(cell["source"]))
            to.write_text(json.dumps(notebook), encoding="utf-8")
        else:
            parts = FENCE.split(text if TITLE.search(text) else f"# {title_of(path)}\n\n{text}")
            parts[::2] = [LINK.sub(change, part) for part in parts[::2]]
            to.write_text("".join(parts), encoding="utf-8")


def title_of(path: Path) -> str:
    """The title of a table in figures/, from its name."""
    named = path.stem.replace("ircot_", "IRCoT, ").replace("searchain_", "SearChain, ")
    return re.sub(r"table(\d+)", r"Table \1", named).replace("_", " ")


def lead(link: re.Match, page: Path, pages: list[Path], folder: Path) -> str:
    """A link of a page as the site has it."""
    image, text, address = link.groups()
    path, _, line = address.partition("#")
    target = (page.parent / path).resolve()
    if "://" in address or not path or target in pages:
        return link[0]
    if image or target.suffix in (".png", ".svg"):
        copy(target, folder)
        return link[0]
    if not target.is_file():
        return text  # a folder, or a page that is left out
    shown = write_code(target, folder / "code").relative_to(folder / "code")
    up = os.path.relpath(ROOT, page.parent)
    return f'<a href="{up}/{shown}{line and f"#L-{line[1:]}"}">{text}</a>'


def copy(path: Path, folder: Path) -> None:
    """Copy a file to its place in the repository."""
    to = folder / path.relative_to(ROOT)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, to)


def write_code(path: Path, folder: Path) -> Path:
    """Write a page that shows a file with numbered lines; return its path."""
    name = path.relative_to(ROOT)
    page = folder / "code" / f"{name}.html"
    if not page.exists():
        page.parent.mkdir(parents=True, exist_ok=True)
        try:
            lexer = get_lexer_for_filename(path.name)
        except ClassNotFound:
            lexer = TextLexer()
        options = {"linenos": "inline", "lineanchors": "L", "prestyles": "overflow-x: auto"}
        form = HtmlFormatter(full=True, title=str(name), **options)
        page.write_text(highlight(path.read_text(encoding="utf-8"), lexer, form), encoding="utf-8")
    return page
