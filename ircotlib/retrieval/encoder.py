"""A sentence-transformers model as a retriever uses it: its fingerprint, computed without loading
the model, and the vectors it makes.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import file_digest, sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ircotlib.data import Paragraph

TOKENS = 256  # read of a query or paragraph, at most (dense only: ColBERT has its own limit)
BATCH = 32  # texts in a batch
KEPT = 4096  # queries whose vectors are kept
VERSION = 1  # raised when other texts are embedded, or in another way
CONFIG = "config_sentence_transformers.json"
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
TEXTS = ("*.json", "*.txt", "*.model", "artifact.metadata")
OTHERS = ("onnx", "openvino")  # folders with the same model for other programs
INSTALL = "pip install -e '.[dense]'"


class Encoder:
    """A model in a folder or on the Hugging Face hub, loaded when the first text is embedded.

    `late`: one vector per token, for late interaction (ColBERTv2, SearChain §4.1.3), instead of one
    per text. `fingerprint` changes with any file of the model, with how texts are embedded, and
    with sentence-transformers' minor version. Raises ModuleNotFoundError without the extra `dense`,
    FileNotFoundError if there is no model, and ValueError if it is of the other kind.
    """

    def __init__(self, name: str, late: bool = False):
        if not find_spec("sentence_transformers"):
            missing = "found no sentence-transformers, expected the extra of dense retrieval"
            raise ModuleNotFoundError(f"{missing}: {INSTALL}")
        self.folder, self.late, self._kept = find_model(name), late, {}
        if is_late(self.folder) != late:
            kinds = ("one vector per text, for dense:", "one vector per token, for colbert:")
            found, expected = (kinds[kind] for kind in (not late, late))
            raise ValueError(f"{name}: found a model with {found}, expected one with {expected}")
        installed = version("sentence-transformers").rpartition(".")[0]
        made_of = [VERSION, TOKENS, late, installed, hash_model(self.folder)]
        self.fingerprint = sha256(json.dumps(made_of).encode()).hexdigest()[:16]

    def embed_paragraphs(self, paragraphs: Iterable[Paragraph]) -> list[np.ndarray]:
        """The vectors of each paragraph, embedded as "title. text": arrays (vectors, width)."""
        texts = [". ".join(filter(None, (p.title, p.text))) for p in paragraphs]
        return self._embed(self._model.encode_document, texts)

    def embed_queries(self, queries: Sequence[str]) -> list[np.ndarray]:
        """The vectors of each query: arrays (vectors, width). Those of recent queries are kept,
        because the same query comes again with another K.
        """
        if new := [query for query in dict.fromkeys(queries) if query not in self._kept]:
            self._kept |= zip(new, self._embed(self._model.encode_query, new), strict=True)
        found = [self._kept[query] for query in queries]
        self._kept = self._kept if len(self._kept) < KEPT else {}
        return found

    def _embed(self, encode, texts: list[str]) -> list[np.ndarray]:
        how = {"batch_size": BATCH, "convert_to_numpy": True, "show_progress_bar": False}
        if not self.late:  # in a model for dot products the lengths of vectors matter
            how["normalize_embeddings"] = self._model.similarity_fn_name == "cosine"
        vectors = encode(texts, **how)
        return [np.atleast_2d(one).astype(np.float32, copy=False) for one in vectors]

    @cached_property
    def _model(self):
        from sentence_transformers import MultiVectorEncoder, SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        kind = MultiVectorEncoder if self.late else SentenceTransformer
        try:
            model = kind(str(self.folder), local_files_only=True)
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            found = f"{self.folder}: found a model that cannot be loaded ({reason})"
            raise ValueError(f"{found}, expected one of sentence-transformers") from error
        if self.late:
            return model
        model.max_seq_length = min(model.max_seq_length or TOKENS, TOKENS)
        if (measure := model.similarity_fn_name) not in ("cosine", "dot"):
            found = f"{self.folder}: found a model for the similarity {measure!r}"
            raise ValueError(f"{found}, expected 'cosine' or 'dot'")
        return model


def find_model(name: str) -> Path:
    """The folder of this name, or the folder into which the model of this name is downloaded from
    the Hugging Face hub. Raises FileNotFoundError if there is neither, or the folder has no
    config.json or no weights.
    """
    folder = Path(name) if Path(name).is_dir() else _download(name)
    if not (folder / "config.json").is_file() or not any(_files(folder, WEIGHTS)):
        found = f"{folder}: found {sorted(path.name for path in folder.iterdir())[:10]}"
        expected = "expected config.json and the weights of a sentence-transformers model"
        raise FileNotFoundError(f"{found}, {expected}; write the folder with its `save`")
    return folder


def is_late(folder: Path) -> bool:
    """Whether a model makes one vector per token: those of sentence-transformers, PyLate, and
    Stanford's ColBERT do. Loaded as such, any other model would get random weights from
    sentence-transformers.
    """
    kinds, kind = _read_json(folder / "config.json").get("architectures") or [], None
    if (folder / CONFIG).is_file():
        kind = _read_json(folder / CONFIG).get("model_type")
    return kind in ("MultiVectorEncoder", "ColBERT") or "HF_ColBERT" in kinds


def hash_model(folder: Path) -> str:
    """A hash of all files that affect the vectors of a model; each is read in full."""
    content = sha256()
    for path in _files(folder, WEIGHTS + TEXTS):
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        content.update(f"{path.relative_to(folder).as_posix()} {digest}\n".encode())
    return content.hexdigest()


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    found = {path for pattern in patterns for path in folder.rglob(pattern)}
    return sorted(path for path in found if path.relative_to(folder).parts[0] not in OTHERS)


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download

    others = [f"{folder}/*" for folder in OTHERS]
    try:
        wanted = {"allow_patterns": [*WEIGHTS, *TEXTS], "ignore_patterns": others}
        return Path(snapshot_download(name, **wanted))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        missing = f"found no folder {name!r}, and the Hugging Face hub gave no model ({reason})"
        expected = "expected a folder of sentence-transformers, or a hub id and a network"
        raise FileNotFoundError(f"{missing}, {expected}") from None


def _read_json(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        found = f"{path}: found no JSON ({' '.join(str(error).split())})"
        raise ValueError(f"{found}, expected an object; download or save the model again") from None
