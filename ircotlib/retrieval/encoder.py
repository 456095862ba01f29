"""A sentence-transformers model as a retriever uses it: its fingerprint and its vectors."""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np

from ircotlib.data import Paragraph
from ircotlib.errors import DataError
from ircotlib.files import models
from ircotlib.files.extras import need

TOKENS = 256  # read of a query or paragraph, at most (dense only: ColBERT has its own limit)
BATCH = 32  # texts in a batch
KEPT = 4096  # queries whose vectors are kept
VERSION = 1  # raised when other texts are embedded, or in another way
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
TEXTS = ("*.json", "*.txt", "*.model", "artifact.metadata")


class Encoder:
    """A model in a folder or on the Hugging Face hub, loaded when the first text is embedded.

    `late`: one vector per token, for late interaction (ColBERTv2, SearChain §4.1.3), instead of one
    per text. `fingerprint` changes with any file of the model, with how texts are embedded, and
    with sentence-transformers' minor version. Raises Unavailable without the extra `dense`,
    FileNotFoundError if there is no model, and ValueError if it is of another kind.
    """

    def __init__(self, name: str, late: bool = False):
        need("sentence_transformers", "dense")
        self.folder = models.find_folder(name, weights=WEIGHTS, texts=TEXTS)
        self.late = late
        self._kept: dict[str, np.ndarray] = {}
        check_encoder(name, self.folder, late)
        installed = version("sentence-transformers").rpartition(".")[0]
        made_of = [VERSION, TOKENS, late, installed, hash_model(self.folder)]
        self.fingerprint = sha256(json.dumps(made_of).encode()).hexdigest()[:16]

    def embed_paragraphs(self, paragraphs: Iterable[Paragraph]) -> list[np.ndarray]:
        """The vectors of each paragraph, embedded as "title. text": arrays (vectors, width)."""
        texts = [". ".join(filter(None, (p.title, p.text))) for p in paragraphs]
        return self._embed(self._model.encode_document, texts)

    def embed_queries(self, queries: Sequence[str]) -> list[np.ndarray]:
        """The vectors of each query, as above, and kept: it comes again with another K."""
        if new := [query for query in dict.fromkeys(queries) if query not in self._kept]:
            self._kept |= zip(new, self._embed(self._model.encode_query, new), strict=True)
        vectors = [self._kept[query] for query in queries]
        self._kept = self._kept if len(self._kept) < KEPT else {}
        return vectors

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts to be compared with each other, one row per text."""
        return np.vstack(self.embed_queries(texts))

    def _embed(self, encode, texts: list[str]) -> list[np.ndarray]:
        options = {"batch_size": BATCH, "convert_to_numpy": True, "show_progress_bar": False}
        if not self.late:  # in a model for dot products the lengths of vectors matter
            options["normalize_embeddings"] = self._model.similarity_fn_name == "cosine"
        vectors = encode(texts, **options)
        return [np.atleast_2d(vector).astype(np.float32, copy=False) for vector in vectors]

    @cached_property
    def _model(self):
        from sentence_transformers import MultiVectorEncoder, SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        kind = MultiVectorEncoder if self.late else SentenceTransformer
        with models.naming_file(self.folder, "a model of sentence-transformers"):
            model = kind(str(self.folder), local_files_only=True)
        if self.late:
            return model
        model.max_seq_length = min(model.max_seq_length or TOKENS, TOKENS)
        if (measure := model.similarity_fn_name) not in ("cosine", "dot"):
            reason = f"{self.folder}: found a model for the similarity {measure!r}"
            raise DataError(f"{reason}, expected 'cosine' or 'dot'")
        return model


def check_encoder(name: str, folder: Path, late: bool) -> None:
    """Raise DataError if the model in a folder is no encoder, or one of the other kind."""
    models.check_kind(folder, models.ENCODER)
    classes = models.read_json(folder, models.CONFIG).get("architectures") or []
    # sentence-transformers', PyLate's and Stanford's; as such, others would get random weights
    kind = models.read_json(folder, "config_sentence_transformers.json").get("model_type")
    is_late = kind in ("MultiVectorEncoder", "ColBERT") or "HF_ColBERT" in classes
    if is_late != late:
        kinds = ("one vector per text, for dense:", "one vector per token, for colbert:")
        found, expected = (kinds[kind] for kind in (not late, late))
        raise DataError(f"{name}: found a model with {found}, expected one with {expected}")


def hash_model(folder: Path) -> str:
    """A hash of all files that affect the vectors of a model, also those in its folders."""
    paths = {path for pattern in WEIGHTS + TEXTS for path in folder.rglob(pattern)}
    content = sha256()
    for path in sorted(paths):
        name = path.relative_to(folder)
        if name.parts[0] not in models.OTHER_PROGRAMS:
            content.update(f"{name.as_posix()} {models.hash_file(path)}\n".encode())
    return content.hexdigest()
