"""A folder of one's own text and Markdown files as paragraphs to search."""

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from ircotlib.data import Paragraph, read_text
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.errors import UserError
from ircotlib.files import track
from ircotlib.text import sentences

WORDS = 100  # in a paragraph, at most; the papers' have about as many (IRCoT App. A)
MOST = 2000  # words that are cut into sentences at a time
KINDS = (".txt", ".md")


def read_documents(source: Path) -> Iterator[Paragraph]:
    """The paragraphs of the text and Markdown files in a folder and those below it, or of one file,
    in alphabetical order; other and hidden files are left out. `title`: the file's name, with the
    heading of the section. A file without text is named on stderr.
    """
    source = Path(source)
    below = sorted(source.rglob("*")) if source.is_dir() else [source]
    shown = [p for p in below if not any(n.startswith(".") for n in p.relative_to(source).parts)]
    files = [path for path in shown if path.suffix.lower() in KINDS and path.is_file()]
    if not files:
        pdf = "of a PDF, pdftotext makes text"
        raise UserError(f"{source}: found no file that ends in {' or '.join(KINDS)}: {pdf}")
    for path in track(files, "documents"):
        sections = _read_sections(path)
        passages = [(title, passage) for title, text in sections for passage in cut_passages(text)]
        if not passages:
            print(f"{path}: found no text", file=sys.stderr)
        yield from (make_paragraph(*passage) for passage in passages)


def cut_passages(text: str, words: int = WORDS) -> Iterator[str]:
    """A text as passages of whole sentences, as many as fit into so many words, in order. Line ends
    are spaces; a blank line ends a sentence. A longer sentence is cut at `words`.
    """
    passage: list[str] = []
    for sentence in _sentences(text):
        if len(passage) + len(sentence) > words and passage:
            yield " ".join(passage)
            passage = []
        passage += sentence
        while len(passage) > words:
            yield " ".join(passage[:words])
            passage = passage[words:]
    if passage:
        yield " ".join(passage)


def _sentences(text: str) -> Iterator[list[str]]:
    """The words of each sentence; `sentences` takes the square of the length of what it reads."""
    for block in re.split(r"\n\s*\n", text):
        words = block.split()
        for first in range(0, len(words), MOST):
            yield from map(str.split, sentences(" ".join(words[first : first + MOST])))


def _read_sections(path: Path) -> list[tuple[str, str]]:
    """Titles and texts of the sections of Markdown; a text file is one section."""
    text = read_text(path)
    tokens = MarkdownIt().parse(text) if path.suffix.lower() == ".md" else []
    title, start, lines, sections = path.stem, 0, text.split("\n"), []
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0:
            sections.append((title, "\n".join(lines[start : opening.map[0]])))
            title, start = f"{path.stem}: {heading.content}", opening.map[1]
    return [*sections, (title, "\n".join(lines[start:]))]
