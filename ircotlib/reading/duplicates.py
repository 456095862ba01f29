"""Whether a query was asked before: backends of Duplicate (SearChain, released program)."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from ircotlib.generation.folder import OLDER, find_folder, hash_files, is_hub_name
from ircotlib.paths import resolve
from ircotlib.program import Duplicate
from ircotlib.text import normalise_answer

VERSION = 1  # raised when the same queries would have another score
MORE = ("modules.json", "*sentence*.json", "*/*.json")  # what CrossEncoder may read besides


def open_duplicates(name_or_path: str = "", device: str | None = None) -> "Texts | Pairs":
    """Open what tells duplicate queries: a cross-encoder, a folder or a name on the Hugging Face
    hub, which is downloaded when it is first asked; "": equal texts.

    The paper does not say which; the released program's is one for duplicate questions (Quora).
    Raises FileNotFoundError when there is no such folder.
    """
    if not name_or_path:
        return Texts()
    pairs = Pairs(str(name_or_path), device)
    if not is_hub_name(pairs.name):
        pairs.folder  # a folder that is not there is said at once
    return pairs


class Texts:
    """Answers Duplicate without a model: 1.0 if an earlier query is the same except for case,
    punctuation and articles, else 0.0.

    This rule is ours. Nearly equal does not count: of two queries that differ in one word, that
    word is usually the name.
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
        """The folder of its files."""
        return find_folder(resolve(self.name), weights=(*OLDER, *MORE))

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the files."""
        return hash_files(self.folder, VERSION, "float32", (*OLDER, *MORE))

    @cached_property
    def model(self):
        """The cross-encoder in float32, read when first used. Raises ImportError without the extra
        `dense`, and ValueError when it gives more than one score a pair.
        """
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            found = f"found no sentence-transformers ({error}), which a cross-encoder needs"
            raise ImportError(f"{found}: pip install -e '.[dense]'") from error
        in_float32 = {"dtype": "float32"}
        model = CrossEncoder(str(self.folder), device=self.device, model_kwargs=in_float32)
        if model.num_labels != 1:
            found = f"{self.name}: found {model.num_labels} scores a pair, expected one"
            raise ValueError(f"{found}; name a cross-encoder for duplicate questions")
        return model

    def answer(self, requests: Sequence[Duplicate]) -> Iterator[tuple[int, str]]:
        """Yield the place of each request and the highest score of its pairs, (earlier, query),
        rounded to 4 digits.
        """
        pairs = [(earlier, one.query) for one in requests for earlier in one.earlier]
        scores = iter(self.model.predict(pairs).tolist() if pairs else ())
        for place, request in enumerate(requests):
            best = max((next(scores) for _ in request.earlier), default=0.0)
            yield place, json.dumps(round(best, 4))

    def decode(self, reply: str) -> float:
        """The score."""
        return json.loads(reply)
