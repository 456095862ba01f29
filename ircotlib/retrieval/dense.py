"""Retrieval with vectors: dense, late interaction, and the hybrid of BM25 and dense.
BM25 answers NearestTitle (IRCoT App. B) for all of them.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np

from ircotlib.errors import DataError
from ircotlib.files import locked, need, track, writing
from ircotlib.models import folders
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.ranking import SPARE, Hits, Ranked, Replies, digest, fuse

# read of a query or paragraph, at most (dense only: ColBERT has its own limit)
TOKENS = 256
BATCH = 32  # texts in a batch, and queries in a matrix product
ROWS = 4096  # vectors of paragraphs in a matrix product
DECIMALS = 5  # of scores; paragraphs with equal scores are in the order of the corpus
# models with one vector per token
LATE = {"MultiVectorEncoder", "ColBERT", "HF_ColBERT"}
FUSED = 60  # hits used of each ranking (ours)
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
TEXTS = ("*.json", "*.txt", "*.model", "artifact.metadata")


class Encoder:
    """A model of sentence-transformers in a folder or on the Hugging Face hub. `late`:
    one vector per token, for late interaction (ColBERTv2, SearChain §4.1.3), in place
    of one per text.
    """

    def __init__(self, name: str, late: bool):
        need("sentence_transformers", "dense")
        self.late = late
        self.folder = folders.find_folder(name, weights=WEIGHTS, texts=TEXTS)
        about = folders.read_json(self.folder, "config_sentence_transformers.json")
        classes = (
            folders.read_json(self.folder, folders.CONFIG).get("architectures") or []
        )
        # loaded as one of the other kind, it would have random weights
        if late != bool(LATE & {about.get("model_type"), *classes}):
            expected = "one vector per " + ("token" if late else "text")
            raise DataError(f"{self.folder}: found {classes}, expected {expected}")
        files = sorted(
            {p for pattern in WEIGHTS + TEXTS for p in self.folder.rglob(pattern)}
        )
        hashes = [f"{p.relative_to(self.folder)} {folders.hash_file(p)}" for p in files]
        installed = version("sentence-transformers").rpartition(".")[0]
        # changes with any file of the model, and with how texts are embedded
        self.fingerprint = digest("title. text", TOKENS, late, installed, hashes)

    def embed(self, texts: list[str], kind: str = "query") -> list[np.ndarray]:
        """The vectors of each text, a "query" or a "document", as an array (vectors,
        width).
        """
        options = {"batch_size": BATCH, "show_progress_bar": False}
        if not self.late:  # in a model for dot products the lengths of vectors matter
            options["normalize_embeddings"] = self._model.similarity_fn_name == "cosine"
        encode = getattr(self._model, f"encode_{kind}")
        vectors = encode(texts, convert_to_numpy=True, **options)
        return [
            np.atleast_2d(vector).astype(np.float32, copy=False) for vector in vectors
        ]

    @cached_property
    def _model(self):
        from sentence_transformers import MultiVectorEncoder, SentenceTransformer

        if self.late:
            return MultiVectorEncoder(str(self.folder), local_files_only=True)
        model = SentenceTransformer(str(self.folder), local_files_only=True)
        model.max_seq_length = min(model.max_seq_length or TOKENS, TOKENS)
        return model


def open_vectors(
    folder: Path, corpus: Corpus, encoder: Encoder
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of a corpus, one per row, memory-mapped from a folder; and the row
    where each paragraph begins, and their number. One of several processes makes them
    if they are missing.
    """
    with locked(Path(f"{folder}.lock")):
        if not (folder / "starts.npy").is_file():
            with writing(folder) as new:
                new.mkdir()
                counts, paragraphs = (
                    [0],
                    iter(track(corpus, f"vectors of {corpus.folder.name}")),
                )
                with (new / "vectors.f16").open("wb") as file:
                    while block := list(islice(paragraphs, 16 * BATCH)):
                        texts = [
                            ". ".join(filter(None, (p.title, p.text))) for p in block
                        ]
                        vectors = encoder.embed(texts, "document")
                        rows = np.concatenate(vectors).astype(np.float16)
                        if not (np.isfinite(rows).all() and all(map(len, vectors))):
                            found = "found no vector of a text, or a number too large for float16"
                            raise DataError(
                                f"{encoder.folder}: {found}; take another model"
                            )
                        rows.tofile(file)
                        counts += map(len, vectors)
                np.save(new / "starts.npy", np.cumsum(counts))
    starts = np.load(folder / "starts.npy")
    return np.memmap(folder / "vectors.f16", np.float16, "c").reshape(
        starts[-1], -1
    ), starts


