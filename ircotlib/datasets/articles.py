"""IIRC's pages, in the official context_articles.json, and their paragraphs (IRCoT App. A)."""

import re
from collections.abc import Collection, Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from ircotlib.data import Paragraph, excerpt
from ircotlib.datasets.downloads import Damaged, read_events
from ircotlib.datasets.pooled import digest, make_id

MIN_WORDS = 11  # a line of a page is a paragraph from here on (released program)
# tags that need no parser: what is between them is text
SIMPLE_TAG = re.compile(r"""</?(?:a|b|br|i|li|ol|p|ul)(?: [a-z]+="[^"<>]*")*>""")


def read_articles(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the pages in context_articles.json: their lines of over 10 words, without
    HTML, titles in lower case (App. A).

    The file is read bit by bit. A line that a page repeats, and a page whose title was there
    before, count once. The paragraphs of a page come in the order of their ids, that is of a hash
    of their text, so that their place on the page does not show; the pages in that of the file.
    Raises ValueError where the file is damaged or not {title: HTML}, after the paragraphs before
    that place. Differs from the paper: it shuffles; of pages with one title that differ only in
    case it has both.
    """
    for _, paragraphs in read_pages(path):
        yield from sorted(paragraphs, key=lambda paragraph: paragraph.id)


def read_pages(
    path: Path, wanted: Collection[str] | None = None
) -> Iterator[tuple[str, list[Paragraph]]]:
    """The pages in the order of the file, or those whose titles are wanted: title in lower case,
    paragraphs in the order of the page, each once.
    """
    seen = set()
    for name, html in _entries(path):
        title = name.strip().lower()
        if title not in seen and (wanted is None or title in wanted):
            lines = dict.fromkeys(line.strip() for line in page_lines(html))
            long = (line for line in lines if len(line.split()) >= MIN_WORDS)
            yield title, [page_paragraph(title, line) for line in long]
        seen.add(title)
    if not seen:
        raise ValueError(
            f"{path}: expected one JSON object {{title: HTML}} (context_articles.json), found"
            " something else or no page"
        )


def page_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph whose id has 16 hexadecimal digits from title and text: among two million, two
    ids of 8 could be equal.
    """
    return Paragraph(make_id(title, text) + digest(f"{text}\n{title}", 8), title, text)


def page_lines(html: str) -> list[str]:
    """The text of a page by line, as the file breaks them: without tags, comments, scripts and
    styles, entities resolved (App. A).
    """
    pieces = SIMPLE_TAG.split(html)
    if any("<" in piece for piece in pieces):
        return "".join(_parse(html)).split("\n")
    return "".join(map(unescape, pieces)).split("\n")


def _parse(html: str) -> list[str]:
    """The pieces of text of any HTML; slower than cutting at simple tags."""
    parser = _Text(convert_charrefs=True)
    parser.feed(html.replace("<![", "&lt;!["))  # a marked section, which the parser would refuse
    parser.close()
    return parser.pieces


class _Text(HTMLParser):
    """Keeps the text of a page."""

    def reset(self) -> None:
        super().reset()
        self.pieces: list[str] = []

    def handle_data(self, data: str) -> None:
        if self.cdata_elem not in ("script", "style"):
            self.pieces.append(data)


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of a file that is one JSON object, read bit by bit; none where it is a list
    or a text.
    """
    with Path(path).open("rb") as file:
        try:
            yield from _texts(read_events(file), path)
        except Damaged as error:
            found = f"this JSON cannot be read to its end ({error})"
            raise ValueError(
                f"{path}: {found}: the file is cut off or damaged; get it again"
            ) from error


def _texts(events: Iterator[tuple[str, object]], path: Path) -> Iterator[tuple[str, str]]:
    """Each name with its text; ValueError where it has something else."""
    name = None
    for event, value in events:
        if event == "map_key":
            name = value
        elif name is not None and event == "string":
            yield name, value
        elif name is not None and event != "end_map":
            found = {"start_array": "a list", "start_map": "an object"}.get(event, repr(value))
            raise ValueError(
                f"{path}, page {excerpt(name)}: expected a text of HTML, found {found}: get the"
                " file again"
            )
