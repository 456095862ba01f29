"""The batches of the causal model: a prompt and its target are one sequence."""

from collections.abc import Iterator

import torch

from training.positions import CAUSAL_TABLES, PROMPT, make_tables, pad
from training.t5.encode import IGNORED, encode
from training.t5.examples import PromptExample


def encode_causal(examples: list[PromptExample], tokenizer) -> dict[str, torch.Tensor]:
    """Turn examples into sequences: `input_ids` [rows, length], a prompt and its target
    without </s>, padded on the right; and those of the CAUSAL_TABLES that examples
    have. `decided` has values only, since the subject of a conclusion is known too
    late. `tokenizer` must put </s> after every text.
    """
    stop, asked = tokenizer.convert_tokens_to_ids([".", "Q"])
    batch = encode(examples, tokenizer)
    # without </s>: the target follows
    lengths = (batch["attention_mask"].sum(1) - 1).tolist()
    prompts = batch["input_ids"].tolist()
    targets = batch["decoder_input_ids"].tolist()
    rows = [
        prompt[:length] + [token for token in target[1:] if token]
        for prompt, length, target in zip(prompts, lengths, targets, strict=True)
    ]
    known, stated = {}, []
    for row, at, _, *names in batch["stated"].tolist():
        known[row, at] = _known_at(rows[row], at, lengths[row], stop)
        stated.append((row, known[row, at], *names, rows[row][at]))
    tables = {
        "written": _find_written(batch["labels"], lengths),
        "sources": _find_sources(batch, rows, lengths, known, asked),
        "stated": stated,
        "decided": _find_decided(batch, lengths),
        "compared": _find_compared(batch["compared"].tolist(), lengths),
    }
    return {"input_ids": pad(rows), **make_tables(tables, CAUSAL_TABLES)}


def _known_at(ids: list[int], at: int, end: int, stop: int) -> int:
    """Where a fact is known: "Its author was X." at X, "X wrote it." only after it."""
    if stop not in ids[at:end]:
        return at
    full_stop = ids.index(stop, at)
    return full_stop if full_stop - at > 2 else at  # a value has two tokens


def _find_written(labels: torch.Tensor, lengths: list[int]) -> Iterator[tuple]:
    for row, at in (labels != IGNORED).nonzero().tolist():
        yield row, lengths[row] + at - 1, labels[row, at].item()


def _find_decided(
    batch: dict[str, torch.Tensor], lengths: list[int]
) -> Iterator[tuple]:
    for row, at, first, last, relation in batch["decided"].tolist():
        if batch["labels"][row, at] != first:
            yield row, lengths[row] + at - 1, first, last, relation


def _find_compared(compared: list[list[int]], lengths: list[int]) -> Iterator[tuple]:
    """The comparisons whose other value comes first."""
    for row, side, at, other_side, other, outcome in compared:
        here = at if side == PROMPT else lengths[row] + at - 1
        there = other if other_side == PROMPT else lengths[row] + other - 1
        if there < here:
            yield row, here, there, outcome


def _find_sources(
    batch: dict[str, torch.Tensor],
    rows: list[list[int]],
    lengths: list[int],
    known: dict,
    asked: int,
) -> Iterator[tuple]:
    """The position to attend to for each copied token: for a value that is read, where
    its fact is known; for any other name, where it was last mentioned since the
    question, which begins after the token `asked`.
    """
    read = {(row, at) for row, at, *_ in batch["decided"].tolist()}
    for row, (ids, length) in enumerate(zip(rows, lengths, strict=True)):
        question = length - ids[length - 1 :: -1].index(asked)
        sources = batch["sources"][row].tolist()
        last = None  # the position for the token before
        for at, source in enumerate(sources):
            if source < 0:
                last = None
                continue
            if (row, at) in read and (row, source) in known:
                last = source
                yield row, length + at - 1, known[row, source]
                continue
            goes_on = last is not None and sources[at - 1] == source - 1
            if goes_on and ids[last + 1] == ids[length + at]:
                last += 1
            else:
                last = _last_mention(ids, length + at, question, source)
            yield row, length + at - 1, last


def _last_mention(ids: list[int], at: int, first: int, source: int) -> int:
    """Where from `first` on the two tokens at `at` stood last; else `source`."""
    for earlier in range(at - 2, first - 1, -1):
        if ids[earlier : earlier + 2] == ids[at : at + 2]:
            return earlier
    return source
