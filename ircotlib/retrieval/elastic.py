"""Elasticsearch, which ranks as the embedded BM25 does (IRCoT §4.1)."""

import os
from pathlib import Path

import numpy as np

from ircotlib.errors import DataError, Unavailable
from ircotlib.files import locked, need, track
from ircotlib.keys import may_have_key
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.bm25 import SCORING
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.ranking import Hits, Ranked, digest

need("elasticsearch", "elasticsearch")
import elasticsearch
from elasticsearch.helpers import BulkIndexError, streaming_bulk

VERSION = 2  # of the fields of an index


class Elasticsearch(Ranked):
    """The index of a corpus on a server, loaded first, by one of the processes that
    share `folder`, if it is missing or incomplete. Credentials come from the
    environment: ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and
    ELASTICSEARCH_PASSWORD; over http they go to this machine only. ELASTICSEARCH_CA is
    the file of the certificate to trust.
    """

    def __init__(self, corpus: Corpus, folder: Path | str, url: str):
        self.corpus = corpus
        self._index = f"ircot-{corpus.fingerprint}-{VERSION}"
        options: dict = {
            "max_retries": 10,
            "retry_on_timeout": True,
            "request_timeout": 60,
        }
        if may_have_key(url):
            key, user = (
                os.environ.get(f"ELASTICSEARCH_{name}") for name in ("API_KEY", "USER")
            )
            options |= {"api_key": key} if key else {}
            options |= (
                {"basic_auth": (user, os.environ["ELASTICSEARCH_PASSWORD"])}
                if user
                else {}
            )
        certificate = os.environ.get("ELASTICSEARCH_CA") or None
        self._client = elasticsearch.Elasticsearch(url, ca_certs=certificate, **options)
        lucene = self._client.info()["version"]["lucene_version"]
        self.fingerprint = digest(
            SCORING, corpus.fingerprint, VERSION, "Lucene", lucene
        )
        with locked(Path(f"{folder}.lock")):
            if not self._is_whole():
                self._load()

    def queries_of(self, request: Retrieve | NearestTitle) -> list[dict]:
        if isinstance(request, NearestTitle):
            same, any_case = (
                {"title.whole": request.title},
                {"lower_title": request.title.lower()},
            )
            exact = [
                {"bool": {"filter": {"term": title}}} for title in (same, any_case)
            ]
            return [*exact, _any(request.title, "title")]
        query = _any(request.query, "title", "text")  # as IRCoT's program asks
        if request.titles is not None:
            query["bool"]["filter"] = {"terms": {"title.whole": request.titles}}
        return [query]

    def find(self, query: dict, most: int) -> Hits:
        # sorted by score and position, so that these sort keys are all that is read of
        # a hit
        how = {"sort": ["_score", {"position": "asc"}], "filter_path": "hits.hits.sort"}
        # scores as if all shards were one
        how |= {
            "search_type": "dfs_query_then_fetch",
            "allow_partial_search_results": False,
        }
        # counted if titles are filtered: Elasticsearch 9.0 (Lucene 10.1) skips some of
        # the best hits of a filtered search when it may stop counting early
        how |= {
            "track_total_hits": "filter" in query["bool"],
            "size": min(most, len(self.corpus)),
        }
        try:
            reply = self._client.search(index=self._index, query=query, **how)
        # only this query: it has too many words
        except elasticsearch.BadRequestError as error:
            raise ValueError(str(error)) from error
        hits = [hit["sort"] for hit in reply.get("hits", {}).get("hits", ())]
        # as 32-bit numbers: the server writes only as many digits as those need
        return [
            (position, round(float(np.float32(score)), 3)) for score, position in hits
        ]

    def _is_whole(self) -> bool:
        indices = self._client.indices
        if not indices.exists(index=self._index):
            return False
        indices.refresh(index=self._index)
        mappings = indices.get_mapping(index=self._index)[self._index]["mappings"]
        count = self._client.count(index=self._index)["count"]
        return mappings.get("_meta") == {"version": VERSION} and count == len(
            self.corpus
        )

    def _load(self) -> None:
        """Load the corpus anew, in its order."""
        whole = {"type": "keyword", "doc_values": False}
        # BM25 with k1 1.2, b 0.75: the defaults
        text = {"type": "text", "analyzer": "english"}
        fields = {
            "title": text | {"fields": {"whole": whole}},
            "lower_title": whole,
            "text": text,
        }
        fields |= {"position": {"type": "integer"}}
        mappings = {
            "dynamic": "strict",
            "_meta": {"version": VERSION},
            "properties": fields,
        }
        # the server's defaults, raised to the size of a larger corpus
        # titles of a filter
        settings = {"max_terms_count": max(65_536, len(self.corpus))}
        settings |= {"max_result_window": max(10_000, len(self.corpus))}  # hits
        settings |= {"refresh_interval": "-1"}
        indices = self._client.indices
        indices.delete(index=self._index, ignore_unavailable=True)
        indices.create(index=self._index, settings=settings, mappings=mappings)

        # created, never overwritten: a deleted copy would count in the scores
        documents = (
            {"_op_type": "create", "_id": str(position), "position": position}
            | {"title": p.title, "lower_title": p.title.lower(), "text": p.text}
            for position, p in enumerate(track(self.corpus, f"index {self._index}"))
        )
        try:
            for _ in streaming_bulk(
                self._client, documents, index=self._index, max_retries=5
            ):
                pass
        except BulkIndexError as error:
            raise DataError(
                f"{self._index}: {error} {str(error.errors)[:500]}"
            ) from None
        if not self._is_whole():
            raise Unavailable(
                f"index {self._index}: incomplete after loading; run it again"
            )


def _any(text: str, *fields: str) -> dict:
    matches = [{"match": {field: text}} for field in fields]
    return {"bool": {"should": matches, "minimum_should_match": 1}}
