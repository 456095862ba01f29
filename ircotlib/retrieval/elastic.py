"""The Elasticsearch backend of Retrieve and NearestTitle, for corpora beyond one machine, ranking
as the embedded one (IRCoT §4.1).
"""

import json
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

import numpy as np

from ircotlib.data import Paragraph
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.bm25 import SCORING, SPARE
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.elastic_client import Away, Server, connect, is_away, reason_of

# searches in one request; what was answered by earlier ones is in the call cache when a server
# fails
BATCH = 64
ANALYZER = "english"
PROBE = "The km² 2½ DJマックス ♯ Joe’s O'Neil's 1,000.5 U.S. ראב\"י İΑΣ 漢字 ไทย 👩\u200d👧 🇫🇷 revved apology possibly hopping tying relational"
# as if all shards were one
HEADER = {"search_type": "dfs_query_then_fetch", "allow_partial_search_results": False}
WANTED = "responses.status,responses.error,responses._shards,responses.timed_out,responses.hits.hits.sort"


@dataclass(frozen=True)
class Search:
    """One search: its text, for errors, its query in Elasticsearch's language, and how many hits."""

    text: str
    query: dict
    size: int


Hits = list[tuple[int, float]]  # position in the corpus, score to 3 decimals
Searching = Generator[Search, Hits, list]


class Elasticsearch:
    """The backend of Retrieve and NearestTitle over a corpus and its index on a server;
    open_elasticsearch loads it and makes one.

    `url`: "http://host:9200"; of a cluster several with commas, so that one node may fail. `name`:
    of the index or its alias. `patience`: seconds to wait for a server that went away, before
    ConnectionError. Credentials: see `connect`. `fingerprint` changes with the corpus, the
    analyzer, the scoring and the server's version of Lucene, not with the address. Raises
    ValueError when there is no such index, or one of another corpus or analyzer. Differs from the
    embedded backend: a title or text without any term ("It") does not count in the number and mean
    length of its field.
    """

    answers = (Retrieve, NearestTitle)

    def __init__(self, corpus: Corpus, url: str, name: str, *, patience: float = 60.0):
        self.corpus = corpus
        self._server = connect(url, patience)
        self._index = find_index(self._server, name, corpus)
        made_of = [
            SCORING,
            about(corpus),
            probe_analyzer(self._server, self._index),
            "Lucene",
            self._server.lucene,
        ]
        self.fingerprint = sha256(json.dumps(made_of).encode()).hexdigest()[:16]

    def take(self, requests: Sequence[Retrieve | NearestTitle]) -> list[int]:
        """The places of the next batch: the first 64."""
        return list(range(len(requests)))[:BATCH]

    def answer(self, requests: Sequence[Retrieve | NearestTitle]) -> list[str]:
        """One reply a request, best first: JSON of [[position in corpus, score], ...] or [title,
        ...].

        Raises ValueError for a k or n below 1 or a search that the server refuses, ConnectionError
        when the server stays away.
        """
        distinct = list(dict.fromkeys(requests))
        replies: dict[Retrieve | NearestTitle, str] = {}
        for start in range(0, len(distinct), BATCH):
            batch = distinct[start : start + BATCH]
            replies |= zip(batch, self._play([self._reply(request) for request in batch]))
        return [replies[request] for request in requests]

    def decode(self, reply: str) -> tuple[Paragraph, ...] | tuple[str, ...]:
        """The paragraphs or titles of a reply, best first."""
        return tuple(
            hit if isinstance(hit, str) else self.corpus[hit[0]] for hit in json.loads(reply)
        )

    def search(
        self, query: str, k: int = 15, titles: Collection[str] | None = None
    ) -> list[tuple[Paragraph, float]]:
        """The k best paragraphs with their scores, best first; none when no word of the query is in
        the index.
        """
        (hits,) = self._play([self._rank(query, _scored(query, titles), k)])
        return [(self.corpus[position], score) for position, score in hits]

    def nearest_titles(self, title: str, n: int = 1) -> list[str]:
        """The n titles of the corpus nearest to a title (IRCoT App. B), best first: the same title,
        then in any case, then by BM25.
        """
        return self._play([self._nearest(title, n)])[0]

    def _reply(self, request: Retrieve | NearestTitle) -> Searching:
        if isinstance(request, NearestTitle):
            return json.dumps((yield from self._nearest(request.title, request.n)))
        hits = yield from self._rank(
            request.query, _scored(request.query, request.titles), request.k
        )
        return json.dumps(hits, separators=(",", ":"))

    def _nearest(self, title: str, n: int) -> Searching:
        same, any_case = _equal("title.whole", [title]), _equal("lower_title", [title.lower()])
        titles: dict[str, None] = {}
        for query in (
            {"bool": {"filter": same}},
            {"bool": {"filter": any_case}},
            _any(title, "title"),
        ):
            titles |= dict.fromkeys((yield from self._titles(title, query, n)))
            if len(titles) >= n:
                break
        return list(titles)[:n]

    def _titles(self, title: str, query: dict, n: int) -> Searching:
        """The titles of the best paragraphs, each once: at least n, where there are as many."""
        k = n
        while True:
            hits = yield from self._rank(title, query, k)
            titles = list(dict.fromkeys(self.corpus[position].title for position, _ in hits))
            if len(titles) >= n or len(hits) < k:
                return titles
            k *= 4

    def _rank(self, text: str, query: dict, k: int) -> Searching:
        """The k best positions and scores; equal scores (to 3 decimals) in the order of the corpus,
        on however many shards.
        """
        if k < 1:
            raise ValueError(f"k is {k}: ask for at least 1 paragraph")
        size = k + SPARE
        while True:
            hits = yield Search(text, query, min(size, len(self.corpus)))
            if len(hits) < size or hits[-1][1] < hits[k - 1][1]:
                return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]
            size *= 4

    def _play(self, searchings: Sequence[Searching]) -> list:
        """Play searchings to their ends, each round of searches in one request; what they return."""
        results, sent = {}, dict.fromkeys(range(len(searchings)))
        while sent:
            asked = {}
            for place, hits in sent.items():
                try:
                    asked[place] = searchings[place].send(hits)
                except StopIteration as end:
                    results[place] = end.value
            sent = dict(zip(asked, self._search(list(asked.values()))))
        return [results[place] for place in range(len(searchings))]

    def _search(self, searches: Sequence[Search]) -> list[Hits]:
        found: dict[int, Hits] = {}

        def ask_for_the_rest() -> None:
            places = [place for place in range(len(searches)) if place not in found]
            lines = [line for place in places for line in (HEADER, _body(searches[place]))]
            response = self._server.client.msearch(
                index=self._index, searches=lines, filter_path=WANTED
            )
            failures = []
            for place, answer in zip(places, response["responses"], strict=True):
                if failure := _failure(answer, searches[place]):
                    failures.append(failure)
                else:
                    found[place] = _hits(answer)
            if failures:
                raise Away(failures[0])

        if searches:
            self._server.ask(ask_for_the_rest)
        return [found[place] for place in range(len(searches))]


