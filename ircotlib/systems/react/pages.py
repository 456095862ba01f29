"""The pages that ReAct searches for and looks things up in: paragraphs of the corpus in place of
Wikipedia's API (Yao et al. 2023, §3.1).
"""

from dataclasses import dataclass

from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Program, Retrieve
from ircotlib.text import sentences


def search_page(entity: str, by_title: bool, n: int = 5) -> Program:
    """Search for an entity; return its paragraph and the first n sentences, or no paragraph and a
    message with the n most similar titles (ReAct §3.1).

    `by_title`: the entity must be a title; else the best paragraph of the corpus is taken.
    """
    titles = (yield NearestTitle(entity, n)) if by_title else ()
    if by_title and (not titles or titles[0].casefold() != entity.casefold()):
        return (), f"Could not find {entity}. Similar: {list(titles)}."
    paragraphs = yield Retrieve(entity, 1, titles[:1] if by_title else None)
    if not paragraphs:
        return (), f"Could not find {entity}. Similar: {list(titles)}."
    return paragraphs, " ".join(sentences(paragraphs[0].text)[:n])


@dataclass
class OpenPage:
    """The page found last; `text`: what was last looked up on it, `times`: how often in a row."""

    paragraphs: tuple[Paragraph, ...]
    text: str = ""
    times: int = 0

    def look_up(self, text: str) -> str:
        """The next sentence that contains a text, in any case (ReAct §3.1: like Ctrl+F)."""
        self.times = self.times + 1 if text == self.text else 1
        self.text = text
        lines = [line for p in self.paragraphs for line in sentences(p.text)]
        hits = [line for line in lines if text.lower() in line.lower()]
        if self.times > len(hits):
            return "No more results."
        return f"(Result {self.times} / {len(hits)}) {hits[self.times - 1]}"
