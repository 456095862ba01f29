"""A folder of one's own text, Markdown and PDF files as paragraphs to search."""

import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ircotlib.data import Paragraph, read_text
from ircotlib.datasets.pooled import make_paragraph
from ircotlib.errors import DataError, UserError
from ircotlib.files.checksums import one_line
from ircotlib.files.extras import need
from ircotlib.files.progress import track
from ircotlib.text import sentences

WORDS = 100  # in a paragraph, at most; the papers' have about as many (IRCoT App. A)
HEADING = re.compile(r"(#{1,6})\s+(.*?)[\s#]*")
KINDS = (".txt", ".md", ".pdf")


def read_documents(source: Path) -> Iterator[Paragraph]:
    """The paragraphs of the text, Markdown and PDF files in a folder and those below it, or of one
    file, in alphabetical order, with a progress bar.

    Sections of Markdown and pages of PDF are cut by `cut_passages`. `title`: the file's name, with
    the heading or page. A file that cannot be read or has no text is named on stderr, in one line,
    and left out. Raises UserError if there is no file to read, DataError if none has text, and
    Unavailable for a PDF without the library.
    """
    source = Path(source)
    if not source.exists():
        raise UserError(f"{source}: found nothing there, expected a folder, or a file {KINDS}")
    below = source.rglob("*") if source.is_dir() else [source]
    files = sorted(path for path in below if path.is_file() and not _is_hidden(path, source))
    read = [path for path in files if path.suffix.lower() in KINDS]
    if not read:
        raise UserError(f"{source}: found no file that ends in {' or '.join(KINDS)}, expected one")
    if others := len(files) - len(read):
        left = f"{source}: left out {others} of {len(files)} files, which are of other kinds"
        print(left, file=sys.stderr, flush=True)
    count = 0
    for path in track(read, "documents", every=1):
        is_pdf = path.suffix.lower() == ".pdf"
        try:
            parts = _read_pages(path) if is_pdf else _read_sections(path)
            if not any(text.strip() for _, text in parts):
                remedy = ": are its pages pictures? Recognise their text first" if is_pdf else ""
                raise DataError(f"{path}: found no text{remedy}")
        except (DataError, OSError) as error:
            print(f"left out: {one_line(error, most=None)}", file=sys.stderr, flush=True)
            continue
        for title, text in parts:
            for passage in cut_passages(text):
                count += 1
                yield make_paragraph(title, passage)
    if not count:
        raise DataError(f"{source}: found no text in {len(read)} files, expected some")


def _is_hidden(path: Path, source: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(source).parts)


def cut_passages(text: str, words: int = WORDS) -> Iterator[str]:
    """A text as passages of whole sentences, as many as fit into so many words, in order. Line ends
    are spaces; a blank line ends a sentence. A longer sentence is cut at `words`.
    """
    passage: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        for sentence in sentences(" ".join(block.split())):
            rest = sentence.split()
            if len(passage) + len(rest) > words and passage:
                yield " ".join(passage)
                passage = []
            passage += rest
            while len(passage) > words:
                yield " ".join(passage[:words])
                passage = passage[words:]
    if passage:
        yield " ".join(passage)


def _read_sections(path: Path) -> list[tuple[str, str]]:
    """Titles and texts of the sections of Markdown, whose headings are outside of code; a text file
    is one section.
    """
    title, lines, in_code, sections = path.stem, [], False, []
    for line in read_text(path).split("\n"):
        in_code ^= line.lstrip().startswith(("```", "~~~"))
        heading = HEADING.fullmatch(line) if path.suffix.lower() == ".md" and not in_code else None
        if heading:
            sections.append((title, "\n".join(lines)))
            title, lines = f"{path.stem}: {heading[2]}", []
        else:
            lines.append(line)
    return [*sections, (title, "\n".join(lines))]


def _read_pages(path: Path) -> list[tuple[str, str]]:
    """Titles and texts of the pages of a PDF; a word that a line's end divides is joined."""
    need("pypdf", "pdf")
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of every odd byte
    try:
        texts = [page.extract_text() for page in PdfReader(path).pages]
    except Exception as error:  # a damaged file raises errors of any kind
        raise DataError(f"{path}: found a PDF that cannot be read ({one_line(error)})") from None
    joined = (re.sub(r"(\w)-\n(?=[a-z])", r"\1", text) for text in texts)
    return [(f"{path.stem}, page {number}", text) for number, text in enumerate(joined, start=1)]
