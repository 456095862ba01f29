"""The embedded backend of Retrieve and NearestTitle: BM25 over titles and texts, as in
Elasticsearch with the analyzer `english` (IRCoT §4.1).
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import tantivy

from ircotlib.errors import DataError, Unavailable
from ircotlib.files import old
from ircotlib.files.checksums import one_line
from ircotlib.files.models import naming_file
from ircotlib.files.old import hold_lock, write_folder
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval import ranking
from ircotlib.retrieval.analyzer import FINGERPRINT, STOP_WORDS, analyze
from ircotlib.retrieval.corpus import Corpus, Progress
from ircotlib.retrieval.documents import count_processes, make_documents
from ircotlib.retrieval.ranking import Hits, Refused, Search, Searching, WrittenReply

DESCRIPTION = "index.json"
REMEDY = "delete the folder, and the next run builds the index again"
THREADS = min(8, os.cpu_count() or 1)


class BM25:
    """Answers Retrieve and NearestTitle from a corpus and its index; see open_index.

    `fingerprint` changes with the corpus, the analyzer, the scoring and the version of tantivy.
    Raises DataError if a file is damaged or the index was made of something else. Differs from
    Elasticsearch: a title or text without any term ("It") still counts towards the number of
    documents and the mean length of its field.
    """

    answers = (Retrieve, NearestTitle)
    depth = ranking.DEPTH

    def __init__(self, corpus: Corpus, folder: Path | str):
        self.corpus = corpus
        self._folder = Path(folder)
        expected = _describe(corpus)
        made_of, sums = _read_description(self._folder)
        if made_of != expected:
            differ = f"found an index of {made_of}, expected {expected}"
            raise DataError(f"{folder}: {differ}; open_index builds it again")
        old.check_sums(self._folder, sums, REMEDY)
        self.fingerprint = sha256(json.dumps([ranking.SCORING, expected]).encode()).hexdigest()[:16]
        self._schema = _schema()
        self._searcher = _open(self._folder, len(corpus))

    @property
    def constants(self) -> dict[str, str]:
        """What a paper must say of it, for run.json."""
        words = "words of UAX 29 in Unicode 12.1, lower case"
        words += f", without {len(STOP_WORDS)} stop words, Porter's stems"
        analyzer = f"Lucene's EnglishAnalyzer: {words} ({FINGERPRINT})"
        return {"scoring": ranking.SCORING, "analyzer": analyzer, "engine": tantivy.__version__}

    def answer(self, requests: Sequence[Retrieve | NearestTitle]) -> Iterator[WrittenReply]:
        """Yield the index of each request and its reply: JSON of [[position in corpus, score], ...]
        or [title, ...], best first; or Refused, as for a k below 1.
        """

        def play(searching: Searching[str]) -> str | Refused:
            [(_, reply)] = ranking.play({0: searching}, lambda batch: map(self._search, batch))
            return reply

        indices = ranking.group(requests)
        searchings = [ranking.searching_of(self, request) for request in indices]
        with ThreadPoolExecutor(THREADS) as pool:
            replies = (pool.map if len(searchings) > 1 else map)(play, searchings)
            for equal, reply in zip(indices.values(), replies, strict=True):
                yield from ((index, reply) for index in equal)

    # the same for all backends
    decode, search, nearest_titles = ranking.decode, ranking.search, ranking.nearest_titles

    def query_of(self, text: str, titles: Iterable[str] | None) -> tantivy.Query:
        """See ranking.Backend."""
        terms = Counter(analyze(text))
        # IRCoT's program: bool.should of a match in the title and one in the text, without boosts
        scored = _any([*self._weigh("title", terms), *self._weigh("text", terms)])
        if titles is None:
            return scored
        # Elasticsearch's filter: titles leave paragraphs out and add nothing to a score
        must = tantivy.Occur.Must
        return tantivy.Query.boolean_query([(must, scored), (must, self._allow(titles))])

    def queries_of_title(self, title: str) -> list[tantivy.Query]:
        """See ranking.Backend."""
        same = self._term("whole_title", title)
        any_case = self._term("lower_title", title.lower())
        # IRCoT App. B: the nearest title by BM25, here after the same one
        return [same, any_case, _any(self._weigh("title", Counter(analyze(title))))]

    def positions_of(self, titles: Iterable[str]) -> list[int]:
        """The positions of the paragraphs with one of these titles, in the order of the corpus."""
        query = self._allow(titles)
        with naming_file(self._folder, "an index"):
            count = self._searcher.search(query, 1, count=True).count
        return sorted(position for position, _ in self._search(Search("", query, max(1, count))))

    def _search(self, search: Search) -> Hits:
        with naming_file(self._folder, "an index"):
            hits = self._searcher.search(search.query, search.size, count=False).hits
            addresses = [address for _, address in hits]
            positions = self._searcher.fast_field_values("position", addresses)
        # rounded: beyond 3 decimals, scores depend on how the index was built (ranking.SCORING)
        return list(zip(positions, (round(score, 3) for score, _ in hits)))

    def _weigh(self, field: str, terms: Counter) -> Iterator[tantivy.Query]:
        for term, count in terms.items():
            query = self._term(field, term)
            # Lucene: a term that a query repeats scores as often as it is there
            yield query if count == 1 else tantivy.Query.boost_query(query, float(count))

    def _term(self, field: str, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, term, "freq")

    def _allow(self, titles: Iterable[str]) -> tantivy.Query:
        titled = tantivy.Query.term_set_query(self._schema, "whole_title", list(titles))
        return tantivy.Query.const_score_query(titled, 0.0)


def _any(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def open_index(corpus: Corpus, folder: Path | str, progress: Progress = iter) -> BM25:
    """Open the index of a corpus in a folder; build it first, unless it is there."""
    build_index(corpus, folder, progress)
    return BM25(corpus, folder)


def build_index(corpus: Corpus, folder: Path | str, progress: Progress = iter) -> None:
    """Build the index of a corpus in a folder, completely or not at all, unless there is one made
    of this corpus with this analyzer and tantivy. Of several processes one builds, the others wait.
    """
    folder = Path(folder)
    if _read_description(folder)[0] == _describe(corpus):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(Path(f"{folder}.lock"), f"the index {folder}"):
        if _read_description(folder)[0] == _describe(corpus):
            return
        with write_folder(folder, DESCRIPTION, "index") as partial:
            _add(corpus, partial, progress)
            files = sorted(path.name for path in partial.iterdir() if path.stat().st_size)
            made_of = _describe(corpus) | {"files": old.take_sums(partial, files)}
            old.write_description(partial / DESCRIPTION, made_of)


def _add(corpus: Corpus, folder: Path, progress: Progress) -> None:
    index = tantivy.Index(_schema(), str(folder))
    processes = count_processes(corpus)
    writer = index.writer(heap_size=200_000_000, num_threads=max(1, processes // 2))
    documents = make_documents(corpus, processes)
    for _, fields in zip(progress(range(len(corpus))), documents, strict=True):
        writer.add_document(tantivy.Document.from_dict(fields, index.schema))
    try:
        writer.commit()
        writer.wait_merging_threads()
    except ValueError as error:
        failed = f"{folder}: this index cannot be written ({one_line(error)})"
        raise Unavailable(f"{failed}; free some space, then run the same again") from error
    _open(folder, len(corpus))


def _open(folder: Path, count: int) -> tantivy.Searcher:
    with naming_file(folder, "an index"):
        searcher = tantivy.Index.open(str(folder)).searcher()
    if searcher.num_docs != count:
        counts = f"found {searcher.num_docs} paragraphs, expected {count}"
        raise DataError(f"{folder}: {counts}; {REMEDY}")
    return searcher


def _schema() -> tantivy.Schema:
    """Fields for terms that our own analyzer made, joined by spaces."""
    builder = tantivy.SchemaBuilder()
    # k1 1.2, b 0.75 and lengths in one byte are tantivy's own, as in Lucene's BM25Similarity
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    for name in ("whole_title", "lower_title"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("position", fast=True)
    return builder.build()


def _describe(corpus: Corpus) -> dict:
    made_of = {"corpus": corpus.fingerprint, "count": len(corpus), "analyzer": FINGERPRINT}
    return made_of | {"tantivy": tantivy.__version__, "fields": 2}


def _read_description(folder: Path) -> tuple[dict | None, dict]:
    """What the index in a folder was made of (None: no complete index), and its checksums."""
    description = old.read_description(folder / DESCRIPTION, REMEDY)
    sums = description.pop("files") if description else {}
    return description, sums
