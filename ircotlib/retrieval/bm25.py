"""The embedded backend of Retrieve: BM25 over titles and texts, ranking as Elasticsearch does with analyzer `english` (IRCoT §4.1)."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import tantivy
from filelock import FileLock

from ircotlib.data import Paragraph
from ircotlib.program import Retrieve
from ircotlib.retrieval.analyzer import FINGERPRINT, analyze
from ircotlib.retrieval.corpus import Corpus

SCORING = "BM25(title) + BM25(text), OR of terms, k1 1.2, b 0.75, scores to 3 decimals, ties by position"
ABOUT = "index.json"
SPARE = 10  # hits fetched beyond k, to see whether a tie crosses k
THREADS = min(8, os.cpu_count() or 1)


class BM25:
    """The backend of Retrieve over a corpus and the index that build_index made of it; open_index makes one.

    `fingerprint` changes with the corpus, the analyzer, the scoring and the version of tantivy.
    Differs from Elasticsearch: a title or text without any term ("It") still counts in the number and mean length of its field.
    """

    answers = Retrieve

    def __init__(self, corpus: Corpus, folder: Path | str):
        expected, found = _about(corpus), _read_about(Path(folder))
        if found != expected:
            raise ValueError(f"{folder}: found an index of {found}, expected {expected}; open_index builds it anew")
        self.corpus = corpus
        self.fingerprint = sha256(json.dumps([SCORING, expected]).encode()).hexdigest()[:16]
        self._schema = _schema()
        self._searcher = _open(Path(folder), len(corpus))

    def answer(self, requests: Sequence[Retrieve]) -> list[str]:
        """One reply a request: JSON of [[position in corpus, score], ...], best first; ValueError for a k below 1."""
        distinct = list(dict.fromkeys(requests))
        with ThreadPoolExecutor(THREADS) as pool:
            replies = dict(zip(distinct, pool.map(self._reply, distinct)))
        return [replies[request] for request in requests]

    def decode(self, reply: str) -> tuple[Paragraph, ...]:
        """The paragraphs of a reply, best first."""
        return tuple(self.corpus[position] for position, _ in json.loads(reply))

    def search(self, query: str, k: int = 15, titles: Iterable[str] | None = None) -> list[tuple[Paragraph, float]]:
        """The k best paragraphs with their scores, best first; none when no word of the query is in the index."""
        hits = self._rank(self._query(query, titles), k)
        return [(self.corpus[position], score) for position, score in hits]

    def nearest_titles(self, title: str, n: int = 1) -> list[str]:
        """The n titles of the corpus nearest to a title by BM25 (IRCoT App. B), best first.

        A title of stop words only ("It") has no terms: then the same title, letter by letter, when the corpus has it.
        """
        terms = Counter(analyze(title))
        query = self._any(self._weigh("title", terms)) if terms else self._allow([title])
        k = n
        while True:
            hits = self._rank(query, k)
            titles = list(dict.fromkeys(self.corpus[position].title for position, _ in hits))
            if len(titles) >= n or len(hits) < k:
                return titles[:n]
            k *= 4

    def _reply(self, request: Retrieve) -> str:
        return json.dumps(self._rank(self._query(request.query, request.titles), request.k), separators=(",", ":"))

    def _query(self, text: str, titles: Iterable[str] | None) -> tantivy.Query:
        terms = Counter(analyze(text))
        scored = self._any([*self._weigh("title", terms), *self._weigh("text", terms)])
        if titles is None:
            return scored
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, scored), (tantivy.Occur.Must, self._allow(titles))])

    def _weigh(self, field: str, terms: Counter) -> Iterator[tantivy.Query]:
        """One query a term, as heavy as the term is frequent in the question."""
        for term, count in terms.items():
            query = tantivy.Query.term_query(self._schema, field, term, "freq")
            yield query if count == 1 else tantivy.Query.boost_query(query, float(count))

    def _any(self, queries: Iterable[tantivy.Query]) -> tantivy.Query:
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])

    def _allow(self, titles: Iterable[str]) -> tantivy.Query:
        return tantivy.Query.const_score_query(tantivy.Query.term_set_query(self._schema, "whole_title", list(titles)), 0.0)

    def _rank(self, query: tantivy.Query, k: int) -> list[tuple[int, float]]:
        """The k best positions and scores; equal scores (to 3 decimals) in the order of the corpus, whatever the index."""
        if k < 1:
            raise ValueError(f"k is {k}: ask for at least 1 paragraph")
        limit = k + SPARE
        while True:
            hits = self._searcher.search(query, min(limit, len(self.corpus)), count=False).hits
            scores = [round(score, 3) for score, _ in hits]
            if len(hits) < limit or scores[-1] < scores[k - 1]:
                break
            limit *= 4
        positions = self._searcher.fast_field_values("position", [address for _, address in hits])
        return sorted(zip(positions, scores), key=lambda hit: (-hit[1], hit[0]))[:k]


def open_index(corpus: Corpus, folder: Path | str, progress: Callable[[Iterable], Iterable] = iter) -> BM25:
    """The backend over the index in a folder, built first unless there is one of this corpus, this analyzer and this tantivy."""
    build_index(corpus, folder, progress)
    return BM25(corpus, folder)


def build_index(corpus: Corpus, folder: Path | str, progress: Callable[[Iterable], Iterable] = iter) -> None:
    """Build the index of a corpus in a folder, whole or not at all; nothing to do when it is there.

    `progress`: wraps the paragraphs to show a bar, as tqdm does. Of several processes, one builds and the others wait.
    """
    folder = Path(folder)
    if _read_about(folder) == _about(corpus):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if _read_about(folder) == _about(corpus):
            return
        _build(corpus, folder, progress)


def _build(corpus: Corpus, folder: Path, progress: Callable[[Iterable], Iterable]) -> None:
    """Build beside the folder, then put it in place of what is there: an old index, or nothing."""
    if folder.exists() and _read_about(folder) is None and any(folder.iterdir()):
        raise ValueError(f"{folder} holds files that are no index: an index needs a folder of its own, empty or not there yet")
    partial, replaced = (folder.with_name(folder.name + suffix) for suffix in (".partial", ".replaced"))
    for left_over in (partial, replaced):
        shutil.rmtree(left_over, ignore_errors=True)
    partial.mkdir()
    _add(corpus, partial, progress)
    (partial / ABOUT).write_text(json.dumps(_about(corpus)) + "\n", encoding="utf-8")
    if folder.exists():
        folder.rename(replaced)
    partial.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)


def _add(corpus: Corpus, folder: Path, progress: Callable[[Iterable], Iterable]) -> None:
    index = tantivy.Index(_schema(), str(folder))
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    for position, paragraph in enumerate(progress(corpus)):
        document = tantivy.Document()
        document.add_text("title", " ".join(analyze(paragraph.title)))
        document.add_text("text", " ".join(analyze(paragraph.text)))
        document.add_text("whole_title", paragraph.title)
        document.add_unsigned("position", position)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    _open(folder, len(corpus))


def _open(folder: Path, count: int) -> tantivy.Searcher:
    try:
        searcher = tantivy.Index.open(str(folder)).searcher()
    except ValueError as error:
        raise ValueError(f"{folder}: this index cannot be read ({error}); delete the folder, and open_index builds it anew") from error
    if searcher.num_docs != count:
        raise ValueError(
            f"{folder}: found {searcher.num_docs} paragraphs, expected {count}; delete the folder, and open_index builds it anew"
        )
    return searcher


def _schema() -> tantivy.Schema:
    """Terms come from our own analyzer, joined by spaces."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("title", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("whole_title", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("position", fast=True)
    return builder.build()


def _about(corpus: Corpus) -> dict:
    return {"corpus": corpus.fingerprint, "count": len(corpus), "analyzer": FINGERPRINT, "tantivy": tantivy.__version__, "fields": 1}


def _read_about(folder: Path) -> dict | None:
    """What the index in a folder was made of; None when there is no whole index."""
    path = folder / ABOUT
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
