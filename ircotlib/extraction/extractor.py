"""The extractive reader: a DPR reader as a backend of Extract (SearChain §3.3). torch and
transformers are imported only when a reply must be computed.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ircotlib.errors import DataError
from ircotlib.files import models
from ircotlib.files.extras import need
from ircotlib.generation.batches import cut_batches
from ircotlib.program import Extract, Extracted

UNUSED = r"\.pooler\."  # BERT's pooler is in DPR's checkpoints, but no reader uses it
VERSION = 1  # raised when a change here makes the same model reply differently


class Encoded(NamedTuple):
    """[CLS] query [SEP] title [SEP] text: the token ids, the index of the first token of the text,
    and where each token of the text begins and ends, in characters.
    """

    ids: list[int]
    first: int
    characters: list[tuple[int, int]]


@dataclass(eq=False, kw_only=True)
class Extractor:
    """A DPR reader on this machine, a backend of Extract.

    `name`: a folder written by save_pretrained (also relative to the repository), or a name on the
    Hugging Face hub, downloaded at the first request. `longest`: the most tokens of an answer (10
    in DPR's own program; SearChain does not say). `device`: None is the GPU if there is one.
    `batch_tokens`, `batch_rows`: the size of a batch, in tokens, padding included, and in
    paragraphs. The last three are not part of the fingerprint. Raises FileNotFoundError if there is
    no such folder, and ValueError for a `longest` below 1 or another kind of model. The paper uses
    facebook/dpr-reader-multiset-base.
    """

    answers = Extract
    decode = staticmethod(Extracted.read)
    name: str = field(kw_only=False)
    longest: int = 10
    device: str | None = None
    batch_tokens: int = 16_384
    batch_rows: int = 64

    def __post_init__(self):
        self.name = str(self.name)
        self._waiting: dict[Extract, Encoded] = {}
        if self.longest < 1:
            raise DataError(f"found longest {self.longest}, expected at least 1 token")
        if not models.is_hub_name(self.name):
            self.folder  # noqa: B018  raises at once if the folder is missing

    @cached_property
    def folder(self) -> Path:
        """The folder of the model. Raises DataError if it is of another kind."""
        folder = models.find_folder(self.name, weights=models.OLDER)
        models.check_kind(folder, models.READER)
        return folder

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's files and with `longest`."""
        return f"{models.hash_files(self.folder, VERSION, 'float64', models.OLDER)} {self.longest}"

    @cached_property
    def model(self):
        """The model itself. Raises DataError if its weights do not fit.

        It computes in float64, so that no confidence, rounded, depends on the other rows of its
        batch; in float32, one of 1,200 did.
        """
        import torch
        from transformers import DPRReader

        from ircotlib.generation.weights import read_weights

        return read_weights(DPRReader, self.folder, self.device, torch.float64, UNUSED)

    @cached_property
    def tokenizer(self):
        """The tokenizer as transformers reads it."""
        need("transformers", "local")
        from transformers import DPRReaderTokenizerFast

        with models.naming_file(self.folder, "a tokenizer"):
            tokenizer = DPRReaderTokenizerFast.from_pretrained(self.folder)
            tokenizer("a")  # missing parts cause an error only now
        return tokenizer

    @cached_property
    def limit(self) -> int:
        """The maximum number of tokens that the model reads; 512 unless config.json differs."""
        return models.read_json(self.folder, models.CONFIG).get("max_position_embeddings", 512)

    def take(self, requests: Sequence[Extract]) -> list[int]:
        """The indices of the next batch: those of the shortest inputs, at least one."""
        lengths = [len(self._encode(request).ids) for request in requests]
        return cut_batches(lengths, self.batch_rows, self.batch_tokens)[0]

    def answer(self, requests: Sequence[Extract]) -> Iterator[tuple[int, str | ValueError]]:
        """Yield the index of each request and its reply, batch by batch, the shortest first.

        A reply is JSON: text, copied from the paragraph, and confidence, the raw relevance logit,
        rounded to 4 decimals. The answer is the span of at most `longest` tokens with the highest
        sum of start and end logits, taken from the text, never from query or title; "" if the text
        is empty. A paragraph too long for the model is cut at its end. A request whose query and
        title alone are too long gets a ValueError instead of a reply.

        Differs from the released program: that passes the paragraphs as titles, takes the most
        probable start and the most probable end anywhere, so that the answer may be empty or part
        of the query, and decodes it from its tokens, in lower case.
        """
        inputs = [self._encode(request) for request in requests]
        readable = []
        for request in requests:
            self._waiting.pop(request, None)
        for index, encoded in enumerate(inputs):
            if encoded.first < self.limit:
                readable.append(index)
                continue
            reason = f"found a query and a title of {encoded.first} tokens"
            yield index, ValueError(f"{reason}, expected fewer than {self.limit} for {self.name}")
        lengths = [len(inputs[index].ids) for index in readable]
        for batch in cut_batches(lengths, self.batch_rows, self.batch_tokens):
            indices = [readable[position] for position in batch]
            spans = self._read_spans([inputs[index] for index in indices])
            for index, (span, confidence) in zip(indices, spans, strict=True):
                tokens = inputs[index].characters[span[0] : span[1] + 1] if span else [(0, 0)]
                text = requests[index].paragraph.text[tokens[0][0] : tokens[-1][1]].strip()
                reply = {"text": text, "confidence": round(confidence, 4)}
                yield index, json.dumps(reply, ensure_ascii=False)

    def _encode(self, request: Extract) -> Encoded:
        if request not in self._waiting:
            quiet = {"verbose": False}  # long inputs are cut below
            head = self.tokenizer(request.query, request.paragraph.title, **quiet)["input_ids"]
            options = quiet | {"add_special_tokens": False, "return_offsets_mapping": True}
            body = self.tokenizer(request.paragraph.text, **options)
            ids = (head + body["input_ids"])[: self.limit]
            characters = body["offset_mapping"][: len(ids) - len(head)]
            self._waiting[request] = Encoded(ids, len(head), characters)
        return self._waiting[request]

    def _read_spans(self, batch: Sequence[Encoded]) -> list[tuple[tuple[int, int] | None, float]]:
        """For each input, the best span, its first and last token counted from the first of the
        text, and the relevance logit (DPR: Karpukhin et al. 2020, §6.1).
        """
        import torch

        rows = [torch.tensor(encoded.ids) for encoded in batch]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(self.model.device)  # B, T
        lengths = torch.tensor([len(row) for row in rows], device=ids.device)
        mask = (torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]).long()  # B, T
        with torch.inference_mode():
            out = self.model(input_ids=ids, attention_mask=mask, return_dict=True)
        starts, ends = out.start_logits.cpu(), out.end_logits.cpu()  # B, T
        spans = []
        for row, encoded in enumerate(batch):
            text = slice(encoded.first, len(encoded.ids))  # without query, title and padding
            spans.append(best_span(starts[row, text], ends[row, text], self.longest))
        return list(zip(spans, out.relevance_logits.tolist(), strict=True))


def best_span(start, end, longest: int) -> tuple[int, int] | None:
    """The first and the last token of the span of at most `longest` tokens with the highest sum of
    start and end logits, both tensors [n]; the first of several; None if n is 0.
    """
    import torch

    n = len(start)
    if not n:
        return None
    allowed = torch.ones(n, n, dtype=torch.bool).triu().tril(longest - 1)  # first × last token
    scores = torch.where(allowed, start[:, None] + end, -torch.inf)
    return divmod(int(scores.argmax()), n)  # of the flat index: the first, the last token
