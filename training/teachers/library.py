"""A world that answers all requests but a model's, with errors as in a run."""

import random
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from ircot_laboratory.world.encyclopedia import names_by_kind
from ircot_laboratory.world.records import Fact, Passage, World
from ircotlib.data import Paragraph
from ircotlib.metrics import as_compared
from ircotlib.program import Duplicate, Extract, Extracted, NearestTitle, Retrieve
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import write_corpus

MISSED = 0.08  # in training
# mean and standard deviation of the reader's confidence
SURE, UNSURE = (8.0, 2.0), (-4.0, 3.0)
# share of the answers stated in the paragraph that the reader does not find
MISREAD = 0.03
NOTHING = 0.3  # share of its wrong answers with low confidence that are empty
MISLED = 0.1  # share of its wrong answers that have high confidence


class Library:
    """A world, and the answers to all requests about it that do not go to a model.
    `missed`: the share of the retrievals whose best paragraph is left out.
    """

    def __init__(self, world: World, missed: float = MISSED):
        self.world = world
        self.missed = missed
        self.by_kind = names_by_kind(world.entities)
        self._passages = {p.text: p for page in world.pages.values() for p in page}

    @cached_property
    def backend(self) -> BM25:
        """The retriever."""
        paragraphs = [
            Paragraph(f"{title} {n}", title, passage.text)
            for title, page in self.world.pages.items()
            for n, passage in enumerate(page)
        ]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            corpus = write_corpus(Path(folder) / "corpus", paragraphs)
            backend = BM25(corpus, Path(folder) / "index")
            backend.corpus = paragraphs  # in memory: the folder is deleted
        return backend

    def passage(self, paragraph: Paragraph) -> Passage:
        """The passage of the world that a paragraph of the corpus was made from."""
        return self._passages[paragraph.text]

    def answer(
        self,
        request: Retrieve | NearestTitle | Duplicate | Extract,
        fact_asked: Callable[[str], Fact | None],
        rng: random.Random,
    ) -> object:
        """The reply to a request; `fact_asked`: the fact that a query asks for."""
        match request:
            case Retrieve():
                missed = request.titles is None and rng.random() < self.missed
                count = request.k + missed
                hits = self.backend.search(request.query, count, request.titles)
                return tuple(paragraph for paragraph, _ in hits)[missed:]
            case NearestTitle():
                [(_, reply)] = self.backend.answer([request])
                return self.backend.decode(reply)
            case Duplicate():
                earlier = map(as_compared, request.earlier)
                return float(as_compared(request.query) in earlier)
            case Extract():
                passage = self.passage(request.paragraph)
                return self._extract(passage, fact_asked(request.query), rng)

    def _extract(
        self, passage: Passage, fact: Fact | None, rng: random.Random
    ) -> Extracted:
        """The fact's value if the passage states it; else a wrong value or none."""
        stated = {s.relation: passage.text[s.start : s.end] for s in passage.spans}
        if fact and passage.title == fact.subject and fact.relation in stated:
            if rng.random() >= MISREAD:
                return Extracted(stated[fact.relation], rng.gauss(*SURE))
        like = stated.get(fact.relation) if fact and rng.random() < 0.6 else None
        wrong = like or rng.choice([*stated.values()])
        if rng.random() < MISLED:
            return Extracted(wrong, rng.gauss(*SURE))
        return Extracted("" if rng.random() < NOTHING else wrong, rng.gauss(*UNSURE))


def value_in(passage: Passage, fact: Fact) -> str | None:
    """The value of a fact in a passage, or None if the passage does not state it."""
    if passage.title != fact.subject:
        return None
    spans = (span for span in passage.spans if span.relation == fact.relation)
    return next((passage.text[span.start : span.end] for span in spans), None)
