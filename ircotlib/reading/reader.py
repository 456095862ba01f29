"""The extractive reader: a DPR reader as a backend of Extract (SearChain §3.2).

torch and transformers are imported when a reply must be computed, not before.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ircotlib.generation.batches import cut_batches
from ircotlib.generation.folder import (
    CONFIG,
    OLDER,
    find_folder,
    hash_files,
    is_hub_name,
    read_json,
    told,
)
from ircotlib.paths import resolve
from ircotlib.program import Extract, Extracted

VERSION = 1  # raised when the same model would give another reply by a change here or in spans.py


def open_reader(
    name_or_path: str | Path,
    *,
    device: str | None = None,
    longest: int = 10,
    batch_tokens: int = 16_384,
    batch_rows: int = 64,
    revision: str | None = None,
) -> "Reader":
    """Open a DPR reader: a folder written by save_pretrained (also relative to the repository), or
    a name on the Hugging Face hub, which is downloaded when it is first asked.

    `longest`: tokens of an answer (DPR's own program: 10; SearChain does not say). `device`: None
    is the GPU if there is one. `batch_tokens`, `batch_rows`: how many tokens, padding included, and
    how many paragraphs are read at once at most. The weights, in float32, are read at the first
    request that is not in the cache. Raises FileNotFoundError when there is no such model.

    The paper's is facebook/dpr-reader-multiset-base.
    """
    if longest < 1:
        raise ValueError(f"found longest {longest}, expected the tokens of an answer, 1 or more")
    reader = Reader(str(name_or_path), device, longest, batch_tokens, batch_rows, revision)
    if not is_hub_name(reader.name):
        reader.folder  # a folder that is not there is said at once
    return reader


class Encoded(NamedTuple):
    """What is read for a request, [CLS] query [SEP] title [SEP] text: its tokens, the place of the
    text's first one, and where each token of the text stands in it, in characters.
    """

    ids: list[int]
    first: int
    characters: list[tuple[int, int]]


class Reader:
    """A DPR reader on this machine that answers Extract; `open_reader` makes it.

    `device`, `batch_tokens` and `batch_rows` are not part of the fingerprint.
    """

    answers = Extract

    def __init__(
        self,
        name: str,
        device: str | None,
        longest: int,
        batch_tokens: int,
        batch_rows: int,
        revision: str | None,
    ):
        self.name, self.device, self.longest, self.revision = name, device, longest, revision
        self.batch_tokens, self.batch_rows = batch_tokens, batch_rows
        self._waiting: dict[Extract, Encoded] = {}

    @cached_property
    def folder(self) -> Path:
        """The folder of its files. Raises ValueError when it is that of another kind of model."""
        folder = find_folder(resolve(self.name), self.revision, OLDER)
        if (kind := read_json(folder, CONFIG).get("model_type")) != "dpr":
            expected = "expected a DPR reader, of model_type dpr; name one as extractor"
            raise ValueError(f"{folder}: found a model_type {kind!r}, {expected}")
        return folder

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the files and with `longest`."""
        return f"{hash_files(self.folder, VERSION, 'float32', OLDER)} {self.longest}"

    @cached_property
    def model(self):
        """The model itself, read when first used. Raises ValueError when its weights do not fit."""
        from ircotlib.reading.spans import read_reader

        return read_reader(self.folder, self.device)

    @cached_property
    def tokenizer(self):
        """The tokenizer as transformers reads it."""
        from transformers import DPRReaderTokenizerFast

        with told(self.folder, "a tokenizer"):
            tokenizer = DPRReaderTokenizerFast.from_pretrained(self.folder)
            tokenizer("a")  # what it lacks shows only now
        return tokenizer

    @cached_property
    def limit(self) -> int:
        """The tokens that the model can read at once: 512."""
        return read_json(self.folder, CONFIG).get("max_position_embeddings", 512)

    def take(self, requests: Sequence[Extract]) -> list[int]:
        """The places of the next batch: the shortest paragraphs, at least one."""
        lengths = [len(self._encode(request).ids) for request in requests]
        return cut_batches(lengths, self.batch_rows, self.batch_tokens)[0]

    def answer(self, requests: Sequence[Extract]) -> Iterator[tuple[int, str | ValueError]]:
        """Yield the place of each request and its reply, batch by batch, the shortest first.

        A reply is JSON: text, as the paragraph has it, and confidence, the raw relevance logit,
        rounded to 4 digits. The answer is the span of the text, never of query or title, whose
        start and end logits have the highest sum, of at most `longest` tokens; "" where the text
        has none. A paragraph too long for the model is cut at its end. A request whose query and
        title alone are too long has a ValueError in place of a reply.

        Differs from the released program: that gives passages as titles, takes the likeliest start
        and the likeliest end anywhere, so that the answer may be empty or part of the query, and
        writes it as its tokens decode, in lower case. Differs from transformers' decode_best_spans:
        that takes spans of the title too.
        """
        encoded, waiting = [self._encode(request) for request in requests], []
        for request in requests:
            self._waiting.pop(request, None)
        for place, one in enumerate(encoded):
            if one.first < self.limit:
                waiting.append(place)
            else:
                yield place, self._too_long(one)
        lengths = [len(encoded[place].ids) for place in waiting]
        for batch in cut_batches(lengths, self.batch_rows, self.batch_tokens):
            places = [waiting[at] for at in batch]
            texts = [requests[place].paragraph.text for place in places]
            replies = self._read(texts, [encoded[place] for place in places])
            yield from zip(places, replies, strict=True)

    def decode(self, reply: str) -> Extracted:
        """What was extracted."""
        return Extracted(**json.loads(reply))

    def _read(self, texts: list[str], batch: list[Encoded]) -> Iterator[str]:
        """The replies of one batch."""
        from ircotlib.reading.spans import read_spans

        spans = read_spans(self.model, [(one.ids, one.first) for one in batch], self.longest)
        for text, one, (span, confidence) in zip(texts, batch, spans, strict=True):
            found = one.characters[span[0] : span[1] + 1] if span else [(0, 0)]
            answer = text[found[0][0] : found[-1][1]].strip()
            reply = {"text": answer, "confidence": round(confidence, 4)}
            yield json.dumps(reply, ensure_ascii=False)

    def _encode(self, request: Extract) -> Encoded:
        if request not in self._waiting:
            self._waiting[request] = self._encode_anew(request)
        return self._waiting[request]

    def _encode_anew(self, request: Extract) -> Encoded:
        quiet = {"verbose": False}  # what is too long is cut here
        paragraph = request.paragraph
        head = self.tokenizer(request.query, paragraph.title, **quiet)["input_ids"]
        body = self.tokenizer(
            paragraph.text, add_special_tokens=False, return_offsets_mapping=True, **quiet
        )
        ids = (head + body["input_ids"])[: self.limit]
        return Encoded(ids, len(head), body["offset_mapping"][: len(ids) - len(head)])

    def _too_long(self, one: Encoded) -> ValueError:
        found = f"found a query and a title of {one.first} tokens"
        return ValueError(f"{found}, expected fewer than {self.limit}, which {self.name} reads")
