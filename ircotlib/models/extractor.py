"""SearChain's extractive reader, a DPR reader, as a backend of Extract (§3.3); and the
backend of Duplicate, which finds queries that were asked before (released program).
"""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from ircotlib.backends import Replies
from ircotlib.files import need
from ircotlib.metrics import as_compared
from ircotlib.models import folders
from ircotlib.models.batches import cut_batches
from ircotlib.program import Duplicate, Extract, Extracted

# raised when a change here makes the same model reply differently
READER = 1
TEXTS = 2
# of encoders on the hub that predate safetensors
WEIGHTS = (*folders.WEIGHT_FILES, "pytorch_model.bin")
LONGEST = 10  # tokens of an answer, as in DPR's own program; SearChain does not say
ROWS = 64  # of a batch: paragraphs,
TOKENS = 16_384  # and tokens, padding included
# token ids, how many of them are not of the text, and where each token of the text
# begins and ends in it
Encoded = tuple[list[int], int, list[tuple[int, int]]]


class Extractor:
    """A DPR reader on this machine; the paper's: facebook/dpr-reader-multiset-base."""

    answers = Extract
    decode = staticmethod(Extracted.read)

    def __init__(self, name: str | Path):
        self.folder = folders.find_folder(name, weights=WEIGHTS)
        files = folders.hash_files(self.folder, READER, "float64", WEIGHTS)
        self.fingerprint = f"{files} {LONGEST}"

    @cached_property
    def tokenizer(self):
        need("torch", "local")
        from transformers import DPRReaderTokenizerFast

        with folders.naming_file(self.folder, "a tokenizer"):
            return DPRReaderTokenizerFast.from_pretrained(self.folder)

    @cached_property
    def model(self):
        """The model in float64: in float32, one of 1,200 confidences, rounded, depended
        on the other rows of its batch.
        """
        import torch
        from transformers import DPRReader

        from ircotlib.models.weights import read_weights

        return read_weights(DPRReader, self.folder, torch.float64)

    def answer(self, requests: Sequence[Extract]) -> Replies:
        """Yield the index of each request and its reply, JSON of the text: the span of
        at most LONGEST tokens of the paragraph with the highest sum of start and end
        logits; and of the confidence, the raw relevance logit. A long paragraph is cut
        at its end; query and title that are too long give a ValueError.

        Differs from the released program: that passes the paragraphs as titles, takes
        the most probable start and end anywhere, so that the answer may be empty or
        part of the query, and decodes it from its tokens, in lower case.
        """
        config = folders.read_json(self.folder, folders.CONFIG)
        limit = config.get("max_position_embeddings", 512)
        inputs = [self._encode(request, limit) for request in requests]
        for batch in cut_batches([len(ids) for ids, *_ in inputs], ROWS, TOKENS):
            spans = self._read_spans([inputs[index] for index in batch])
            for index, (span, confidence) in zip(batch, spans, strict=True):
                _, head, places = inputs[index]
                if head >= limit:
                    found = f"found a query and a title of {head} tokens"
                    yield index, ValueError(f"{found}, expected less than {limit}")
                    continue
                text = ""
                if span:
                    first, last = places[span[0]][0], places[span[1]][1]
                    text = requests[index].paragraph.text[first:last].strip()
                reply = {"text": text, "confidence": round(confidence, 4)}
                yield index, json.dumps(reply, ensure_ascii=False)

    def _encode(self, request: Extract, limit: int) -> Encoded:
        """[CLS] query [SEP] title [SEP] text, cut at the limit."""
        paragraph = request.paragraph
        head = self.tokenizer(request.query, paragraph.title, verbose=False).input_ids
        body = self.tokenizer(
            paragraph.text,
            add_special_tokens=False,
            return_offsets_mapping=True,
            verbose=False,  # about long inputs
        )
        return (head + body.input_ids)[:limit], len(head), body["offset_mapping"]

    def _read_spans(
        self, batch: Sequence[Encoded]
    ) -> list[tuple[tuple[int, int] | None, float]]:
        """For each input, the best span, its first and last token counted from the
        first of the text, and the relevance logit (DPR: Karpukhin et al. 2020, §6.1).
        """
        model = self.model  # before any other import of torch
        import torch

        from ircotlib.models.causal import pad_rows
        from ircotlib.models.weights import is_small, one_thread

        rows = [ids for ids, *_ in batch]
        tokens, mask, _ = pad_rows(model, rows, "right")  # B, T
        with torch.inference_mode(), one_thread(is_small(model)):
            out = model(input_ids=tokens, attention_mask=mask)
        spans = []
        for row, (ids, head, _) in enumerate(batch):
            text = row, slice(head, len(ids))  # without query, title and padding
            start = out.start_logits[text].cpu()
            end = out.end_logits[text].cpu()
            n = len(start)
            # first × last: in this order, and at most LONGEST tokens
            allowed = torch.ones(n, n, dtype=torch.bool).triu().tril(LONGEST - 1)
            scores = torch.where(allowed, start[:, None] + end, -torch.inf)
            # the first of equal ones
            spans.append(divmod(int(scores.argmax()), n) if n else None)
        return list(zip(spans, out.relevance_logits.tolist(), strict=True))


class EqualTexts:
    """Answers Duplicate, whether a query repeats an earlier one: 1.0 if one is the
    same, else 0.0 (ours): if queries differ in one word, it is usually a name. Differs
    from the released program, which asks a cross-encoder.
    """

    answers = Duplicate
    fingerprint = f"texts {TEXTS}"

    def answer(self, requests: Sequence[Duplicate]) -> Replies:
        """Yield the index of each request and its score."""
        for index, request in enumerate(requests):
            same = as_compared(request.query) in map(as_compared, request.earlier)
            yield index, json.dumps(float(same))

    def decode(self, reply: str, request: Duplicate) -> float:
        return json.loads(reply)
