"""The embedded index: BM25 over titles and texts, as in Elasticsearch (IRCoT §4.1)."""

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import cast

import tantivy
from tantivy import Query

from ircotlib.data import Paragraph
from ircotlib.files import locked, track, writing
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.analyzer import FINGERPRINT, analyze, join_terms
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.ranking import Hits, Ranked, digest

SCORING = (  # in fingerprints
    "BM25(title) + BM25(text), OR of terms, k1 1.2, b 0.75, "
    "scores to 3 decimals, ties by position"
)
MUST = tantivy.Occur.Must
SHOULD = tantivy.Occur.Should
MADE_OF = "index.json"  # beside tantivy's files: what the index was made of
# fields for terms that our own analyzer made, joined by spaces; k1 1.2, b 0.75 and
# lengths in one byte are tantivy's own, as in Lucene's BM25Similarity
_FIELDS = tantivy.SchemaBuilder()
for _name in ("title", "text"):
    _FIELDS.add_text_field(_name, tokenizer_name="whitespace", index_option="freq")
for _name in ("whole_title", "lower_title"):
    _FIELDS.add_text_field(_name, tokenizer_name="raw", index_option="basic")
SCHEMA = _FIELDS.add_unsigned_field("position", fast=True).build()


class BM25(Ranked):
    """The index of a corpus in a folder.

    If it is missing, damaged, or of another corpus or version, one of several processes
    builds it first, in place of the folder. Differs from Elasticsearch: a title or a
    text without any term ("It") counts towards the number of documents and the mean
    length, too.
    """

    def __init__(self, corpus: Corpus, folder: Path | str, text: str = "embedded"):
        made_of = {
            "corpus": corpus.fingerprint,
            "count": len(corpus),
            "analyzer": FINGERPRINT,
            "tantivy": tantivy.__version__,  # type: ignore[attr-defined]  # untyped
            "fields": 2,
        }
        self.corpus = corpus
        self.fingerprint = digest(SCORING, made_of)
        folder = Path(folder)
        made = folder / MADE_OF
        with locked(Path(f"{folder}.lock")):
            with suppress(OSError, ValueError):  # missing, or damaged
                if made.read_text() == json.dumps(made_of):
                    self._searcher = tantivy.Index.open(str(folder)).searcher()
                    return
            with writing(folder) as new:
                new.mkdir()
                self._build(new, track(corpus, f"index of {folder.name}"))
                (new / MADE_OF).write_text(json.dumps(made_of))
                # first, so that a kill leaves no part of the old index as whole
                made.unlink(missing_ok=True)
            self._searcher = tantivy.Index.open(str(folder)).searcher()

    def queries_of(self, request: Retrieve | NearestTitle) -> list[Query]:
        """The query; for a title (App. B): it, it in any case, any of its terms."""
        if isinstance(request, NearestTitle):
            same = self._term("whole_title", request.title)
            any_case = self._term("lower_title", request.title.lower())
            return [same, any_case, self._any(request.title, "title")]
        # IRCoT's program: bool.should of a match in the title and one in the text,
        # without boosts
        query = self._any(request.query, "title", "text")
        if request.titles is None:
            return [query]
        # Elasticsearch's filter: it leaves paragraphs out and adds nothing to a score
        allowed = self._allow(request.titles)
        return [Query.boolean_query([(MUST, query), (MUST, allowed)])]

    def find(self, query: Query, most: int) -> Hits:
        """The best hits, at most so many: pairs of position and score, best first."""
        most = min(most, len(self.corpus))
        hits = self._searcher.search(query, most, count=False).hits
        addresses = [address for _, address in hits]
        values = self._searcher.fast_field_values("position", addresses)
        positions = cast(list[int], values)  # as the schema says, and never None
        # rounded: beyond 3 decimals, scores depend on how the index was built
        scores = [round(score, 3) for score, _ in hits]
        return list(zip(positions, scores, strict=True))

    def positions_of(self, titles: Iterable[str]) -> list[int]:
        """The positions of the paragraphs with one of these titles, in order."""
        hits = self.find(self._allow(titles), len(self.corpus))
        return sorted(position for position, _ in hits)

    def _any(self, text: str, *fields: str) -> Query:
        """Any of the terms of a text, in any of the fields; scores are added."""
        terms = Counter(analyze(text)).items()
        queries = [self._term(field, *term) for field in fields for term in terms]
        return Query.boolean_query([(SHOULD, query) for query in queries])

    def _term(self, field: str, term: str, count: int = 1) -> Query:
        query = Query.term_query(SCHEMA, field, term, "freq")
        # Lucene: a term that a query repeats scores as often as it is there
        return query if count == 1 else Query.boost_query(query, float(count))

    def _allow(self, titles: Iterable[str]) -> Query:
        titled = Query.term_set_query(SCHEMA, "whole_title", list(titles))
        return Query.const_score_query(titled, 0.0)

    def _build(self, folder: Path, paragraphs: Iterable[Paragraph]) -> None:
        index = tantivy.Index(SCHEMA, str(folder))
        writer = index.writer(heap_size=200_000_000, num_threads=1)
        try:
            for position, paragraph in enumerate(paragraphs):
                fields = {
                    "title": join_terms(paragraph.title),
                    "text": join_terms(paragraph.text),
                    "whole_title": paragraph.title,
                    "lower_title": paragraph.title.lower(),
                    "position": position,
                }
                writer.add_document(tantivy.Document.from_dict(fields, SCHEMA))
            writer.commit()
        finally:  # its threads write, even after an error
            writer.wait_merging_threads()
