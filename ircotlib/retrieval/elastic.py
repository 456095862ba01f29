"""The Elasticsearch backend, for corpora too large for one machine; it ranks as the embedded BM25
does (IRCoT §4.1).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256

import numpy as np

from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval import ranking
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.elastic_client import Server, TryAgain, connect, explain, reason_of
from ircotlib.retrieval.ranking import Hits, Refused, Search, WrittenReply

BATCH = 64  # searches in one request
ANALYZER = "english"
PROBE = (
    "The km² 2½ DJマックス ♯ Joe’s O'Neil's 1,000.5 U.S. ראב\"י İΑΣ 漢字 ไทย 👩\u200d👧 🇫🇷 "
    "revved apology possibly hopping tying relational"
)
# scores as if all shards were one
HEADER = {"search_type": "dfs_query_then_fetch", "allow_partial_search_results": False}
FIELDS = "status", "error", "_shards", "timed_out", "hits.hits.sort"  # of a response
LOAD = "load it with open_elasticsearch"


class Elasticsearch:
    """Answers Retrieve and NearestTitle from an index on a server; see open_elasticsearch.

    `url`: see `connect`. `name`: the index or its alias. `patience`: seconds to wait for a server
    that stops answering, before ConnectionError. `fingerprint` changes with the corpus, the
    analyzer, the scoring and the server's version of Lucene, not with the address. Raises
    ValueError if there is no such index, or it is of another corpus or analyzer. Differs from the
    embedded backend: see BM25.
    """

    answers = (Retrieve, NearestTitle)
    depth = ranking.DEPTH

    def __init__(self, corpus: Corpus, url: str, name: str, *, patience: float = 60.0):
        self.corpus = corpus
        self._server = connect(url, patience)
        self._index = find_index(self._server, name, corpus)
        terms = probe_analyzer(self._server, self._index)
        made_of = [ranking.SCORING, describe(corpus), terms, "Lucene", self._server.lucene]
        self.fingerprint = sha256(json.dumps(made_of).encode()).hexdigest()[:16]
        self.constants = {  # see BM25
            "scoring": ranking.SCORING,
            "analyzer": f"Elasticsearch's {ANALYZER} ({terms})",
            "engine": f"Elasticsearch, Lucene {self._server.lucene}",
        }

    def take(self, requests: Sequence[Retrieve | NearestTitle]) -> list[int]:
        """The indices of the next batch: those of the first 64 requests."""
        return list(range(len(requests)))[:BATCH]

    def answer(self, requests: Sequence[Retrieve | NearestTitle]) -> Iterator[WrittenReply]:
        """See BM25; also ConnectionError if the server stays unavailable."""
        return ranking.answer_in_rounds(self, requests, self._search, BATCH)

    # the same for all backends
    decode, search, nearest_titles = ranking.decode, ranking.search, ranking.nearest_titles

    def query_of(self, text: str, titles: Iterable[str] | None) -> dict:
        """See ranking.Backend."""
        query = _any(text, "title", "text")  # as IRCoT's program asks
        if titles is not None:
            query["bool"]["filter"] = _equal("title.whole", titles)
        return query

    def queries_of_title(self, title: str) -> list[dict]:
        """See ranking.Backend."""
        same = _equal("title.whole", [title])
        any_case = _equal("lower_title", [title.lower()])
        return [{"bool": {"filter": same}}, {"bool": {"filter": any_case}}, _any(title, "title")]

    def _search(self, searches: Sequence[Search]) -> list[Hits | Refused]:
        hits: dict[int, Hits | Refused] = {}
        fields = ",".join(f"responses.{field}" for field in FIELDS)
        msearch = partial(self._server.client.msearch, index=self._index, filter_path=fields)

        def ask_for_the_rest() -> None:
            rest = [index for index in range(len(searches)) if index not in hits]
            lines = [line for index in rest for line in (HEADER, _body(searches[index]))]
            response = msearch(searches=lines)
            failures = []
            for index, answer in zip(rest, response["responses"], strict=True):
                try:
                    hits[index] = _read(answer, searches[index])
                except TryAgain as failure:
                    failures.append(failure)
            if failures:
                raise failures[0]

        self._server.ask(ask_for_the_rest)
        return [hits[index] for index in range(len(searches))]


def describe(corpus: Corpus) -> dict:
    """What an index of this corpus is made of, as recorded in its mapping."""
    return {"corpus": corpus.fingerprint, "count": len(corpus), "analyzer": ANALYZER, "fields": 1}


def find_index(server: Server, name: str, corpus: Corpus) -> str:
    """The index of a name; ValueError unless it is complete, of this corpus and analyzer."""
    mappings = server.get_mappings(name)
    if len(mappings) != 1:
        indices = f"found {len(mappings)} indices named {name!r} at {', '.join(server.urls)}"
        raise ValueError(f"{indices}, expected one; {LOAD}")
    ((index, made_of),) = mappings.items()
    expected = describe(corpus) | {"complete": True, "terms": probe_analyzer(server, index)}
    if made_of != expected:
        differ = f"found contents {made_of}, expected {expected}"
        raise ValueError(f"index {index!r}: {differ}; {LOAD}, or take another name")
    return index


def probe_analyzer(server: Server, index: str) -> str:
    """A hash of the index's terms of a text in many scripts: it changes with the analyzer."""
    terms = []
    for field in ("title", "text"):
        ask = partial(server.client.indices.analyze, index=index, field=field, text=PROBE)
        terms.append([token["token"] for token in server.ask(ask)["tokens"]])
    return sha256(json.dumps(terms).encode()).hexdigest()[:16]


def _any(text: str, *fields: str) -> dict:
    matches = [{"match": {field: text}} for field in fields]
    return {"bool": {"should": matches, "minimum_should_match": 1}}


def _equal(field: str, texts: Iterable[str]) -> dict:
    return {"terms": {field: list(texts)}}


def _body(search: Search) -> dict:
    """The body of a search. Hits are sorted by score and position, so their sort values give both.

    All hits are counted if titles are filtered: Elasticsearch 9.0 (Lucene 10.1) skips some of the
    best hits of a filtered search when it may stop counting early. Without a filter it skips none,
    and is faster without counting.
    """
    body = {"query": search.query, "size": search.size, "sort": ["_score", {"position": "asc"}]}
    return body | {"track_total_hits": "filter" in search.query["bool"], "_source": False}


def _read(answer: dict, search: Search) -> Hits | Refused:
    """The hits of a search, or Refused if it can never be answered. Raises TryAgain if it may
    be answered later, and ValueError if no search can be answered.
    """
    status = answer["status"]
    if status == 200 and not answer["timed_out"] and not answer["_shards"]["failed"]:
        hits = [hit["sort"] for hit in answer.get("hits", {}).get("hits", ())]
        # as 32-bit numbers: the server writes only as many digits as those need
        return [(position, round(float(np.float32(score)), 3)) for score, position in hits]
    if status == 200:
        raise TryAgain(f"some shards did not answer: {reason_of(answer['_shards'])}")
    text = search.text if len(search.text) <= 200 else search.text[:200] + "…"
    reason = explain(status, answer.get("error"))
    failure = f"the search {text!r} ({len(search.text)} characters, {search.size} hits): {reason}"
    if status != 400:  # not this search's fault: the index is gone, or closed to this user
        raise ValueError(f"Elasticsearch refused {failure}")
    return Refused(f"Elasticsearch refused {failure}")
