"""Retrieval with vectors: dense, late interaction, and the hybrid of BM25 and dense. BM25 over
titles answers NearestTitle (IRCoT App. B), whichever of them answers Retrieve.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from ircotlib.files import models
from ircotlib.files.kept import kept_until_changed
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval import ranking
from ircotlib.retrieval.approximate import Approximate, build_approximate, setting
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import Progress
from ircotlib.retrieval.encoder import TOKENS, Encoder
from ircotlib.retrieval.fusion import CONSTANT, fuse
from ircotlib.retrieval.ranking import Hits, Refused, Search, WrittenReply
from ircotlib.retrieval.vectors import Vectors, open_vectors, write_vectors

DECIMALS = 5  # of scores; paragraphs with equal scores are in the order of the corpus
EXACT = 1_000_000  # paragraphs; a larger corpus is searched with an approximate index
LATE_MOST = 200_000  # paragraphs with one vector per token: 5 GB with ColBERTv2
FUSED = 60  # hits used of each ranking


class Dense:
    """Answers Retrieve from the vectors of a corpus, in batches. Search is exact; above `exact`
    paragraphs, an approximate index finds candidates, which are then scored exactly.

    `words`: the embedded index of the same corpus, which answers NearestTitle and finds the
    paragraphs with a title. Search among given `titles` is always exact. `fingerprint` changes with
    the corpus, the model and the versions of the libraries. Damaged vectors raise ValueError when
    the first request is answered. Differs from BM25: every paragraph has a score.
    """

    answers = (Retrieve, NearestTitle)

    def __init__(self, words: BM25, encoder: Encoder, folder: Path, exact: int = EXACT):
        self.corpus = words.corpus
        self._words = words
        self._encoder = encoder
        self._folder = folder
        self._is_exact = len(words.corpus) <= exact
        made_of = [words.fingerprint, encoder.fingerprint, DECIMALS]
        made_of += [] if self._is_exact else [setting()]
        self.fingerprint = sha256(json.dumps(made_of).encode()).hexdigest()[:16]

    @property
    def constants(self) -> dict[str, str]:
        """See BM25."""
        late = self._encoder.late
        score = "MaxSim over tokens" if late else "dot product; cosine where the model says so"
        scoring = f"{score}; scores to {DECIMALS} decimals, ties by position"
        search = "exact" if self._is_exact else f"HNSW, then exact ({json.dumps(setting())})"
        texts = "title. text" if late else f"title. text, at most {TOKENS} tokens"
        encoder = self._encoder.fingerprint
        return {"scoring": scoring, "search": search, "embedded": texts, "encoder": encoder}

    def answer(self, requests: Sequence[Retrieve | NearestTitle]) -> Iterator[WrittenReply]:
        """See BM25."""
        if not all(isinstance(request, Retrieve) for request in requests):
            return self._words.answer(requests)
        return ranking.answer_in_rounds(self, requests, self._search, len(requests))

    decode, search = ranking.decode, ranking.search  # the same for all backends

    @property
    def embed(self) -> Callable[[Sequence[str]], np.ndarray] | None:
        """Its model's vectors of texts, one row per text; None: it has one vector per token."""
        return None if self._encoder.late else self._encoder.embed_texts

    def query_of(self, text: str, titles: Iterable[str] | None) -> tuple:
        """The text and the positions of the paragraphs with one of these titles; None: all."""
        return text, None if titles is None else tuple(self._words.positions_of(titles))

    def _search(self, searches: Sequence[Search]) -> list[Hits]:
        from ircotlib.retrieval.nearest import find_among, find_nearest  # imports torch

        queries = self._encoder.embed_queries([search.query[0] for search in searches])
        within = [search.query[1] for search in searches]  # positions
        nearest = {}
        if anywhere := [i for i, positions in enumerate(within) if positions is None]:
            wide = [queries[i] for i in anywhere]  # each (vectors, width)
            most = max(searches[i].size for i in anywhere)
            if self._is_exact:
                nearest = dict(zip(anywhere, find_nearest(wide, self._vectors, most), strict=True))
            else:  # candidates, whose scores are then exact
                for i, positions in zip(anywhere, self._approximate.find(wide, most), strict=True):
                    within[i] = positions
        hits = []
        for i, search in enumerate(searches):
            if i not in nearest:
                chosen = np.asarray(within[i], dtype=np.int64)
                nearest[i] = find_among(queries[i], self._vectors, chosen, search.size)
            positions, scores = (values[: search.size].tolist() for values in nearest[i])
            hits.append([(p, round(score, DECIMALS)) for p, score in zip(positions, scores)])
        return hits

    @cached_property
    def _vectors(self) -> Vectors:
        return open_vectors(self._folder, len(self.corpus))

    @cached_property
    def _approximate(self) -> Approximate:
        return Approximate(build_approximate(self._folder, self._vectors.rows))


