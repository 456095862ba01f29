"""Retrieval with vectors: dense, late interaction, and the hybrid of BM25 and dense.

BM25 answers NearestTitle (IRCoT App. B) for all of them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np

from ircotlib.backends import Replies
from ircotlib.errors import DataError
from ircotlib.files import locked, need, track, writing
from ircotlib.models import folders
from ircotlib.program import NearestTitle, Retrieve
from ircotlib.retrieval.bm25 import BM25
from ircotlib.retrieval.corpus import Corpus
from ircotlib.retrieval.ranking import SPARE, Hits, Ranked, Search, digest, fuse

# fmt: off
TOKENS = 256   # read of a query or paragraph (dense only: ColBERT has its own limit)
BATCH = 32     # texts in a batch, and queries in a matrix product
ROWS = 4096    # vectors of paragraphs in a matrix product
FUSED = 60     # hits of each ranking that a hybrid fuses (ours)
DECIMALS = 5   # of scores
# fmt: on
# models with one vector per token
LATE = {"MultiVectorEncoder", "ColBERT", "HF_ColBERT"}
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
TEXTS = ("*.json", "*.txt", "*.model", "artifact.metadata")


# of the paragraphs, in the order of the corpus: rows (vectors, width), float16; and the
# row where each paragraph begins, followed by the number of rows
Vectors = tuple[np.ndarray, np.ndarray]


class Encoder:
    """A model of sentence-transformers in a folder or on the Hugging Face hub.

    `late`: one vector per token, for late interaction (ColBERTv2, SearChain §4.1.3), in
    place of one per text. Raises DataError for a model of the other kind.
    """

    def __init__(self, name: str, late: bool):
        need("sentence_transformers", "dense")
        self.late = late
        self.folder = folders.find_folder(name, weights=WEIGHTS, texts=TEXTS)
        config = folders.read_json(self.folder, folders.CONFIG)
        options = folders.read_json(self.folder, "config_sentence_transformers.json")
        classes = config.get("architectures") or []
        # loaded as one of the other kind, it would have random weights
        if late != bool(LATE & {options.get("model_type"), *classes}):
            expected = "one vector per token" if late else "one vector per text"
            raise DataError(f"{self.folder}: found {classes}, expected {expected}")
        paths = {p for pattern in WEIGHTS + TEXTS for p in self.folder.rglob(pattern)}
        names = [f"{path.relative_to(self.folder)}" for path in sorted(paths)]
        hashes = [f"{name} {folders.hash_file(self.folder / name)}" for name in names]
        installed = version("sentence-transformers").rpartition(".")[0]
        # changes with any file of the model, and with how texts are embedded
        self.fingerprint = digest("title. text", TOKENS, late, installed, hashes)

    def embed(self, texts: list[str], kind: str = "query") -> list[np.ndarray]:
        """The vectors of each text, a "query" or a "document": (vectors, width)."""
        options = {"batch_size": BATCH, "show_progress_bar": False}
        if not self.late:  # in a model for dot products the lengths of vectors matter
            options["normalize_embeddings"] = self._model.similarity_fn_name == "cosine"
        encode = getattr(self._model, f"encode_{kind}")
        arrays = encode(texts, convert_to_numpy=True, **options)
        return [np.atleast_2d(array).astype(np.float32, copy=False) for array in arrays]

    @cached_property
    def _model(self):
        from sentence_transformers import MultiVectorEncoder, SentenceTransformer

        if self.late:
            return MultiVectorEncoder(str(self.folder), local_files_only=True)
        model = SentenceTransformer(str(self.folder), local_files_only=True)
        model.max_seq_length = min(model.max_seq_length or TOKENS, TOKENS)
        return model


def open_vectors(folder: Path, corpus: Corpus, encoder: Encoder) -> Vectors:
    """The vectors of a corpus, memory-mapped from a folder. If they are missing, one of
    several processes makes them.
    """
    with locked(Path(f"{folder}.lock")):
        if not (folder / "starts.npy").is_file():
            with writing(folder) as new:
                new.mkdir()
                _write_vectors(new, corpus, encoder)
    starts = np.load(folder / "starts.npy")
    rows = np.memmap(folder / "vectors.f16", np.float16, "c")
    return rows.reshape(starts[-1], -1), starts


def _write_vectors(folder: Path, corpus: Corpus, encoder: Encoder) -> None:
    lengths = [0]
    paragraphs = iter(track(corpus, f"vectors of {corpus.folder.name}"))
    with (folder / "vectors.f16").open("wb") as file:
        while block := list(islice(paragraphs, 16 * BATCH)):
            texts = [". ".join(filter(None, (p.title, p.text))) for p in block]
            vectors = encoder.embed(texts, "document")
            np.concatenate(vectors).astype(np.float16).tofile(file)
            lengths += map(len, vectors)
    np.save(folder / "starts.npy", np.cumsum(lengths))


def score(queries: list[np.ndarray], vectors: Vectors):
    """The score of each paragraph for each query, a tensor (queries, paragraphs): the
    dot product of their vectors; or MaxSim, the sum over the query's vectors of the
    best dot product with one of the paragraph's (ColBERT).
    """
    import torch

    rows, starts = vectors
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
    """Answers Retrieve from the vectors of a corpus. Every paragraph has a score.

    `words`: BM25 over the same corpus, which finds the paragraphs with a title.
    """

    def __init__(self, words: BM25, encoder: Encoder, vectors: Vectors):
        self.corpus = words.corpus
        self.fingerprint = digest(words.fingerprint, encoder.fingerprint, DECIMALS)
        self._words = words
        self._encoder = encoder
        self._vectors = vectors

    def answer(self, requests: Sequence, find: Callable | None = None) -> Replies:
        """Embed all queries, and score all paragraphs for them, at once."""
        if isinstance(requests[0], NearestTitle):
            return self._words.answer(requests)
        texts = list(dict.fromkeys(request.query for request in requests))
        vectors = dict(zip(texts, self._encoder.embed(texts), strict=True))
        most = max(request.k for request in requests) + SPARE
        nearest = self._nearest(list(vectors.values()), None, most)
        hits = dict(zip(texts, nearest, strict=True))

        def find_nearest(query: tuple[str, list[int] | None], size: int) -> Hits:
            text, within = query
            if within is None and size <= most:
                return hits[text][:size]
            return self._nearest([vectors[text]], within, size)[0]

        return super().answer(requests, find_nearest)

    def queries_of(self, request: Search) -> list[tuple[str, list[int] | None]]:
        """The text, and the positions of the paragraphs with its titles; None: all."""
        assert isinstance(request, Retrieve)  # `words` answers the others
        if request.titles is None:
            return [(request.query, None)]
        return [(request.query, self._words.positions_of(request.titles))]

    def _nearest(
        self, queries: list[np.ndarray], within: list[int] | None, k: int
    ) -> list[Hits]:
        """The k nearest of all paragraphs to each query, or of those at positions."""
        positions: Sequence[int] = range(len(self.corpus)) if within is None else within
        nearest = []
        for start in range(0, len(queries), BATCH):
            scores = score(queries[start : start + BATCH], self._vectors)
            if within is not None:
                scores = scores[:, within]
            best = scores.topk(min(k, len(positions)))
            # The last bits of a product depend on what else is in the matrix. So scores
            # are rounded, and equal ones are in the order of the corpus: `Ranked` sorts
            # them, and leaves out those of a tie that may go on beyond k.
            for places, values in zip(best.indices.tolist(), best.values.tolist()):
                pairs = zip(places, values, strict=True)
                nearest.append([(positions[p], round(v, DECIMALS)) for p, v in pairs])
        return nearest


class Hybrid(Dense):
    """Reciprocal rank fusion of the best 60 of BM25 and Dense, or k if that is more."""

    def __init__(self, words: BM25, encoder: Encoder, vectors: Vectors):
        super().__init__(words, encoder, vectors)
        self.fingerprint = digest(words.fingerprint, self.fingerprint, FUSED)

    def answer(self, requests: Sequence, find: Callable | None = None) -> Replies:
        """Fuse both replies to each request."""
        if isinstance(requests[0], NearestTitle):
            yield from self._words.answer(requests)
            return
        deep = [replace(request, k=max(FUSED, request.k)) for request in requests]
        replies = zip(self._words.answer(deep), super().answer(deep), strict=True)
        for (index, words), (_, vectors) in replies:
            request = requests[index]
            hits = [json.loads(str(reply)) for reply in (words, vectors)]
            scores = fuse([position for position, _ in ranking] for ranking in hits)
            best: dict = {}
            for position in sorted(scores, key=lambda p: (-scores[p], p)):
                # of two equal texts each may lead one ranking
                text = self.corpus[position].text.lower()
                same = text if request.distinct else position
                best.setdefault(same, (position, round(scores[position], DECIMALS)))
            yield index, json.dumps([*best.values()][: request.k])


def open_dense(corpus: Corpus, folder: Path, retriever: str) -> Dense:
    """Open "dense:MODEL", "colbert:MODEL" or "hybrid:MODEL" over a corpus. Its vectors
    are beside `folder`, where BM25's index is.
    """
    kind, _, model = retriever.partition(":")
    encoder = _open_encoder(model, kind == "colbert")
    made_of = digest(corpus.fingerprint, encoder.fingerprint)
    vectors = open_vectors(Path(f"{folder}-vectors-{made_of}"), corpus, encoder)
    opened = Hybrid if kind == "hybrid" else Dense
    return opened(BM25(corpus, folder), encoder, vectors)


_open_encoder = cache(Encoder)  # shared by all corpora and retrievers of a process
