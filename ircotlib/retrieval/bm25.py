"""The embedded index: BM25 over titles and texts, as in Elasticsearch (English; IRCoT
§4.1).
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import tantivy
from tantivy import Query

from ircotlib.data import Paragraph
from ircotlib.errors import DataError
from ircotlib.files import locked, track, writing
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.analyzer import FINGERPRINT, analyze, join_terms
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.ranking import Hits, Ranked, digest

SCORING = (  # in fingerprints
    "BM25(title) + BM25(text), OR of terms, k1 1.2, b 0.75, scores to 3 decimals, ties by position"
)
MUST, SHOULD = tantivy.Occur.Must, tantivy.Occur.Should
# fields for terms that our own analyzer made, joined by spaces; k1 1.2, b 0.75 and
# lengths in one byte are tantivy's own, as in Lucene's BM25Similarity
_FIELDS = tantivy.SchemaBuilder()
for _name in ("title", "text"):
    _FIELDS.add_text_field(_name, tokenizer_name="whitespace", index_option="freq")
for _name in ("whole_title", "lower_title"):
    _FIELDS.add_text_field(_name, tokenizer_name="raw", index_option="basic")
SCHEMA = _FIELDS.add_unsigned_field("position", fast=True).build()


class BM25(Ranked):
    """The index of a corpus in a folder, built first, by one of several processes, if
    it is missing or of another corpus or version. Differs from Elasticsearch: a title
    or a text without any term ("It") counts towards the number of documents and the
    mean length, too.
    """

    def __init__(self, corpus: Corpus, folder: Path | str, text: str = "embedded"):
        self.corpus = corpus
        made_of = {
            "corpus": corpus.fingerprint,
            "count": len(corpus),
            "analyzer": FINGERPRINT,
        }
        made_of |= {"tantivy": tantivy.__version__, "fields": 2}
        self.fingerprint = digest(SCORING, made_of)
        description = Path(folder) / "index.json"  # what an index is made of
        with locked(Path(f"{folder}.lock")):
            found = (
                json.loads(description.read_text()) if description.is_file() else None
            )
            if found is None and Path(folder).exists():
                raise DataError(
                    f"{folder}: found files but no index.json; name another folder"
                )
            if found != made_of:
                with writing(Path(folder)) as new:
                    new.mkdir()
                    self._build(new, track(corpus, f"index of {Path(folder).name}"))
                    (new / description.name).write_text(json.dumps(made_of))
        self._searcher = tantivy.Index.open(str(folder)).searcher()

    def queries_of(self, request: Retrieve | NearestTitle) -> list[Query]:
        if isinstance(request, NearestTitle):
            same = self._term("whole_title", request.title)
            any_case = self._term("lower_title", request.title.lower())
            return [same, any_case, self._any(request.title, "title")]
        # IRCoT's program: bool.should of a match in the title and one in the text,
        # without boosts
        query = self._any(request.query, "title", "text")
        if request.titles is not None:
            # Elasticsearch's filter: titles leave paragraphs out and add nothing to a
            # score
            query = Query.boolean_query(
                [(MUST, query), (MUST, self._allow(request.titles))]
            )
        return [query]

    def find(self, query: Query, most: int) -> Hits:
        found = self._searcher.search(
            query, min(most, len(self.corpus)), count=False
        ).hits
        positions = self._searcher.fast_field_values(
            "position", [where for _, where in found]
        )
        # rounded: beyond 3 decimals, scores depend on how the index was built
        return list(zip(positions, (round(score, 3) for score, _ in found)))

    def positions_of(self, titles: Iterable[str]) -> list[int]:
        """The positions of the paragraphs with one of these titles, in the order of the
        corpus.
        """
        return sorted(
            position for position, _ in self.find(self._allow(titles), len(self.corpus))
        )

    def _any(self, text: str, *fields: str) -> Query:
        terms = Counter(analyze(text)).items()
        matches = (self._term(field, *term) for field in fields for term in terms)
        return Query.boolean_query([(SHOULD, match) for match in matches])

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
                title = paragraph.title
                fields = {
                    "title": join_terms(title),
                    "text": join_terms(paragraph.text),
                }
                fields |= {"whole_title": title, "lower_title": title.lower()}
                fields |= {"position": position}
                writer.add_document(tantivy.Document.from_dict(fields, SCHEMA))
            writer.commit()
        finally:  # its threads write, even after an error
            writer.wait_merging_threads()