class Hybrid:
    """Answers Retrieve with reciprocal rank fusion of BM25 and Dense: a paragraph's score is the
    sum of 1 / (60 + rank) over the two rankings (Cormack et al., SIGIR 2009).

    The best 60 of each ranking count, or the best k if k is larger. `fingerprint` changes with
    those of both backends. BM25 answers NearestTitle.
    """

    answers = (Retrieve, NearestTitle)

    def __init__(self, words: BM25, dense: Dense):
        self.corpus = words.corpus
        self.embed = dense.embed
        self._words = words
        self._dense = dense
        made_of = [words.fingerprint, dense.fingerprint, FUSED, CONSTANT]
        self.fingerprint = sha256(json.dumps(made_of).encode()).hexdigest()[:16]

    @property
    def constants(self) -> dict[str, str]:
        """See BM25."""
        fusion = f"sum of 1 / ({CONSTANT} + rank) over the best {FUSED}, or k, of both rankings"
        words = {f"{name} (words)": value for name, value in self._words.constants.items()}
        vectors = {f"{name} (vectors)": value for name, value in self._dense.constants.items()}
        return {"fusion": fusion} | words | vectors

    def answer(self, requests: Sequence[Retrieve | NearestTitle]) -> Iterator[WrittenReply]:
        """See BM25."""
        if not all(isinstance(request, Retrieve) for request in requests):
            yield from self._words.answer(requests)
            return
        deep = [replace(r, k=max(FUSED, r.k) if r.k > 0 else r.k) for r in requests]
        by_words = dict(self._words.answer(deep))
        by_vectors = dict(self._dense.answer(deep))
        for index, request in enumerate(requests):
            replies = by_words[index], by_vectors[index]
            if isinstance(replies[0], Refused):  # both refuse the same
                yield index, replies[0]
                continue
            scores = fuse([position for position, _ in json.loads(reply)] for reply in replies)
            hits = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))
            if request.distinct:  # each ranking is: two of equal texts may each lead one
                texts = {}
                for hit in hits:
                    texts.setdefault(self.corpus[hit[0]].text.lower(), hit)
                hits = list(texts.values())
            rounded = [(position, round(score, DECIMALS)) for position, score in hits]
            yield index, json.dumps(rounded[: request.k], separators=(",", ":"))

    decode, search = ranking.decode, ranking.search  # the same for all backends


def open_dense(
    words: BM25, retriever: str, folder: Path, progress: Progress = iter, exact: int = EXACT
) -> Dense | Hybrid:
    """Open the retriever "dense:MODEL", "colbert:MODEL" or "hybrid:MODEL" over the corpus of an
    embedded index. Missing vectors are computed first, in a folder whose name begins with that of
    `folder`. Raises ValueError if the corpus is too large for one vector per token.
    """
    kind, _, model = retriever.partition(":")
    corpus = words.corpus
    late = kind == "colbert"  # SearChain §4.1.3: ColBERTv2
    if late and len(corpus) > LATE_MOST:
        counts = f"found {len(corpus):,} paragraphs, expected at most {LATE_MOST:,}"
        advice = "as all are scored; use dense: or hybrid: with another model"
        raise ValueError(f"{retriever}: {counts}, {advice}")
    encoder = _encoder(model, late)
    made_of = f"{corpus.fingerprint} {encoder.fingerprint}"
    digest = sha256(made_of.encode()).hexdigest()[:12]
    vectors = folder.with_name(f"{folder.name}-{'tokens' if late else 'vectors'}-{digest}")
    write_vectors(vectors, corpus, encoder.embed_paragraphs, progress)
    dense = Dense(words, encoder, vectors, len(corpus) if late else exact)
    return Hybrid(words, dense) if kind == "hybrid" else dense


# shared by all corpora and retrievers of a process
_encoder = kept_until_changed(models.named)(Encoder)
