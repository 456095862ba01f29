"""The extractive reader: a DPR reader as a backend of Extract (SearChain §3.2).

torch and transformers are imported only when a reply must be computed.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ircotlib.files.paths import resolve
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
from ircotlib.program import Extract, Extracted

VERSION = 1  # raised when a change here or in spans.py makes the same model reply differently


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
    a name on the Hugging Face hub, downloaded at the first request.

    `longest`: the most tokens of an answer (10 in DPR's own program; SearChain does not say).
    `device`: None is the GPU if there is one. `batch_tokens`, `batch_rows`: the size of a batch, in
    tokens, padding included, and in paragraphs. The weights, in float32, are read at the first
    request that is not in the call cache. Raises FileNotFoundError if there is no such folder, and
    ValueError for a `longest` below 1 or another kind of model.

    The paper uses facebook/dpr-reader-multiset-base.
    """
    if longest < 1:
        raise ValueError(f"found longest {longest}, expected a number of tokens, at least 1")
    reader = Reader(str(name_or_path), device, longest, batch_tokens, batch_rows, revision)
    if not is_hub_name(reader.name):
        reader.folder  # raises at once if the folder is missing
    return reader


class Encoded(NamedTuple):
    """The input for a request, [CLS] query [SEP] title [SEP] text: its token ids, the place of the
    first token of the text, and where each token of the text begins and ends, in characters.
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
        """The folder of the model. Raises ValueError if it is of another kind."""
        folder = find_folder(resolve(self.name), self.revision, OLDER)
        if (kind := read_json(folder, CONFIG).get("model_type")) != "dpr":
            expected = "expected a DPR reader, of model_type dpr; name one as extractor"
            raise ValueError(f"{folder}: found a model_type {kind!r}, {expected}")
        return folder

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's files and with `longest`."""
        return f"{hash_files(self.folder, VERSION, 'float32', OLDER)} {self.longest}"

    @cached_property
    def model(self):
        """The model itself, read when first used. Raises ValueError if its weights do not fit."""
        from ircotlib.extraction.spans import read_reader

        return read_reader(self.folder, self.device)

    @cached_property
    def tokenizer(self):
        """The tokenizer as transformers reads it."""
        from transformers import DPRReaderTokenizerFast

        with told(self.folder, "a tokenizer"):
            tokenizer = DPRReaderTokenizerFast.from_pretrained(self.folder)
            tokenizer("a")  # missing parts cause an error only now
        return tokenizer

    @cached_property
    def limit(self) -> int:
        """The maximum number of tokens that the model reads; 512 unless config.json differs."""
        return read_json(self.folder, CONFIG).get("max_position_embeddings", 512)

    def take(self, requests: Sequence[Extract]) -> list[int]:
        """The places of the next batch: those of the shortest inputs, at least one."""
        lengths = [len(self._encode(request).ids) for request in requests]
        return cut_batches(lengths, self.batch_rows, self.batch_tokens)[0]

    def answer(self, requests: Sequence[Extract]) -> Iterator[tuple[int, str | ValueError]]:
        """Yield the place of each request and its reply, batch by batch, the shortest first.

        A reply is JSON: text, copied from the paragraph, and confidence, the raw relevance logit,
        rounded to 4 decimals. The answer is the span of at most `longest` tokens with the highest
        sum of start and end logits, taken from the text, never from query or title; "" if the text
        is empty. A paragraph too long for the model is cut at its end. A request whose query and
        title alone are too long gets a ValueError instead of a reply.

        Differs from the released program: that passes the paragraphs as titles, takes the most
        probable start and the most probable end anywhere, so that the answer may be empty or part
        of the query, and decodes it from its tokens, in lower case. Differs from transformers'
        decode_best_spans: that also takes spans of the title.
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
        """The answer and its confidence."""
        return Extracted(**json.loads(reply))

    def _read(self, texts: list[str], batch: list[Encoded]) -> Iterator[str]:
        """The replies of one batch."""
        from ircotlib.extraction.spans import read_spans

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
        quiet = {"verbose": False}  # long inputs are cut below
        paragraph = request.paragraph
        head = self.tokenizer(request.query, paragraph.title, **quiet)["input_ids"]
        body = self.tokenizer(
            paragraph.text, add_special_tokens=False, return_offsets_mapping=True, **quiet
        )
        ids = (head + body["input_ids"])[: self.limit]
        return Encoded(ids, len(head), body["offset_mapping"][: len(ids) - len(head)])

    def _too_long(self, one: Encoded) -> ValueError:
        found = f"found a query and a title of {one.first} tokens"
        return ValueError(f"{found}, expected fewer than the {self.limit} that {self.name} reads")
