"""IIRC's pages, in the official context_articles.json, and their paragraphs (IRCoT App. A)."""

import re
from collections.abc import Collection, Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from ircotlib.data import Paragraph, excerpt
from ircotlib.datasets.downloads import Damaged, read_events
from ircotlib.datasets.pooled import digest, make_id
from ircotlib.errors import DataError

# needs no parser: everything between these tags is text
SIMPLE_TAG = re.compile(r"""</?(?:a|b|br|i|li|ol|p|ul)(?: [a-z]+="[^"<>]*")*>""")


def read_articles(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of the pages in context_articles.json: the lines with more than 10 words,
    without HTML, titles in lower case (IRCoT App. A).

    Repeated lines of a page and repeated titles count once. Pages are in the order of the file, the
    paragraphs of a page in that of their ids, which does not reveal their places on it. Raises
    ValueError if the file is damaged or not {title: HTML}, after the paragraphs before the fault.
    Differs from the paper: that shuffles, and keeps both of two pages whose titles differ in case.
    """
    for _, paragraphs in read_pages(path):
        # IRCoT App. A, footnote 19: most gold paragraphs begin their page, so the paper shuffles
        yield from sorted(paragraphs, key=lambda paragraph: paragraph.id)


def read_pages(
    path: Path, wanted: Collection[str] | None = None
) -> Iterator[tuple[str, list[Paragraph]]]:
    """Yield the title, in lower case, and the distinct paragraphs of each page, in the order of
    file and page. `wanted`: titles in lower case; None: all pages.
    """
    seen = set()
    for name, html in _read_texts(path):
        title = name.strip().lower()
        if title not in seen and (wanted is None or title in wanted):
            lines = dict.fromkeys(line.strip() for line in page_lines(html))
            long = (line for line in lines if len(line.split()) > 10)  # released program
            yield title, [page_paragraph(title, line) for line in long]
        seen.add(title)
    if not seen:
        expected = "expected one JSON object {title: HTML} (context_articles.json)"
        raise DataError(f"{path}: {expected}, found something else or no page")


def page_paragraph(title: str, text: str) -> Paragraph:
    """A paragraph whose id has 16 digits of a hash: with 8, two of two million could be equal."""
    return Paragraph(make_id(title, text) + digest(f"{text}\n{title}", 8), title, text)


def page_lines(html: str) -> list[str]:
    """The lines of a page as text, without tags, comments, scripts, styles (IRCoT App. A)."""
    pieces = SIMPLE_TAG.split(html)
    if not any("<" in piece for piece in pieces):
        return "".join(map(unescape, pieces)).split("\n")
    parser = _Text(convert_charrefs=True)  # reads any HTML, but slowly
    parser.feed(html.replace("<![", "&lt;!["))  # a marked section would be refused
    parser.close()
    return "".join(parser.pieces).split("\n")


class _Text(HTMLParser):
    def reset(self) -> None:
        super().reset()
        self.pieces: list[str] = []

    def handle_data(self, data: str) -> None:
        if self.cdata_elem not in ("script", "style"):
            self.pieces.append(data)


def _read_texts(path: Path) -> Iterator[tuple[str, str]]:
    """The names and texts of a JSON object, read as a stream; none of a list or a text."""
    name = None
    with Path(path).open("rb") as file:
        try:
            for event, value in read_events(file):
                if event == "map_key":
                    name = value
                elif name is not None and event == "string":
                    yield name, value
                elif name is not None and event != "end_map":
                    kind = {"start_array": "a list", "start_map": "an object"}
                    wrong = f"expected a text of HTML, found {kind.get(event, repr(value))}"
                    raise DataError(f"{path}, page {excerpt(name)}: {wrong}: get the file again")
        except Damaged as error:
            cut = f"this JSON cannot be read to its end ({error}): the file is cut off or damaged"
            raise DataError(f"{path}: {cut}; get it again") from error
