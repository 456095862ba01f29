"""Elasticsearch, which ranks as the embedded BM25 does (IRCoT §4.1)."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from ircotlib.errors import Unavailable
from ircotlib.files import locked, need, track
from ircotlib.keys import may_have_key, read_key
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.bm25 import SCORING
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.ranking import Hits, Ranked, digest
from ircotlib.text import plain

need("elasticsearch", "elasticsearch")
import elasticsearch
from elasticsearch.helpers import bulk

VERSION = 2  # of the fields of an index
KEY = "ELASTICSEARCH_API_KEY"  # only for servers that may have a key


class Elasticsearch(Ranked):
    """The index of a corpus on a server. If it is missing or incomplete, it is loaded
    first, by one of the processes that share `folder`.
    """

    def __init__(self, corpus: Corpus, folder: Path | str, url: str):
        self.corpus = corpus
        self._index = f"ircot-{corpus.fingerprint}-{VERSION}"
        certificate: Any = os.environ.get("ELASTICSEARCH_CA")  # a file
        self._client = elasticsearch.Elasticsearch(
            url,
            api_key=(may_have_key(url) and read_key(KEY)) or None,
            ca_certs=certificate,
            max_retries=10,
            retry_on_timeout=True,
            request_timeout=60,  # seconds
        )
        self._url = url
        try:
            lucene = self._client.info()["version"]["lucene_version"]
            with locked(Path(f"{folder}.lock")):
                if not self._is_whole():
                    self._load()
        except (elasticsearch.ApiError, elasticsearch.TransportError) as error:
            raise self._unavailable(error) from error
        made_of = (corpus.fingerprint, VERSION, "Lucene", lucene)
        self.fingerprint = digest(SCORING, *made_of)

    def _unavailable(self, error: Exception) -> Unavailable:
        """What is wrong with the server: none there, no key, another version."""
        wrong = f"{self._url}: {plain(str(error))[:300]}"
        version = elasticsearch.__versionstr__
        return Unavailable(f"{wrong}; see {KEY}; the client needs a server {version}")

    def queries_of(self, request: Retrieve | NearestTitle) -> list[dict]:
        """As those of BM25."""
        if isinstance(request, NearestTitle):
            same = {"title.whole": request.title}
            any_case = {"lower_title": request.title.lower()}
            return [
                {"bool": {"filter": {"term": same}}},
                {"bool": {"filter": {"term": any_case}}},
                _any(request.title, "title"),
            ]
        query = _any(request.query, "title", "text")  # as IRCoT's program asks
        if request.titles is not None:
            query["bool"]["filter"] = {"terms": {"title.whole": request.titles}}
        return [query]

    def find(self, query: dict, most: int) -> Hits:
        """The best hits, at most so many: pairs of position and score, best first."""
        try:
            reply = self._client.search(
                index=self._index,
                query=query,
                size=min(most, len(self.corpus)),
                # these two are all that is read of a hit
                sort=["_score", {"position": "asc"}],
                filter_path="hits.hits.sort",
                # scores as if all shards were one
                search_type="dfs_query_then_fetch",
                allow_partial_search_results=False,
                # counted if titles are filtered: Elasticsearch 9.0 (Lucene 10.1) skips
                # some of the best hits of a filtered search when it may stop counting
                track_total_hits="filter" in query["bool"],
            )
        # only this query: it has too many words
        except elasticsearch.BadRequestError as error:
            raise ValueError(str(error)) from error
        except (elasticsearch.ApiError, elasticsearch.TransportError) as error:
            raise self._unavailable(error) from error
        hits = [hit["sort"] for hit in reply.get("hits", {}).get("hits", ())]
        # as 32-bit numbers: the server writes only as many digits as those need
        return [(position, round(float(np.float32(s)), 3)) for s, position in hits]

    def _is_whole(self) -> bool:
        if not self._client.indices.exists(index=self._index):
            return False
        self._client.indices.refresh(index=self._index)
        return self._client.count(index=self._index)["count"] == len(self.corpus)

    def _load(self) -> None:
        """Load the corpus anew, in its order."""
        name = self._index
        whole = {"type": "keyword", "doc_values": False}
        # BM25 with k1 1.2, b 0.75: the defaults
        text = {"type": "text", "analyzer": "english"}
        fields = {
            "title": {**text, "fields": {"whole": whole}},
            "lower_title": whole,
            "text": text,
            "position": {"type": "integer"},
        }
        # hits: the server's default, raised to the size of a larger corpus
        most = max(10_000, len(self.corpus))
        indices = self._client.indices
        indices.delete(index=name, ignore_unavailable=True)
        indices.create(
            index=name,
            settings={"refresh_interval": "-1", "max_result_window": most},
            mappings={"dynamic": "strict", "properties": fields},
        )
        documents = (
            {
                # never overwritten: a deleted copy would count in the scores
                "_op_type": "create",
                "_id": str(position),
                "position": position,
                "title": p.title,
                "lower_title": p.title.lower(),
                "text": p.text,
            }
            for position, p in enumerate(track(self.corpus, f"index {name}"))
        )
        bulk(self._client, documents, index=name, max_retries=5, raise_on_error=False)
        if not self._is_whole():
            raise Unavailable(f"index {name}: incomplete; see the server's log")


def _any(text: str, *fields: str) -> dict[str, Any]:
    """Any of the terms of a text, in any of the fields; scores are added."""
    matches = [{"match": {field: text}} for field in fields]
    return {"bool": {"should": matches, "minimum_should_match": 1}}
