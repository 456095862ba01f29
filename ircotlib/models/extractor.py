"""The extractive reader: a DPR reader as a backend of Extract (SearChain §3.3). torch and
transformers are imported only when a reply must be computed.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from ircotlib.files import need
from ircotlib.models import folders
from ircotlib.models.batches import cut_batches
from ircotlib.program import Extract, Extracted

UNUSED = r"\.pooler\."  # BERT's pooler is in DPR's checkpoints, but no reader uses it
VERSION = 1  # raised when a change here makes the same model reply differently
LONGEST = 10  # tokens of an answer, as in DPR's own program; SearChain does not say
ROWS, TOKENS = 64, 16_384  # of a batch: paragraphs, and tokens, padding included
# token ids, how many of them are not of the text, and where each token of the text begins and ends
Encoded = tuple[list[int], int, list[tuple[int, int]]]


class Extractor:
    """A DPR reader on this machine: a folder written by save_pretrained, or a name on the Hugging
    Face hub, downloaded at the first request; the paper's is facebook/dpr-reader-multiset-base.
    Raises FileNotFoundError if there is no such folder, and DataError for another kind of model.
    """

    answers = Extract
    decode = staticmethod(Extracted.read)

    def __init__(self, name: str | Path):
        self.name = str(name)
        if not folders.is_hub_name(self.name):
            self.folder  # noqa: B018  raises at once if the folder is missing

    @cached_property
    def folder(self) -> Path:
        """The folder of the model."""
        folder = folders.find_folder(self.name, weights=folders.OLDER)
        folders.check_kind(folder, folders.READER)
        return folder

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's files and with LONGEST."""
        return f"{folders.hash_files(self.folder, VERSION, 'float64', folders.OLDER)} {LONGEST}"

    @cached_property
    def model(self) -> tuple:
        """The tokenizer, and the model itself, in float64, so that no confidence, rounded, depends
        on the other rows of its batch; in float32, one of 1,200 did.
        """
        need("torch", "local")
        import torch
        from transformers import DPRReader, DPRReaderTokenizerFast

        from ircotlib.models.weights import read_weights

        with folders.naming_file(self.folder, "a tokenizer"):
            tokenizer = DPRReaderTokenizerFast.from_pretrained(self.folder)
        return tokenizer, read_weights(DPRReader, self.folder, None, torch.float64, UNUSED)

    def answer(self, requests: Sequence[Extract]) -> Iterator[tuple[int, str | ValueError]]:
        """Yield the index of each request and its reply, batch by batch, the shortest first.

        A reply is JSON: text, copied from the paragraph, and confidence, the raw relevance logit,
        rounded to 4 decimals. The answer is the span of at most LONGEST tokens with the highest sum
        of start and end logits, taken from the text, never from query or title; "" if the text is
        empty. A paragraph too long for the model is cut at its end. A request whose query and title
        alone are too long gets a ValueError instead of a reply.

        Differs from the released program: that passes the paragraphs as titles, takes the most
        probable start and the most probable end anywhere, so that the answer may be empty or part
        of the query, and decodes it from its tokens, in lower case.
        """
        limit = folders.read_json(self.folder, folders.CONFIG).get("max_position_embeddings", 512)
        inputs = [self._encode(request, limit) for request in requests]
        for batch in cut_batches([len(ids) for ids, *_ in inputs], ROWS, TOKENS):
            spans = self._read_spans([inputs[index] for index in batch])
            for index, (span, confidence) in zip(batch, spans, strict=True):
                _, first, characters = inputs[index]
                if first >= limit:
                    found = f"found a query and a title of {first} tokens"
                    yield index, ValueError(f"{found}, {self.name} reads {limit}; shorten them")
                    continue
                tokens = characters[span[0] : span[1] + 1] if span else [(0, 0)]
                text = requests[index].paragraph.text[tokens[0][0] : tokens[-1][1]].strip()
                reply = {"text": text, "confidence": round(confidence, 4)}
                yield index, json.dumps(reply, ensure_ascii=False)

    def _encode(self, request: Extract, limit: int) -> Encoded:
        """[CLS] query [SEP] title [SEP] text, cut at the limit."""
        tokenizer, quiet = self.model[0], {"verbose": False}  # about long inputs
        head = tokenizer(request.query, request.paragraph.title, **quiet)["input_ids"]
        options = quiet | {"add_special_tokens": False, "return_offsets_mapping": True}
        body = tokenizer(request.paragraph.text, **options)
        return (head + body["input_ids"])[:limit], len(head), body["offset_mapping"]

    def _read_spans(self, batch: Sequence[Encoded]) -> list[tuple[tuple[int, int] | None, float]]:
        """For each input, the best span, its first and last token counted from the first of the
        text, and the relevance logit (DPR: Karpukhin et al. 2020, §6.1).
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence

        model = self.model[1]
        rows = [torch.tensor(ids, device=model.device) for ids, *_ in batch]
        inputs = {"input_ids": pad_sequence(rows, batch_first=True)}  # B, T
        inputs |= {"attention_mask": pad_sequence([torch.ones_like(row) for row in rows], True)}
        with torch.inference_mode():
            out = model(**inputs)
        starts, ends = out.start_logits.cpu(), out.end_logits.cpu()  # B, T
        texts = [slice(first, len(ids)) for ids, first, _ in batch]  # without query and padding
        spans = [best_span(starts[row, text], ends[row, text]) for row, text in enumerate(texts)]
        return list(zip(spans, out.relevance_logits.tolist(), strict=True))


def best_span(start, end) -> tuple[int, int] | None:
    """The first and the last token of the span of at most LONGEST tokens with the highest sum of
    start and end logits, both tensors [n]; the first of several; None if n is 0.
    """
    import torch

    if not (n := len(start)):
        return None
    allowed = torch.ones(n, n, dtype=torch.bool).triu().tril(LONGEST - 1)  # first × last token
    scores = torch.where(allowed, start[:, None] + end, -torch.inf)
    return divmod(int(scores.argmax()), n)  # of the flat index: the first, the last token
