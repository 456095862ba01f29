"""Checks a built site: links lead to files and anchors that are there, and nothing is fetched from
elsewhere.
"""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif value and ((tag, name) in FETCHED or (tag, name) == ("a", "href")):
                self.links.append(value)
                self.fetched += [value] if tag != "a" else []


def find_faults(folder: Path) -> list[str]:
    """What is wrong with the pages of a folder, a line for each link."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    faults = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.fetched and url.scheme != "data":
                    faults.append(f"{name}: fetches {link}")
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.exists():
                faults.append(f"{name}: found no {link}")
            elif url.fragment and target in pages:
                if unquote(url.fragment) not in pages[target].anchors:
                    faults.append(f"{name}: found no anchor {link}")
    return faults
