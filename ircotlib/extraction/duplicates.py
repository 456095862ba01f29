"""Backends of Duplicate, which detect queries asked before (SearChain, released program)."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from ircotlib.files.paths import resolve
from ircotlib.generation.folder import OLDER, find_folder, hash_files, is_hub_name
from ircotlib.program import Duplicate
from ircotlib.text import normalise_answer

VERSION = 1  # raised when a change here gives the same queries another score
MORE = ("modules.json", "*sentence*.json", "*/*.json")  # other files that CrossEncoder may read


def open_duplicates(name_or_path: str = "", device: str | None = None) -> "Texts | Pairs":
    """Open a backend of Duplicate: a cross-encoder from a folder, or from the Hugging Face hub,
    downloaded at the first request; "": a comparison of texts.

    The paper names no model; the released program's is one for duplicate questions (Quora). Raises
    FileNotFoundError if there is no such folder.
    """
    if not name_or_path:
        return Texts()
    pairs = Pairs(str(name_or_path), device)
    if not is_hub_name(pairs.name):
        pairs.folder  # raises at once if the folder is missing
    return pairs


class Texts:
    """Answers Duplicate without a model: 1.0 if an earlier query is the same except for case,
    punctuation and articles, else 0.0 (ours).

    Nearly equal queries do not count: if two queries differ in one word, it is usually a name.
    """

    answers = Duplicate
    fingerprint = f"texts {VERSION}"

    def answer(self, requests: Sequence[Duplicate]) -> Iterator[tuple[int, str]]:
        """Yield the place of each request and its score."""
        for place, request in enumerate(requests):
            earlier = {normalise_answer(query) for query in request.earlier}
            yield place, json.dumps(float(normalise_answer(request.query) in earlier))

    def decode(self, reply: str) -> float:
        """The score."""
        return json.loads(reply)


class Pairs:
    """Answers Duplicate with a cross-encoder on this machine; `open_duplicates` makes it."""

    answers = Duplicate

    def __init__(self, name: str, device: str | None):
        self.name, self.device = name, device

    @cached_property
    def folder(self) -> Path:
        """The folder of the model."""
        return find_folder(resolve(self.name), weights=(*OLDER, *MORE))

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's files."""
        return hash_files(self.folder, VERSION, "float32", (*OLDER, *MORE))

    @cached_property
    def model(self):
        """The cross-encoder in float32, read when first used. Raises ImportError without the extra
        `dense`, and ValueError if it gives more than one score per pair.
        """
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            found = f"found no sentence-transformers ({error}), which a cross-encoder needs"
            raise ImportError(f"{found}: pip install -e '.[dense]'") from error
        in_float32 = {"dtype": "float32"}
        model = CrossEncoder(str(self.folder), device=self.device, model_kwargs=in_float32)
        if model.num_labels != 1:
            found = f"{self.name}: found {model.num_labels} scores per pair, expected one"
            raise ValueError(f"{found}; name a cross-encoder for duplicate questions")
        return model

    def answer(self, requests: Sequence[Duplicate]) -> Iterator[tuple[int, str]]:
        """Yield the place of each request and the highest score of its pairs (earlier query,
        query), rounded to 4 decimals; 0.0 without an earlier query.
        """
        pairs = [(earlier, one.query) for one in requests for earlier in one.earlier]
        scores = iter(self.model.predict(pairs).tolist() if pairs else ())
        for place, request in enumerate(requests):
            best = max((next(scores) for _ in request.earlier), default=0.0)
            yield place, json.dumps(round(best, 4))

    def decode(self, reply: str) -> float:
        """The score."""
        return json.loads(reply)
