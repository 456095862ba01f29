"""Loads a corpus into Elasticsearch: in its order, completely or not at all. After an interruption,
loading continues where it stopped.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import partial
from hashlib import blake2b

from ircotlib.errors import Unavailable
from ircotlib.retrieval import elastic_client
from ircotlib.retrieval.corpus import Corpus, Progress
from ircotlib.retrieval.elastic import ANALYZER, Elasticsearch, describe, probe_analyzer
from ircotlib.retrieval.elastic_client import Server, TryAgain, connect, reason_of

CHUNK = 500  # paragraphs in one request, at most
# the server's defaults, raised to the size of a larger corpus
MOST_TITLES = 65_536  # that a search may be limited to
MOST_HITS = 10_000  # of a search


def index_name(folder: str) -> str:
    """A valid name of a folder's index; one changed or cut at 100 characters ends in a hash."""
    safe = re.sub(r"[^a-z0-9_.-]+", "-", folder.lower())
    if safe == folder and len(folder) <= 100:
        return f"ircot-{folder}"
    digest = blake2b(folder.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    return f"ircot-{safe[:100]}-{digest}"


def open_elasticsearch(
    corpus: Corpus,
    url: str,
    name: str,
    progress: Progress = iter,
    *,
    shards: int = 1,
    replicas: int = 0,
    patience: float = 60.0,
) -> Elasticsearch:
    """Open the index of a corpus on a server; first load it, unless it is there (IRCoT §4.1).

    `name` becomes an alias of the index `name`-<fingerprint of the corpus>-<analyzer>-<version of
    the fields> once that is complete. Indices of other corpora that had the alias stay, without it.
    `shards`, `replicas`: used only for a new index. The rest, and errors: see Elasticsearch.
    """
    server = connect(url, patience)
    index = f"{name}-{corpus.fingerprint}-{ANALYZER}-{describe(corpus)['fields']}"
    if not server.get_mappings(index).get(index, {}).get("complete", False):
        _create(server, index, corpus, shards, replicas)
        _load(server, index, corpus, progress)
        _complete(server, index, corpus)
    _give_name(server, index, name)
    return Elasticsearch(corpus, url, name, patience=patience)


def _create(server: Server, index: str, corpus: Corpus, shards: int, replicas: int) -> None:
    settings = {"number_of_shards": shards, "number_of_replicas": replicas}
    settings |= {"refresh_interval": "-1"}  # only searches during loading would need refreshes
    settings |= {"max_terms_count": max(MOST_TITLES, len(corpus))}
    settings |= {"max_result_window": max(MOST_HITS, len(corpus))}
    whole = {"type": "keyword", "doc_values": False}
    text = {"type": "text", "analyzer": ANALYZER}  # BM25 with k1 1.2 and b 0.75, the defaults
    fields = {"title": text | {"fields": {"whole": whole}}, "lower_title": whole, "text": text}
    fields |= {"position": {"type": "integer"}}
    made_of = describe(corpus) | {"complete": False}
    mappings = {"dynamic": "strict", "_meta": made_of, "properties": fields}
    create = server.client.indices.create
    try:
        server.ask(lambda: create(index=index, settings=settings, mappings=mappings))
    except ValueError as error:
        if "resource_already_exists" not in str(error):
            raise


def _load(server: Server, index: str, corpus: Corpus, progress: Progress) -> None:
    """Send the missing paragraphs, again after a failure; ConnectionError if nothing is added."""
    start = -1
    failure = None
    while (missing := server.ask(lambda: _first_missing(server, index))) < len(corpus):
        if missing == start:
            stuck = f"nothing could be added after {start:,} of {len(corpus):,} paragraphs"
            advice = "check the server, then run the same command again: it goes on from there"
            raise Unavailable(f"index {index!r}: {stuck} ({failure}); {advice}")
        start = missing
        positions = progress(range(start, len(corpus)))
        try:
            elastic_client.once(lambda: _send(server, index, corpus, positions))
        except TryAgain as error:
            failure = error


def _send(server: Server, index: str, corpus: Corpus, positions: Iterable[int]) -> None:
    """Add paragraphs in chunks: one is sent when the previous one is complete.

    Paragraphs are created, never overwritten: one that is already there (409) stays, so there are
    no deleted copies, which would count in the scores.
    """

    def document(position: int) -> dict:
        paragraph = corpus[position]
        fields = {"title": paragraph.title, "lower_title": paragraph.title.lower()}
        fields |= {"text": paragraph.text, "position": position}
        return {"_op_type": "create", "_index": index, "_id": str(position), **fields}

    limits = {"chunk_size": CHUNK, "max_chunk_bytes": 5_000_000, "max_retries": 5}
    send = partial(elastic_client.elasticsearch.helpers.streaming_bulk, raise_on_error=False)
    for done, item in send(server.client, map(document, positions), **limits):
        result = item["create"]
        if not done and result["status"] != 409:
            reason = elastic_client.explain(result["status"], result)
            refused = f"paragraph {corpus[int(result['_id'])].id!r} of index {index!r}"
            raise ValueError(f"Elasticsearch refused {refused}: {reason}")


def _first_missing(server: Server, index: str) -> int:
    """The lowest missing position: up to it, as many paragraphs are below each as positions."""
    server.client.indices.refresh(index=index)
    positions = range(1, _count_below(server, index, None) + 1)
    return bisect_left(positions, True, key=lambda p: _count_below(server, index, p) < p)


def _count_below(server: Server, index: str, position: int | None) -> int:
    """How many paragraphs are below a position (None: in all); TryAgain if a shard failed."""
    query = {"match_all": {}} if position is None else {"range": {"position": {"lt": position}}}
    response = server.client.count(index=index, query=query)
    if response["_shards"]["failed"]:
        raise TryAgain(reason_of(response["_shards"].get("failures", [response["_shards"]])[0]))
    return response["count"]


def _complete(server: Server, index: str, corpus: Corpus) -> None:
    """Check the number of paragraphs, and mark the index as complete."""
    count = server.ask(lambda: _count_below(server, index, None))
    if count != len(corpus):
        counts = f"found {count:,} paragraphs, expected {len(corpus):,}"
        raise ValueError(f"index {index!r}: {counts}; delete the index, then load it again")
    made_of = describe(corpus) | {"complete": True, "terms": probe_analyzer(server, index)}
    indices = server.client.indices
    server.ask(lambda: indices.flush(index=index))
    server.ask(lambda: indices.put_settings(index=index, settings={"refresh_interval": None}))
    server.ask(lambda: indices.put_mapping(index=index, meta=made_of))


def _give_name(server: Server, index: str, name: str) -> None:
    """Make the name an alias of this index alone, in one atomic step."""
    indices = server.client.options(ignore_status=404).indices
    response = server.ask(lambda: indices.get_alias(name=name))
    others = list(response) if response.meta.status != 404 else []
    if others == [index]:
        return
    if not others and server.ask(lambda: indices.exists(index=name)):
        taken = f"{name!r} is an index at {', '.join(server.urls)}"
        raise ValueError(f"{taken}, expected a free name or an alias; take another name")
    actions = [{"remove": {"index": other, "alias": name}} for other in others]
    actions.append({"add": {"index": index, "alias": name}})
    server.ask(lambda: server.client.indices.update_aliases(actions=actions))
