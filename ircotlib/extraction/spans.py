"""Batches of a DPR reader (Karpukhin et al. 2020, §6.1): relevance logits and best spans."""

from collections.abc import Iterator, Sequence

import torch
from transformers import DPRReader


@torch.inference_mode()
def read_spans(
    model: DPRReader, batch: Sequence[tuple[list[int], int]], longest: int
) -> Iterator[tuple[tuple[int, int] | None, float]]:
    """Yield the best span and the relevance logit for each row of a batch. A row: its token ids and
    the index of the first token of its text. A span: its first and last token, counted from there.
    """
    rows = [torch.tensor(ids) for ids, _ in batch]
    inputs = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(model.device)  # B, T
    lengths = torch.tensor([len(ids) for ids, _ in batch], device=model.device)
    mask = (torch.arange(inputs.shape[1], device=model.device) < lengths[:, None]).long()
    out = model(input_ids=inputs, attention_mask=mask, return_dict=True)
    starts, ends = out.start_logits.cpu(), out.end_logits.cpu()  # B, T
    confidence = out.relevance_logits.cpu()  # B
    for row, (ids, first) in enumerate(batch):
        text = slice(first, len(ids))
        yield best_span(starts[row, text], ends[row, text], longest), confidence[row].item()


def best_span(start: torch.Tensor, end: torch.Tensor, longest: int) -> tuple[int, int] | None:
    """The first and the last token of the span of at most `longest` tokens with the highest sum of
    start and end logits, both [n]; the first of several; None if n is 0.
    """
    n = len(start)
    if not n:
        return None
    allowed = torch.ones(n, n, dtype=torch.bool).triu().tril(longest - 1)
    scores = torch.where(allowed, start[:, None] + end, -torch.inf)
    return divmod(int(scores.argmax()), n)