def score(queries: list[np.ndarray], rows: np.ndarray, starts: np.ndarray):
    """The score of each paragraph for each query, a matrix, made in blocks: the dot
    product, or MaxSim, the sum over the query's vectors of the best with a paragraph's
    vector (ColBERT).
    """
    import torch

    asked = torch.from_numpy(np.concatenate(queries))  # (vectors of all queries, width)
    # where the vectors of each query start
    own = np.cumsum([0, *map(len, queries[:-1])])
    scores = np.empty((len(queries), len(starts) - 1), np.float32)
    first = 0
    while first < len(starts) - 1:  # a block has at most ROWS vectors, or one paragraph
        last = int(np.searchsorted(starts, starts[first] + ROWS, "right")) - 1
        last = max(first + 1, last)
        block = torch.from_numpy(rows[starts[first] : starts[last]]).float()
        # (vectors of queries, vectors of paragraphs)
        products = (asked @ block.T).numpy()
        best = np.maximum.reduceat(products, starts[first:last] - starts[first], axis=1)
        scores[:, first:last] = np.add.reduceat(best, own, axis=0)
        first = last
    return torch.from_numpy(scores)


class Dense(Ranked):
    """Answers Retrieve from the vectors of a corpus. `words`: BM25 over the same
    corpus, which finds the paragraphs with a title. Differs from BM25: every paragraph
    has a score.
    """

    def __init__(
        self, words: BM25, encoder: Encoder, vectors: tuple[np.ndarray, np.ndarray]
    ):
        self.corpus = words.corpus
        self._words, self._encoder, self._vectors = words, encoder, vectors
        self.fingerprint = digest(words.fingerprint, encoder.fingerprint, DECIMALS)
        # for programs: the vectors of texts, one row per text; None if there is one per
        # token
        self.embed = (
            None if encoder.late else lambda texts: np.vstack(encoder.embed(texts))
        )

    def answer(self, requests: Sequence) -> Replies:
        """Embed all queries, and score all paragraphs for them, at once."""
        if isinstance(requests[0], NearestTitle):
            return self._words.answer(requests)
        texts = list(dict.fromkeys(request.query for request in requests))
        asked = dict(zip(texts, self._encoder.embed(texts), strict=True))
        most = max(request.k for request in requests) + SPARE
        first = dict(
            zip(texts, self._nearest([*asked.values()], None, most), strict=True)
        )

        def find(query: tuple, size: int) -> Hits:
            text, within = query
            if within is None and size <= most:
                return first[text][:size]
            return self._nearest([asked[text]], within, size)[0]

        return super().answer(requests, find)

    def queries_of(self, request: Retrieve) -> list[tuple]:
        """The text, and the positions of the paragraphs with one of the titles; None:
        all.
        """
        titles = request.titles
        return [
            (
                request.query,
                None if titles is None else self._words.positions_of(titles),
            )
        ]

    def _nearest(self, queries: list, within: list[int] | None, k: int) -> list[Hits]:
        rows, starts = self._vectors
        if within is not None:
            parts = [
                np.arange(starts[position], starts[position + 1]) for position in within
            ]
            rows = rows[np.concatenate([[], *parts]).astype(int)]
            starts = np.cumsum([0, *map(len, parts)])
        nearest = []
        for start in range(0, len(queries), BATCH):
            best = score(queries[start : start + BATCH], rows, starts).topk(
                min(k, len(starts) - 1)
            )
            for places, scores in zip(
                best.indices.tolist(), best.values.tolist(), strict=True
            ):
                positions = (
                    places if within is None else [within[place] for place in places]
                )
                nearest.append(
                    [(p, round(s, DECIMALS)) for p, s in zip(positions, scores)]
                )
        return nearest


class Hybrid(Dense):
    """Reciprocal rank fusion (`fuse`) of the best 60 of BM25 and Dense, or k if larger."""

    def __init__(
        self, words: BM25, encoder: Encoder, vectors: tuple[np.ndarray, np.ndarray]
    ):
        super().__init__(words, encoder, vectors)
        self.fingerprint = digest(words.fingerprint, self.fingerprint, FUSED)

    def answer(self, requests: Sequence) -> Replies:
        if isinstance(requests[0], NearestTitle):
            yield from self._words.answer(requests)
            return
        deep = [replace(request, k=max(FUSED, request.k)) for request in requests]
        rankings = zip(self._words.answer(deep), super().answer(deep), strict=True)
        for (index, by_words), (_, by_vectors) in rankings:
            both = (
                [p for p, _ in json.loads(reply)] for reply in (by_words, by_vectors)
            )
            fused = sorted(fuse(both).items(), key=lambda hit: (-hit[1], hit[0]))
            best: dict = {}
            # of two equal texts each may lead one ranking
            for position, score in fused:
                text = (
                    self.corpus[position].text.lower()
                    if requests[index].distinct
                    else position
                )
                best.setdefault(text, (position, round(score, DECIMALS)))
            yield index, json.dumps([*best.values()][: requests[index].k])


def open_dense(corpus: Corpus, folder: Path, retriever: str) -> Dense | Hybrid:
    """Open "dense:MODEL", "colbert:MODEL" or "hybrid:MODEL" over a corpus. Its vectors
    are in a folder whose name begins with that of `folder`, where BM25's index is.
    """
    kind, _, model = retriever.partition(":")
    encoder = _open_encoder(model, kind == "colbert")
    made_of = digest(corpus.fingerprint, encoder.fingerprint)
    vectors = open_vectors(Path(f"{folder}-vectors-{made_of}"), corpus, encoder)
    return (Hybrid if kind == "hybrid" else Dense)(
        BM25(corpus, folder), encoder, vectors
    )


_open_encoder = cache(Encoder)  # shared by all corpora and retrievers of a process
