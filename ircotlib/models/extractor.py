"""SearChain's own models: the extractive reader, a DPR reader, as a backend of Extract
(§3.3); and backends of Duplicate, which detect queries asked before (released program).
"""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from ircotlib.errors import DataError
from ircotlib.files import need
from ircotlib.metrics import as_compared
from ircotlib.models import folders
from ircotlib.models.batches import cut_batches
from ircotlib.program import Duplicate, Extract, Extracted

# raised when a change here makes the same model reply differently
READER = 1
TEXTS = 2
PAIRS = 1
LONGEST = 10  # tokens of an answer, as in DPR's own program; SearChain does not say
ROWS = 64  # of a batch: paragraphs,
TOKENS = 16_384  # and tokens, padding included
# token ids, how many of them are not of the text, and where each token of the text
# begins and ends in it
Encoded = tuple[list[int], int, list[tuple[int, int]]]


class Extractor(folders.Folder):
    """A DPR reader on this machine; the paper's: facebook/dpr-reader-multiset-base."""

    answers = Extract
    decode = staticmethod(Extracted.read)

    @cached_property
    def fingerprint(self) -> str:
        files = folders.hash_files(self.folder, READER, "float64", self.weights)
        return f"{files} {LONGEST}"

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

    def answer(
        self, requests: Sequence[Extract]
    ) -> Iterator[tuple[int, str | ValueError]]:
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
        from torch.nn.utils.rnn import pad_sequence

        from ircotlib.models.weights import is_small, one_thread

        rows = [torch.tensor(ids, device=model.device) for ids, *_ in batch]
        tokens = pad_sequence(rows, batch_first=True)  # B, T
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
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


def read_score(reply: str, request: Duplicate | None = None) -> float:
    """How surely a query repeats an earlier one, from 0 to 1."""
    return json.loads(reply)


def open_duplicates(name_or_path: str | Path = "") -> "EqualTexts | ScoredPairs":
    """Texts compared, or a cross-encoder for duplicate questions (released program)."""
    return ScoredPairs(name_or_path) if name_or_path else EqualTexts()


class EqualTexts:
    """Answers Duplicate without a model: 1.0 if an earlier query is the same, else 0.0
    (ours): if queries differ in one word, it is usually a name.
    """

    answers = Duplicate
    decode = staticmethod(read_score)
    fingerprint = f"texts {TEXTS}"

    def answer(self, requests: Sequence[Duplicate]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and its score."""
        for index, request in enumerate(requests):
            same = as_compared(request.query) in map(as_compared, request.earlier)
            yield index, json.dumps(float(same))


class ScoredPairs(folders.Folder):
    """Answers Duplicate with a cross-encoder."""

    answers = Duplicate
    decode = staticmethod(read_score)
    # the files that CrossEncoder may read
    weights = (*folders.OLDER, "modules.json", "*sentence*.json", "*/*.json")

    @cached_property
    def fingerprint(self) -> str:
        return folders.hash_files(self.folder, PAIRS, "float32", self.weights)

    @cached_property
    def model(self):
        """The model itself."""
        need("sentence_transformers", "dense")
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(str(self.folder), model_kwargs={"dtype": "float32"})
        if model.num_labels != 1:
            raise DataError(
                f"{self.name}: found {model.num_labels} scores per pair; name a"
                " cross-encoder for duplicate questions"
            )
        return model

    def answer(self, requests: Sequence[Duplicate]) -> Iterator[tuple[int, str]]:
        """Yield the index of each request and the highest score of its pairs."""
        pairs = [(earlier, each.query) for each in requests for earlier in each.earlier]
        scores = iter(self.model.predict(pairs).tolist() if pairs else ())
        for index, request in enumerate(requests):
            best = max((next(scores) for _ in request.earlier), default=0.0)
            yield index, json.dumps(round(best, 4))