def about(corpus: Corpus) -> dict:
    """What an index of a corpus is made of, as its mapping records it."""
    return {"corpus": corpus.fingerprint, "count": len(corpus), "analyzer": ANALYZER, "fields": 1}


def find_index(server: Server, name: str, corpus: Corpus) -> str:
    """The index that a name or alias stands for; ValueError unless it is a whole index of this
    corpus, made with this analyzer.
    """
    response = server.ask(
        lambda: server.client.options(ignore_status=404).indices.get_mapping(index=name)
    )
    count = 0 if response.meta.status == 404 else len(response)
    if count != 1:
        raise ValueError(
            f"found {count} indices named {name!r} at {', '.join(server.urls)}, expected one; load it with open_elasticsearch"
        )
    ((index, made),) = response.items()
    found = made["mappings"].get("_meta", {})
    expected = about(corpus) | {"complete": True, "terms": probe_analyzer(server, index)}
    if found != expected:
        raise ValueError(
            f"index {index!r}: found one of {found}, expected {expected}; load it with open_elasticsearch, or take another name"
        )
    return index


def probe_analyzer(server: Server, index: str) -> str:
    """A digest of the terms that the index makes of a text of many scripts; it changes with the
    analyzer and its version.
    """
    title, text = (
        partial(server.client.indices.analyze, index=index, field=field, text=PROBE)
        for field in ("title", "text")
    )
    terms = [
        [token["token"] for token in server.ask(analyze_probe)["tokens"]]
        for analyze_probe in (title, text)
    ]
    return sha256(json.dumps(terms).encode()).hexdigest()[:16]


def _scored(text: str, titles: Collection[str] | None) -> dict:
    query = _any(text, "title", "text")
    if titles is not None:
        query["bool"]["filter"] = _equal("title.whole", titles)
    return query


def _any(text: str, *fields: str) -> dict:
    return {
        "bool": {
            "should": [{"match": {field: text}} for field in fields],
            "minimum_should_match": 1,
        }
    }


def _equal(field: str, texts: Iterable[str]) -> dict:
    return {"terms": {field: list(texts)}}


def _body(search: Search) -> dict:
    """The search as it is sent; the hits say where they stand by the values they are sorted by.

    Hits are counted to the end where titles are filtered: if the count may stop, Elasticsearch 9.0
    (Lucene 10.1) skips some of the best hits of a filtered search. Without a filter it skips none,
    and is faster when it need not count.
    """
    return {
        "query": search.query,
        "size": search.size,
        "sort": ["_score", {"position": "asc"}],
        "track_total_hits": "filter" in search.query["bool"],
        "_source": False,
    }


def _failure(answer: dict, search: Search) -> str | None:
    """Why a search has no answer for now; None when it has one, ValueError when it will never have
    one.
    """
    if answer["status"] == 200 and not answer["timed_out"] and not answer["_shards"]["failed"]:
        return None
    text = search.text if len(search.text) <= 200 else search.text[:200] + "…"
    reason = f"status {answer['status']}, {reason_of(answer.get('error') or answer['_shards'])}"
    failure = f"the search {text!r} ({len(search.text)} characters, {search.size} hits): {reason}"
    if answer["status"] == 200 or is_away(answer["status"]):
        return failure
    raise ValueError(f"Elasticsearch refused {failure}")


def _hits(answer: dict) -> Hits:
    """Positions and scores; a score is read back as the 32-bit number that the server wrote in as
    few digits as tell it from others.
    """
    hits = [hit["sort"] for hit in answer.get("hits", {}).get("hits", ())]
    return [(position, round(float(np.float32(score)), 3)) for score, position in hits]
