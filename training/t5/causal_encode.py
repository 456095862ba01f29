"""The batches of the causal model: a prompt and its target are one sequence."""

from collections.abc import Iterator
from typing import NamedTuple

import torch

from training.t5.encode import IGNORED, encode, make_table
from training.t5.examples import Example
from training.t5.places import PROMPT


class WrittenAt(NamedTuple):
    """A position, and the token to write next."""

    row: int
    at: int
    token: int


class SourceAt(NamedTuple):
    """A position, and the earlier one to attend to for the token to write next."""

    row: int
    at: int
    source: int


class StatedAt(NamedTuple):
    """The position from which a fact is known, the first and last token of its subject, its
    relation, and the first token of its value.
    """

    row: int
    at: int
    first: int
    last: int
    relation: int
    value: int


class DecidedAt(NamedTuple):
    """The position before a value to write, the first and last token of its subject, and its
    relation.
    """

    row: int
    at: int
    first: int
    last: int
    relation: int


class InferredAt(NamedTuple):
    """The position before a value to write, the first and last token of the subject of a fact that
    leads to it, that fact's relation, and how many facts before the value's own it stands.
    """

    row: int
    at: int
    first: int
    last: int
    relation: int
    back: int


class ComparedAt(NamedTuple):
    """The positions of a value and of an earlier one, and how they compare."""

    row: int
    at: int
    other: int
    outcome: int


def encode_causal(examples: list[Example], tokenizer) -> dict[str, torch.Tensor]:
    """Turn examples into sequences: `input_ids` [rows, length], a prompt and its target without
    </s>, padded on the right.

    The other tensors are tables of positions, [n, columns]: `written` (WrittenAt), `sources`,
    `stated`, `decided` and `compared`. `decided` has values only, since the subject of a conclusion
    is known too late. `tokenizer` must put </s> after every text.
    """
    stop, asked = tokenizer.convert_tokens_to_ids([".", "Q"])
    return join(encode(examples, tokenizer), stop, asked)


def join(batch: dict[str, torch.Tensor], stop: int, asked: int) -> dict[str, torch.Tensor]:
    """Join the prompts and targets of a batch (encode.encode). `stop`: the token that ends a
    sentence; `asked`: the token that begins a question.
    """
    lengths = (batch["attention_mask"].sum(1) - 1).tolist()  # without </s>: the target follows
    rows = _join_rows(batch, lengths)
    known = {
        (row, at): _known_at(rows[row], at, lengths[row], stop)
        for row, at, *_ in batch["stated"].tolist()
    }
    return {
        "input_ids": _pad(rows),
        "written": make_table(_written(batch["labels"], lengths), WrittenAt),
        "sources": make_table(_all_sources(batch, rows, lengths, known, asked), SourceAt),
        "stated": make_table(_stated(batch["stated"].tolist(), rows, known), StatedAt),
        "decided": make_table(_decided(batch, lengths), DecidedAt),
        "compared": make_table(_compared(batch["compared"].tolist(), lengths), ComparedAt),
    }


def _join_rows(batch: dict[str, torch.Tensor], lengths: list[int]) -> list[list[int]]:
    targets = [[token for token in ids[1:] if token] for ids in batch["decoder_input_ids"].tolist()]
    prompts = batch["input_ids"].tolist()
    return [
        ids[:length] + target for ids, length, target in zip(prompts, lengths, targets, strict=True)
    ]


def _pad(rows: list[list[int]]) -> torch.Tensor:
    input_ids = torch.zeros(len(rows), -(-max(map(len, rows)) // 32) * 32, dtype=torch.long)
    for row, ids in enumerate(rows):
        input_ids[row, : len(ids)] = torch.tensor(ids)
    return input_ids


def _known_at(ids: list[int], at: int, end: int, stop: int) -> int:
    """The position from which a fact is known whose value begins at `at`: this one, or the end of
    the sentence if more than the value is left of it.

    "Its author was X." is known at X, "X wrote it." only after it.
    """
    last = ids.index(stop, at) if stop in ids[at:end] else at
    return last if last - at > 2 else at


def _written(labels: torch.Tensor, lengths: list[int]) -> Iterator[WrittenAt]:
    for row, at in (labels != IGNORED).nonzero().tolist():
        yield WrittenAt(row, lengths[row] + at - 1, labels[row, at].item())


def _stated(stated: list[list[int]], rows: list[list[int]], known: dict) -> Iterator[StatedAt]:
    for row, at, _, *names in stated:
        yield StatedAt(row, known[row, at], *names, rows[row][at])


def _decided(batch: dict[str, torch.Tensor], lengths: list[int]) -> Iterator[DecidedAt]:
    for row, at, first, last, relation in batch["decided"].tolist():
        if batch["labels"][row, at] != first:
            yield DecidedAt(row, lengths[row] + at - 1, first, last, relation)


def _all_sources(
    batch: dict[str, torch.Tensor],
    rows: list[list[int]],
    lengths: list[int],
    known: dict,
    asked: int,
) -> Iterator[SourceAt]:
    read = {(row, at) for row, at, *_ in batch["decided"].tolist()}
    for row, (ids, length) in enumerate(zip(rows, lengths, strict=True)):
        question = length - ids[length - 1 :: -1].index(asked)
        sources = batch["sources"][row].tolist()
        seen = {at: known.get((row, sources[at])) for r, at in read if r == row}
        for at, place in _find_seen(ids, length, sources, seen, question):
            yield SourceAt(row, length + at - 1, place)


def _find_seen(
    ids: list[int], length: int, sources: list[int], seen: dict[int, int | None], question: int
) -> Iterator[tuple[int, int]]:
    """Find the position to attend to for each copied token: for a value that is read, where its
    fact is known (`seen`); for any other name, where it was last mentioned.
    """
    last = None
    for at, source in enumerate(sources):
        if source < 0:
            last = None
            continue
        if seen.get(at) is not None:
            last = source
            yield at, seen[at]
            continue
        goes_on = last is not None and sources[at - 1] == source - 1
        if goes_on and ids[last + 1] == ids[length + at]:
            last += 1
        else:
            last = _last_mention(ids, length + at, question, source)
        yield at, last


def _last_mention(ids: list[int], at: int, first: int, source: int) -> int:
    """The last earlier position, not before `first`, of the same two tokens as at `at`; `source` if
    there is none.
    """
    for place in range(at - 2, first - 1, -1):
        if ids[place : place + 2] == ids[at : at + 2]:
            return place
    return source


def _compared(compared: list[list[int]], lengths: list[int]) -> Iterator[ComparedAt]:
    """The comparisons whose other value comes first. Positions in the target are those of the
    decoder's inputs (encode.encode).
    """
    for row, side, at, other_side, other, outcome in compared:
        here, there = (
            place if of == PROMPT else lengths[row] + place - 1
            for of, place in ((side, at), (other_side, other))
        )
        if there < here:
            yield ComparedAt(row, here, there, outcome)
