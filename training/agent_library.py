"""A training world with all that is not the agent: what retrieves from it as in a run, and what
extracts as the shipped reader does.
"""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from ircotlib.data import Paragraph
from ircotlib.laboratory.encyclopedia import names_by_kind
from ircotlib.laboratory.records import Fact, Passage, World
from ircotlib.program import Duplicate, Extract, Extracted, NearestTitle, Request, Retrieve
from ircotlib.retrieval.bm25 import BM25, open_index
from ircotlib.retrieval.corpus import write_corpus
from ircotlib.text import normalise_answer

MISSED = 0.08  # of the retrievals do not have their best paragraph
SURE, UNSURE = (8.0, 2.0), (-4.0, 3.0)  # mean and deviation of the reader's confidence
MISREAD = 0.03  # of the answers that a paragraph states are not found
NOTHING = 0.3  # of the unsure answers are none at all
MISLED = 0.1  # of those that none states are given surely


class Library:
    """A world, and what answers requests about it that are not for the agent."""

    def __init__(self, world: World):
        self.world, self.by_kind = world, names_by_kind(world.entities)
        self.backend = _open(world)

    def passage(self, paragraph: Paragraph) -> Passage:
        """The passage of the world that a paragraph of the corpus is."""
        return next(one for one in self.world.pages[paragraph.title] if one.text == paragraph.text)

    def answer(
        self, request: Request, asked: Callable[[str], Fact | None], rng: random.Random
    ) -> object:
        """The reply to a request; `asked`: the fact that a query asks for, None: none."""
        match request:
            case Retrieve():
                return self._retrieve(request, rng)
            case NearestTitle():
                return tuple(self.backend.nearest_titles(request.title, request.n))
            case Duplicate():
                earlier = map(normalise_answer, request.earlier)
                return float(normalise_answer(request.query) in earlier)
            case Extract():
                return self._extract(self.passage(request.paragraph), asked(request.query), rng)

    def _retrieve(self, request: Retrieve, rng: random.Random) -> tuple[Paragraph, ...]:
        missed = request.titles is None and rng.random() < MISSED
        found = self.backend.search(request.query, request.k + missed, request.titles)
        return tuple(paragraph for paragraph, _ in found)[missed:]

    def _extract(self, passage: Passage, fact: Fact | None, rng: random.Random) -> Extracted:
        """The value where the passage states the fact, else another one, mostly unsurely."""
        stated = {span.relation: passage.text[span.start : span.end] for span in passage.spans}
        if fact and passage.title == fact.subject and fact.relation in stated:
            if rng.random() >= MISREAD:
                return Extracted(stated[fact.relation], rng.gauss(*SURE))
        like = stated.get(fact.relation) if fact and rng.random() < 0.6 else None
        wrong = like or rng.choice([*stated.values()])
        if rng.random() < MISLED:
            return Extracted(wrong, rng.gauss(*SURE))
        return Extracted("" if rng.random() < NOTHING else wrong, rng.gauss(*UNSURE))


def _open(world: World) -> BM25:
    paragraphs = [
        Paragraph(f"{title} {n}", title, passage.text)
        for title, page in world.pages.items()
        for n, passage in enumerate(page)
    ]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        corpus = write_corpus(Path(folder) / "corpus", paragraphs)
        backend = open_index(corpus, Path(folder) / "index")
        backend.corpus = paragraphs  # in memory, for the folder goes
    return backend
