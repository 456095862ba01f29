"""Backends of Duplicate, which detect queries asked before (SearChain, released program)."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from ircotlib.errors import DataError
from ircotlib.files import need
from ircotlib.metrics import as_compared
from ircotlib.models import folders
from ircotlib.program import Duplicate

VERSION, TEXTS = 1, 2  # raised when a change gives the same queries another score
# the files that CrossEncoder may read
WEIGHTS = (*folders.OLDER, "modules.json", "*sentence*.json", "*/*.json")


def open_duplicates(name_or_path: str | Path = "") -> "EqualTexts | ScoredPairs":
    """A comparison of texts, or a cross-encoder. The paper names no model; the released program's
    is one for duplicate questions (Quora). Raises FileNotFoundError.
    """
    return ScoredPairs(str(name_or_path)) if name_or_path else EqualTexts()


class EqualTexts:
    """Answers Duplicate without a model: 1.0 if an earlier query is the same (`as_compared`), else
    0.0 (ours): if queries differ in one word, it is usually a name.
    """

    answers = Duplicate
    decode = staticmethod(json.loads)
    fingerprint = f"texts {TEXTS}"

    def answer(self, requests: Sequence[Duplicate]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its score."""
        for index, request in enumerate(requests):
            same = as_compared(request.query) in map(as_compared, request.earlier)
            yield index, json.dumps(float(same))


class ScoredPairs:
    """Answers Duplicate with a cross-encoder from a folder or, at the first request, the hub."""

    answers = Duplicate
    decode = staticmethod(json.loads)

    def __init__(self, name: str):
        self.name = name
        if not folders.is_hub_name(name):
            self.folder  # noqa: B018  raises at once if the folder is missing

    @cached_property
    def folder(self) -> Path:
        """The folder of the model. Raises DataError if it is of another kind."""
        folder = folders.find_folder(self.name, weights=WEIGHTS)
        folders.check_kind(folder, folders.CROSS_ENCODER)
        return folder

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's files."""
        return folders.hash_files(self.folder, VERSION, "float32", WEIGHTS)

    @cached_property
    def model(self):
        """The model itself, in float32. Raises DataError for one of several scores per pair."""
        need("sentence_transformers", "dense")
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(str(self.folder), model_kwargs={"dtype": "float32"})
        if model.num_labels != 1:
            found = f"{self.name}: found {model.num_labels} scores per pair, expected one"
            raise DataError(f"{found}; name a cross-encoder for duplicate questions")
        return model

    def answer(self, requests: Sequence[Duplicate]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and the highest score of its pairs (earlier, query)."""
        pairs = [(earlier, request.query) for request in requests for earlier in request.earlier]
        scores = iter(self.model.predict(pairs).tolist() if pairs else ())
        for index, request in enumerate(requests):
            best = max((next(scores) for _ in request.earlier), default=0.0)
            yield index, json.dumps(round(best, 4))
